//! What a running program shows of itself: reports, timelines, advice; and what looking costs.
//!
//! ```text
//! lathide run -n 4 --report ./program                  what limited it, and what would change it
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
//! | t_post | in `initread` and `initwrite`; of short ones, every 16th is timed and stands for the others |
//! | t_wait | in waits |
//! | t_exposed | of t_wait, for each wait at most what the message waited for takes on its way |
//! | t_kernel | processor time of the kernel's thread |
//! | t_com | what all messages take on their way: one after another in a direction of a link, both directions at once, links one after another |
//!
//! From these follow the words of Strumpen, section 2:
//!
//! | figure | formula |
//! | --- | --- |
//! | gamma | t_calc / t_com |
//! | f | the part of t_calc while operations are posted and not yet waited for, over t_calc |
//! | Omega | (t_post + t_kernel) / t_calc: the processor time that hiding costs; where a core is free for the kernel it costs less |
//! | hidden | 1 - t_exposed / t_com |
//! | G as observed | (t_calc + t_com) / (t_calc + t_post + t_exposed) |
//! | G by eq. (4) | `(1 + x) / ((1 - f) + max(f + Omega, x))`, x = 1/gamma: [`gain::with_overhead`](lathide_models::gain::with_overhead) |
//! | G by eq. (1) | the same with f = 1 and Omega = 0 |
//!
//! G as observed is no measurement of two runs: nobody has run the program without overlap. That is what
//! `lathide gain -n 4 -- ./program` does: it runs the program with overlap off and on and shows G *measured* (off/on,
//! `gain_measured`) beside these figures of a run with overlap. Waits for partners that had not sent yet (t_wait - t_exposed) are in neither
//! side of the ratio, since hiding cannot change them.
//!
//! Time in an `.await` is not counted: a future waits, no thread does.
//!
//! # Times on the way
//!
//! The first 32 messages of each size class of a link, then one short one of 32 and one longer one of 4, carry a *stamp*:
//! the time of their `initwrite` by the sender's clock. Only messages that find their link idle do. The receiver
//! compares it with its own clock when the last byte is there. By how much the two clocks differ is known from the
//! minimum round trip: the least time any short stamp took in either direction, lately; half of the sum of both is the
//! bound of the error. Where nothing short passes in both directions, a stamp of no message asks, twice a second. So the
//! one-way time of eq. (3) of Stoica, Sultan and Keyes is observed while the program runs; a and b are fitted where
//! there are sizes at least four times apart ([`fit::hyperbolic`](lathide_models::fit::hyperbolic)), with their error on
//! sizes the fit has not seen. At most 32 samples of each class are kept, the newest.
//!
//! A message beyond the window waits for its read first and carries no stamp.
//!
//! # Advice
//!
//! | limit | when | what would change it |
//! | --- | --- | --- |
//! | partners | t_wait - t_exposed is more than 5 % of the time, and than t_exposed | even work |
//! | overhead | 1/gamma < Omega: G is below 1 | fewer and longer messages |
//! | calculation | t_exposed is below 5 % | more ranks, to p at q p/lambda = f + Omega, eq. (6) |
//! | posting | f is below 0.8, and with f = 1 there would be enough calculation; or f is below 0.1 | post earlier, wait later: G by eq. (4) with f = 1 |
//! | communication | otherwise | more work per step, by the factor best gamma / gamma with best gamma = 1/(f + Omega), sections 2.1 and 2.3.1; or fewer ranks, eq. (6); G is then 1 + f/(1 + Omega) |
//!
//! Each figure of an [`Advice`](crate::observe::Advice) names its formula. Advice on ranks assumes that each rank sends
//! what it sends now, as a strip does.
//!
//! # Timelines
//!
//! With `--trace FILE` (or `LATHIDE_TRACE=FILE`, also by hand) each rank writes its events to `FILE.rankN`, fifty times a
//! second; the launcher, or else the last rank to end, makes one file of them in the Chrome trace format and removes
//! them. Ranks on several machines need a common folder. A rank that is killed has left what happened up to then.
//!
//! Rows of a thread: compute, initread, initwrite, wait (with `helped` if the thread moved bytes itself, `handed_over` if
//! another did), finalize. Rows of messages: from the post to the completion, with the first and the last fragment. Arrows:
//! from an initwrite to the wait that got its message. `otherData` has for each rank how much of the time in which
//! messages were on their way no thread of it waited (*hidden*, without any model), how its clock was aligned and how
//! wrong that is at most, and how many events had no room: a rank keeps the first 4 million divided by the number of
//! ranks.
//!
//! Ranks of one machine share its clock; between machines the differences measured are added up along the path of
//! least error from rank 0, and drift is followed if comparisons are ten seconds apart. What was measured is told
//! even where it is not used.
//!
//! # A page of it all
//!
//! `lathide report gain.json link.json trace.json reports.json -o report.html` makes one page of what `gain --json`, `link
//! --json`, `run --trace`, `run --report=FILE`, `run --json` and `gain --json -- PROGRAM` have written, as many of them as
//! there are: curves with the models beside the measurements, the timeline of each rank (all of it, and a stretch that
//! shows single steps), tables, and advice with its equations. It is one file that loads nothing from anywhere.
//!
//! # What it costs
//!
//! `cargo bench --bench observe` joins two processes by two jobs, one that observes and one that does not
//! (`LATHIDE_OBSERVE=off`), and uses them in turn. On two cores, Linux 6.18, loopback, shared with other programs, medians
//! of 101 pairs:
//!
//! | messages               | observed / not observed | quartiles        |
//! |------------------------|-------------------------|------------------|
//! | 8 B, one way           | 1.0024                  | 0.9935 .. 1.0139 |
//! | 8 B, one of 64 in a row | 1.0089                 | 0.9916 .. 1.0299 |
//! | 64 KiB, one way        | 0.9987                  | 0.9827 .. 1.0261 |
//!
//! One way, 8 bytes took 4.473 us observed and 4.457 us not.
//!
//! A call costs a few stores in memory of the thread's own, and no look at the clock that was not taken before. A timeline
//! costs more: two looks at the clock and some five events of a hundred bytes per message.
