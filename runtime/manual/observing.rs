//! What a running program reports: reports, timelines, advice; and what observation costs.
//!
//! ```text
//! lathide run -n 4 --report ./program                  what limited it, and what would improve it
//! lathide run -n 4 --report=reports.json ./program     the same, and every rank's report
//! lathide run -n 4 --trace trace.json ./program        who did what when, for ui.perfetto.dev
//! ```
//!
//! In a program, [`Node::report`](crate::Node::report) gives what was observed so far.
//!
//! # What is counted
//!
//! Every thread that makes calls counts its own time, in nanoseconds of the node's clock:
//!
//! | | |
//! | --- | --- |
//! | t_calc | outside lathide's calls |
//! | t_post | in `initread` and `initwrite`; every 16th short call is timed and represents the others |
//! | t_wait | in waits |
//! | t_exposed | of t_wait, for each wait at most the transfer time of the message |
//! | t_kernel | processor time of the kernel's thread |
//! | t_com | transfer time of all messages: one by one per direction, both directions at once, links one after another |
//!
//! From these follow the quantities of Strumpen, section 2:
//!
//! | figure | formula |
//! | --- | --- |
//! | gamma | t_calc / t_com |
//! | f | the fraction of t_calc with communication behind it: between the posting of an operation, unless it was over by that (as a short write may be), and its wait, or (t_com - t_exposed) / t_calc if that is more |
//! | Omega | (t_post + t_kernel) / t_calc: the processor time that hiding costs; less if a core is free for the kernel |
//! | hidden | 1 - t_exposed / t_com |
//! | G as observed | (t_calc + t_com) / (t_calc + t_post + t_exposed) |
//! | G by eq. (4) | `(1 + x) / ((1 - f) + max(f + Omega, x))`, x = 1/gamma: [`gain::with_overhead`](lathide_models::gain::with_overhead) |
//! | G by eq. (1) | the same with f = 1 and Omega = 0 |
//!
//! A write whose buffer is free again may still be under way, and a message may be there when it is asked for: so what was hidden counts
//! in f, wherever it was posted. t_com is made of messages that stood in no queue behind others.
//!
//! G as observed is derived from one run; there is no run without overlap to compare with.
//! `lathide gain -n 4 -- ./program` makes both runs: it shows G *measured* (off/on, `gain_measured`) beside these
//! figures of a run with overlap. Waits for partners that had not sent yet (t_wait - t_exposed) are in neither side of
//! the ratio, since hiding cannot change them.
//!
//! Time in an `.await` is not counted, since no thread waits.
//!
//! # Transfer times
//!
//! Some messages carry a *timestamp*: the time of their `initwrite` by the sender's clock. These are the first 32
//! messages of each size class of a link, then one short message of 32 and one longer message of 4, and only messages
//! that find their link idle. The receiver compares the timestamp with its own clock when the last byte has arrived.
//!
//! The clock offset follows from the minimum round trip, that is, from the smallest recent difference of short messages
//! in each direction. Half of the sum of both differences bounds the error. If no short messages pass in both
//! directions, a timestamp without a message is sent twice a second.
//!
//! So the one-way time of eq. (3) of Stoica, Sultan and Keyes is observed while the program runs. a and b are fitted if
//! there are sizes at least a factor of four apart ([`fit::hyperbolic`](lathide_models::fit::hyperbolic)), with their
//! cross-validated error. The newest 32 samples of each class are kept.
//!
//! A message beyond the window waits for its read first and carries no timestamp.
//!
//! # Cuts
//!
//! A link whose connection is cut goes on over another. The report says of each link that was cut how often, for how long it was down, and
//! how many bytes were sent a second time (`cuts`, `down_s`, `sent_again_bytes` of [`LinkReport`](crate::observe::LinkReport)), each end
//! as it saw it; the closing report of the job has the sum. Without cuts nothing is said.
//!
//! # Regions
//!
//! A program says what its messages are for: as long as the guard of [`Node::region`](crate::Node::region) lives, the
//! operations that the thread posts count for that name, with all messages of its collectives. The report of each rank has for each region
//! how often it was entered, the time within and how much of that was within calls, and the messages out and in by size
//! ([`RegionReport`](crate::observe::RegionReport)); the timeline shows it as a slice. Of messages that a read took it also has the
//! time from the post of the read until all was there. And it has all figures from above, of what was done within
//! ([`Figures`](crate::observe::Figures)): for these, what is in a region inside of another counts for both.
//!
//! A region `solve` marks what counts of a program: the report at the end of `lathide run --report` and `lathide gain -- PROGRAM` are
//! about it, and not about start-up and checks. Without one, all regions count but `barrier`, `setup`, `start`, `check` and `result`; without
//! regions, all that the program does. Below, a table has each rank and each region: time, calculation, waiting, how much of the
//! communication was hidden, messages and bytes (of more than four ranks the medians; `observed` in JSON has all).
//!
//! ```
//! # let node = lathide::init()?;
//! # let (left, right) = (0, 0);
//! # let (edge, ghost) = (vec![0.0f64; 512], vec![0.0f64; 512]);
//! let halo = node.region("halo");
//! let reading = node.initread(left, 1, ghost)?;
//! let writing = node.initwrite(right, 1, edge)?;
//! drop(halo);                                            // what was posted within counts, wherever it is waited for
//! # (reading.wait()?, writing.wait()?);
//! # node.finalize()?;
//! # Ok::<_, lathide::Error>(())
//! ```
//!
//! # Sending times
//!
//! T_s of Stoica, Sultan and Keyes (section 2.5) ends when the last byte of a message has left the host. `wait` on a write says
//! less: that the buffer may be reused. With `LATHIDE_OBSERVE=sends` ([`Config::times_sends`](crate::Config::times_sends)) the
//! system notes for each write to a socket when its last byte is handed to the network card's driver (`SO_TIMESTAMPING`, Linux 6.2
//! or later; what the queue in front of the card holds has not left), and regions have the sending times of their messages by size.
//!
//! A host's messages leave one after another, and small ones overtake long ones. So T_s of a message is the time from its post until
//! it has left, less what counts for messages of the rank that have left before. The sum over a region's messages is the time for which the rank was sending them, and `sending`
//! has when that was: with the clock offsets of the report it tells how many ranks were sending at once.
//!
//! - A message that left in one write to the socket with others has the time of the last of them.
//! - What the network card itself holds has left; on a host of `lathide lab --host-rate` that is one packet.
//! - Each write costs one or two system calls more. Without `sends` nothing is noted.
//!
//! `lathide link --pairs` measures T_s of a link; `lathide study` and `lathide predict program` set both beside each other.
//!
//! # Advice
//!
//! | limit | when | what would improve it |
//! | --- | --- | --- |
//! | partners | t_wait - t_exposed is more than 5 % of the time, and more than t_exposed | better load balance |
//! | overhead | 1/gamma < Omega: G is below 1 | fewer and longer messages |
//! | calculation | t_exposed is below 5 % | more ranks, to p at q p/lambda = f + Omega, eq. (6) |
//! | posting | f is below 0.8, and with f = 1 eq. (4) gives a tenth more; or f is below 0.1 | earlier posts, later waits: G by eq. (4) with f = 1 |
//! | communication | otherwise | more work per step, by the factor best gamma / gamma with best gamma = 1/(f + Omega), sections 2.1 and 2.3.1; or fewer ranks, eq. (6); G is then 1 + f/(1 + Omega) |
//!
//! Each figure of an [`Advice`](crate::observe::Advice) names its formula. Advice on the number of ranks assumes that
//! each rank sends as much as it sends now, as with strips. The closing report has the advice for all ranks together: whoever is late
//! finds its messages there and seems to hide them, and others wait for it.
//!
//! # Timelines
//!
//! With `--trace FILE` (or `LATHIDE_TRACE=FILE`, also by hand) each rank writes its events to `FILE.rankN`, fifty times
//! a second. The launcher, or else the last rank to end, merges them into one file in the Chrome trace format and
//! removes them. Ranks on several machines need a common folder. The file of a killed rank has the events up to that
//! moment.
//!
//! - Rows of a thread: compute, initread, initwrite, wait (with `helped` if the thread moved bytes itself,
//!   `handed_over` if another did), finalize; and the regions of the program, around them.
//! - Rows of messages: from the post to the completion, with the first and the last fragment.
//! - Rows of links: `link to N down`, from the moment when its connection was cut until another followed, with the cause and the bytes
//!   that were sent again.
//! - Arrows: from an initwrite to the wait that got its message.
//! - `otherData`, for each rank: *hidden*, the fraction of the time with messages in flight in which no thread of the
//!   rank waited (without any model); how its clock was aligned, with a bound on the error; and how many events were
//!   dropped. A rank keeps the first 4 million events divided by the number of ranks.
//!
//! Ranks of one machine share its clock. Between machines the measured offsets are added along the path of least error
//! from rank 0. Clock drift is corrected if comparisons are ten seconds apart. Measured offsets are listed even if they
//! are not used.
//!
//! # HTML report
//!
//! `lathide report gain.json link.json trace.json reports.json -o report.html` makes one page of what `run --trace`, `run --report=FILE`,
//! `run --json` and the other commands have saved: the timeline of each rank (the whole, and an excerpt that shows single steps), time
//! by rank and by region, tables, and advice with its equations. [Results](super::results) has all that the page shows.
//!
//! # Cost
//!
//! `cargo bench --bench observe` joins two processes by two jobs, one observed and one not (`LATHIDE_OBSERVE=off`), and
//! uses them alternately. For 8 bytes one way the ratio of the times was 1.0024 (median of 101 pairs;
//! `benches/results/2026-11-21-observe.md`).
//!
//! A call costs a few stores to thread-local memory, and no additional reading of the clock. A timeline costs more: two
//! readings of the clock and some five events of a hundred bytes per message.
