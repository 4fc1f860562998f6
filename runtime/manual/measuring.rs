//! What the numbers of the measuring commands mean, and how they are measured.
//!
//! # The verdict
//!
//! Every measurement ends with one verdict, computed once from the data. The terminal's conclusion and the page of `lathide report` begin
//! with it, JSON has it as `verdict: {kind, reasons}`, and with `--strict` the exit status is 3 unless it is valid.
//!
//! | `kind` | when |
//! | --- | --- |
//! | `valid` | none of the rest |
//! | `disturbed` | other programs had 5 % of the processors' time on a host, or the host of a virtual machine took 2 % (steal time); in `gain` the same calculation took 5 % longer at one time than at another; or fewer than six repetitions were calm |
//! | `partial` | a signal (Ctrl-C) ended it: what was measured before is shown and the exit status is 128 + the signal |
//! | `impossible` | G is above eq. (1), by more than repetitions differ: the lower end of the interval of their ratio is above 1.01 |
//!
//! The processors are those that a host's ranks may use. What the ranks and their launcher (with the emulated link in it) did is not counted
//! as another program's, nor are interrupts. `gain` judges the repetitions that count: it repeats a disturbed one while there is time, at
//! most as often again, takes the calmest, and marks a point with fewer than six calm ones (`is_disturbed`; in the table `<-`). Of such
//! a point, and of a whole run that contradicts eq. (1), nobody says that overlap pays. `link` and `collectives` judge the whole run;
//! `study` and `gain -- PROGRAM` the machine of the launcher. Page and terminal say the same: a test holds them to it over recorded results
//! ([results](super::results)).
//!
//! # Statistics
//!
//! The twelve rules of Hoefler and Belli, *Scientific Benchmarking of Parallel Computing Systems* (SC15), in our words:
//!
//! | | rule | here |
//! | --- | --- | --- |
//! | 1 | a speed-up names its base, and how fast that is | S is against one node, G against I.1; T of both is shown, and beside it raw TCP |
//! | 2 | who measures a part says why | `--gamma`, `--bytes` and `--seconds` say what was left out; warnings name what there was no time for |
//! | 3 | costs are averaged arithmetically, rates harmonically | not needed: medians of times; a rate is bytes over such a median |
//! | 4 | ratios are not averaged, or geometrically | partly: the median of the ratios within a repetition, since drift slows both parts of it; the ratio of medians stands beside it |
//! | 5 | say whether results vary; if so, give intervals | medians have 95 % intervals from six repetitions on, and least and greatest |
//! | 6 | nothing is taken to be normal untested | not assumed: order statistics, the sign test, the bootstrap |
//! | 7 | compare by a sound test | the exact two-sided sign test of pairs at 0.05 (`comparisons`), and a comparison with itself (A/A) |
//! | 8 | ask whether a mean or median says what matters | p50, p99 and the greatest of one-way times, and latency under load |
//! | 9 | describe the set-up, so that others can repeat it | `hosts`, `link` and `run` in JSON; the page has a table of every host's |
//! | 10 | say how times of several processes are synchronised and summed up | both nodes begin at an agreed moment; the slower one counts |
//! | 11 | show bounds where there are some | eq. (1), raw TCP, the verdict `impossible` |
//! | 12 | plot what is needed to read the result; join points only if between them is sense | curves are models, points are measured, with least and greatest |
//!
//! Whether the headline of `gain` can be trusted is tested by ten runs, beside a process that uses a core at random: none is above eq. (1)
//! by more than its interval without the verdict `disturbed` or `impossible`. And on a quiet machine nine of ten intervals hold
//! the median of the ten. Each run is of 20 s, or a whole one at the scale of a merge (`CONTRIBUTING.md`):
//!
//! ```text
//! cargo test --release -p lathide-cli --test it -- --ignored --nocapture headline::beside
//! cargo test --release -p lathide-cli --test it -- --ignored --nocapture headline::on_a_quiet_machine
//! ```
//!
//! - *The interval of a median* is that of order statistics: from the k-th least to the k-th greatest repetition
//!   ([`median_interval`](lathide_models::stats::median_interval)). Of six to eight it is the least and the greatest; with fewer there is none.
//!   In `link` and `collectives` these are the `_min` and `_max` beside each median; `median_interval` has their probability.
//! - *The headline of `gain`* is G at gamma = 1 by the fit of eq. (4) to all points (`gain_at_1`). Its interval is the percentile bootstrap: 400
//!   times the repetitions of each point are drawn again, from a fixed seed. The greatest measured G beside it is biased upwards, as the
//!   greatest of several medians is.
//! - *A/A*: each run compares something with itself, by the same test: I.1 twice at the gamma nearest to 1, lathide twice with the shortest
//!   message, a run of a program beside the next with the same setting. At most one in twenty differs by chance; simulations in
//!   `lathide-models` hold that to 65 of 1 000, and that 20 % are found.
//! - *`rounds`* has all samples in the order of measurement: in `gain` each repetition with its shares of disturbance, and whether it `counts`;
//!   in `link` what each node found out in every block; in `collectives` the times of every point.
//!
//! # The set-up
//!
//! `hosts` of the JSON object has for each host of the job, as its own ranks found it: processor, cores and the core of each rank's
//! program, kernel, virtual or not, clock source, congestion control, `tcp_rmem`, `tcp_wmem`, interfaces with MTU and queueing discipline, round
//! trip, version. `run` has the command line, the date, and the seconds it took. `link` says whether the link was emulated, by a relay
//! or by a lab, and with which parameters.
//!
//! # The time
//!
//! `--seconds` of `gain` (with `--halo` too), `link` and `collectives` is kept to by fewer repetitions, and if need be by less to repeat: `gain` begins with
//! the gammas nearest to 1, and `link` leaves sizes, fragments and the cluster model out. What was left out stands in `warnings`. One block is
//! always measured. With `--repeats` the number counts, not the time. What it takes to log in on other hosts comes on top.
//!
//! # `lathide gain`
//!
//! Two nodes run the explicit heat equation of Strumpen's section 2 with long columns (section 4.2). Each step sends
//! 100 000 f64 in each direction. To vary the calculation without gigabytes of memory, each point also has a number of
//! explicit substeps of a linear cooling term. That number is set before each repetition by the current speed of the
//! machine. For each granularity, interleaved and repeated, the command measures:
//!
//! - `t_calc`: the calculation alone, on both nodes at once. `t_com`: the exchange alone. gamma = t_calc / t_com.
//! - I.1: calculate, write, read. I.2: boundary, blocking write, interior, read. I.3: boundary, initread, initwrite,
//!   interior, wait, wait (section 3.2).
//! - f: the interior's fraction of t_calc. Omega: how much longer the interior and the posting calls take while the
//!   transfer runs, relative to t_calc. Both are measured inside I.3, not derived from its total, so eq. (4) with them
//!   is a prediction too (`gain_phases` of each point in the JSON object).
//! - The same stencil over one raw TCP connection between the same two processes, through an emulated link of the same
//!   kind if there is one: as a *ping-pong* (calculate; one node writes, then reads, the other reads, then writes), the
//!   reference of Fig. 23, in every other repetition; and as an *exchange* (calculate; then both directions at once on a
//!   socket that does not block, with poll), as an expert would write it. Between hosts and over loopback an exchange that
//!   is not timed goes before each block, because TCP begins slowly after a pause.
//!
//! Both nodes begin each block at the same moment, on which they agree by a common clock. After a barrier they would
//! begin up to the one-way time of the link apart, and a block of one step would be longer by that. A strip has up to
//! 64 columns, so f is 63/64 on links where that much calculation fits.
//!
//! G over the ping-pong is in part the gain of sending both ways at once. G over the exchange has a base that owes nothing
//! to lathide, and `i1_over_raw_exchange`, a step of I.1 over one of the exchange, says how much slower lathide's own
//! base is. On 100 Mbit/s and an undisturbed processor that was 0.98 to 1.01 (`benches/results/2026-11-22-gain.md`). It
//! says more of the system than of lathide in two cases: on a loopback that the kernel shapes, where lathide keeps BBR and
//! raw TCP has reno; and beside other programs, since the exchange leaves as much to the system as it takes, and lathide no
//! more than the link sends in a moment.
//!
//! `--rows` and `--socket-buffer` may be lists: each pair is a case with two nodes of its own, and the result is of the
//! schema `lathide-gain-cases-1` ([`internet`](super::internet) has an example). `--steps` sets the time steps of a block,
//! otherwise as many as take 0.12 s. A socket buffer is that of the node's sockets, lathide's and raw TCP's; an emulated
//! link (`--link`) has sockets and queues of its own behind them, so for experiments with buffers use hosts or a lab.
//!
//! G = T(I.1) / T(I.3). *Ideal* is eq. (1). *Model* is eq. (4) with the measured gamma and *one* f and *one* Omega,
//! fitted to the whole sweep ([fitting](super::models)): `G = (1 + 1/gamma) / ((1 - f) + max(f + Omega, 1/gamma))`.
//!
//! The *error* is cross-validated: every other gamma is fitted and the rest predicted, then the other way round
//! (`model_error` with `median`, `p90`, `max`). That needs at least four gammas, two on either side of 1/(f + Omega).
//! All values are medians of ratios within one repetition. The work of the calculation is set before each repetition by what calculation
//! and exchange took last, so that gamma is the one that was asked for; a gamma that was missed by more than 10 % is named.
//!
//! *Extension*: if the computing core itself moves the bytes, what a step loses is proportional to its traffic, not to
//! its calculation: [`Omega = omega_com t_com / t_calc`](lathide_models::fit::traffic). It is fitted beside eq. (4),
//! with its own cross-validated error (`extension`). On a kernel-shaped link of 1 Gbit/s the error of eq. (4) was
//! median 4.7 %, p90 9.4 %, and that of the extension median 3.9 %, p90 5.6 % (`benches/results/2026-11-22-gain.md`).
//!
//! All three versions must give the same bits as the sequential calculation, or the command fails.
//!
//! # `lathide gain --halo 1..64*2 --link wan`
//!
//! *Deep halos*, beyond the paper: where a message takes much longer than a step (`--gamma`, by default 0.1), hiding alone gains
//! next to nothing, since G is at most 1 + gamma there. But a strip with k ghost columns calculates k steps for each exchange of k
//! columns, at the cost of calculating ghost columns, which its neighbour calculates too. For each k, in turns, both nodes measure:
//!
//! - I.1 and I.3 with k ghost columns. I.1 exchanges and then calculates k steps. I.3 calculates what does not depend on the exchange
//!   while it is under way, in step j the columns that are more than j from the neighbour, and then the rest.
//! - I.1 with one ghost column and an exchange in each step, the base of G.
//! - t_calc, a step's calculation alone, and the exchange alone, of messages of four lengths, to which `a + b x` is fitted. The model
//!   ([`DeepHalo`](lathide_models::gain::DeepHalo)) takes these three numbers and no other, so its times are predictions.
//!
//! The two gains multiply: `T(I.1) / T(I.1, k)` by fewer exchanges, and `T(I.1, k) / T(I.3, k)` by hiding them. The bound of both
//! is `1 + 1/gamma`, a step that communicates for nothing. The best k is about the least with which k steps of the interior take
//! as long as the exchange; beyond it only redundant calculation grows.
//!
//! Times are medians of the quicker half of the repetitions, what is predicted from as well as what is measured, since whatever
//! disturbs only prolongs. `comparisons` and `rounds` are of all repetitions; A/A is I.1 twice in each. A block has at least three exchanges. A strip has 64 columns, and one side with a neighbour; a greater k is
//! refused. Before, three exchanges with each k must give the same bits as the sequential calculation, and in each repetition
//! I.1 and I.3 with the same k must agree, or the command fails. `lathide predict gain --halo` is the model alone, and
//! `examples/stencil --halo K` the program.
//!
//! `--json` (schema `lathide-gain-halo-1`): `{rows, columns, t_calc_s, a_s, b_s_per_byte, exchanges: [{bytes, time_s, fitted_s}],
//! gamma, bound, t_i1_s, t_i1_predicted_s, t_i1_error, halos: [{halo, steps_per_exchange, redundancy, t_i1_s, t_i1_predicted_s,
//! error_i1, t_i3_s, t_i3_predicted_s, error, gain, gain_predicted, gain_of_halo, gain_of_halo_predicted, gain_of_hiding,
//! gain_of_hiding_predicted}], best_measured, best_predicted, best_of_all, max_gain, comparisons, rounds, repeats, ...}`.
//!
//! # `lathide gain -- PROGRAM`
//!
//! Runs a program unchanged with `LATHIDE_OVERLAP=on` and `off`, alternately. G is the ratio of the times within what counts of the program,
//! on the rank that took longest: its region `solve`, or else all regions that it has named but `barrier`, `setup`, `start`, `check` and
//! `result` ([`Node::region`](crate::Node::region)); `--region NAME` names another. Of a program without regions it is the time from
//! the moment when all ranks have joined to the moment when the last has left. The result says which part was compared.
//! Overlap pays, or costs time, where the sign test says so.
//!
//! # `lathide link`
//!
//! Two nodes measure their link, and beside it a raw TCP connection between the same two processes, through an emulated
//! link of the same kind if there is one. Everything is measured in three variants: raw blocking, raw polled (the same
//! calls on a nonblocking socket, repeated), and lathide. The variants are interleaved, and the order is reversed every
//! other time. The first round is a warm-up. Ratios are within a round. A first look at the link determines the sizes
//! that fit into `--seconds`, and the number of messages per block.
//!
//! The raw reference has TCP_NODELAY and buffers allocated before the clock starts. It uses whole-message calls in the
//! ping-pong and 256 KiB calls in streams. Within a host it has the congestion control that lathide selects there.
//!
//! - *One-way time*: half the round trip. *Penalty*: lathide's over raw TCP's (Strumpen's Fig. 19).
//! - *Bandwidth*, *message rate*: by the receiver's clock, starting when the first message is complete, so the travel
//!   time does not count. Compared with the better of both raw variants.
//! - *Exchange*: one message in each direction, one after the other and simultaneously (Fig. 20). Simultaneously also
//!   over one raw connection, where each direction continues whenever it can. The slower node counts. Both begin at the
//!   same moment, within the accuracy of the one-way time.
//! - *Overlap* = 1 - (t_total - t_calc) / t_com, for transfers behind a calculation of 1.1 t_com on both nodes:
//!   messages in one direction, with the nodes writing in turns, and messages in both directions at once. t_calc is
//!   measured before and after each time, on both nodes at once.
//! - *OSU* and *IMB*: the same as other benchmarks define overlap. The OSU micro-benchmarks (osu_iallreduce and its like) print ours, not below
//!   0; the Intel MPI Benchmarks (IMB-NBC) print (t_com + t_calc - t_total) / max(t_com, t_calc), between 0 and 1.
//! - *Effective overlap*: the processor time of lathide's own threads is added to t_total, as if they shared the
//!   calculation's processor. A thread that spins hides nothing.
//! - *Availability*: t_calc over the time of the same calculation while the transfer runs. Also measured while the
//!   other node only transfers; on a host with as many cores as nodes, one core is then free for the kernel's task.
//! - *Latency under load*: quantiles of the round trip of 8 bytes until a long message to the same rank has left.
//! - *Processor time*: both processes, all threads; per message of the ping-pong, and per MiB of a stream.
//! - *Fragments* (Fig. 11): the size is a setting of a node, so each size has two nodes of its own, in ascending, then
//!   descending order.
//! - *Hyperbolic*, and the segmented extension beside it. They are fitted to all repetitions but the fastest and the
//!   slowest fifth, at every power of two and, if there is time, at up to three sizes between two of them from 64 B on
//!   (lathide alone). The error is cross-validated: each size is left out once, and its median is compared with the
//!   prediction. The sizes are measured in short blocks, up to four times a round. Look at `background_load`
//!   before you trust an error. `benches/results/2026-11-22-link.md` has runs.
//! - *Cluster model*: two nodes of their own, then three, of which two send to rank 0. The procedures are those of Tam
//!   and Wang, section 3.2, which the page on [fitting](super::models) lists:
//!
//!   | | experiment here |
//!   | --- | --- |
//!   | O_s | time in `initwrite` in a ping-pong; work left to the kernel's thread is not included |
//!   | g_s | streams of n and of 3 n messages of one sender, until rank 0 confirms all of them: the difference |
//!   | g_r | from the first arrival to the last, with one sender and with two: the shorter gap counts |
//!   | O_r | processor time of a calculation alone and while messages arrive, and of the kernel's thread meanwhile |
//!   | U_r | time in `wait` for messages that have arrived |
//!   | L | half the round trip of one pair, less O_s + O_r + U_r; how it grows with more pairs: `--pairs` |
//!   | M_ctc, M_ctm, M_mtm | copies between two areas of 32 MiB: within one place, or ever further on |
//!   | B_L | `--pairs`; without it the window for unexpected messages (64 MiB), in packets |
//!
//!   A *packet* is a message of the longest size measured, at most 64 KiB. `lathide predict gather` and
//!   `predict broadcast --model cluster` cut longer messages into packets. If a difference is below the noise (O_r,
//!   g_s), that size is left out, and `notes` says so.
//!
//! With `--pairs 1,2,4` as many nodes as there are slots (or, over a shared `--link`, two for each pair) send at once. The
//! ranks of one half send to those of the other, so that every pair leaves its host; pairs that share no port come first. In
//! a block each sender of the first n pairs sends a message, waits for an answer of 8 bytes, and so on, after one message
//! to warm up, from a moment on which all ranks agree. The time is that of the slowest pair (rule 3 is about the message
//! that is served last), less the answer's, which is half of what 8 bytes take to and fro. All n and all sizes are measured
//! in turns, then again. a' and b' of each n are fitted to the medians, by straight lines unless hyperbolas have less than
//! half of their error; eq. (16) to all of them. Then it says which of these it was:
//!
//! | `medium` | when |
//! | --- | --- |
//! | `switched` | long messages of no n take 10 % longer than those of one pair |
//! | `unclear` | they do, but less than 3 standard errors: `predict` takes it as not measured |
//! | `port` | they take longer as the busiest port has more pairs (`per_port`), within 5 %; also where all pairs share one |
//! | `processor` | they take longer, while the processors are busy to 85 % and these nodes have 35 % of them |
//! | `shared` | they take longer otherwise: b_c is the median of b'(n) / n, the surer ones counting more |
//!
//! A byte on a shared medium costs more than its rate says: TCP fills 1448 of a packet's 1500 bytes, and acknowledgements
//! pass the same medium. In `lathide lab --hosts 4 --shared --rate 50mbit --delay 0.2ms`, 160 ns per byte or 165.7 ns with
//! the packets' headers, b_c was 172 ns by 1 and 2 pairs, and with 8 hosts by 1, 2 and 4 pairs 171 and 174 ns,
//! while other programs had 60 to 80 % of two cores. Without `--shared` the same hosts are found to be switched
//! (`benches/results/2026-11-23-contention.md`).
//!
//! Beside that, in a job of its own whose ranks note when messages have left ([sending times](super::observing#sending-times)): one rank
//! sends to one other, one to up to four at once, and all to four at once, of these 4 KiB at most. `sending` of the JSON has T_s by case
//! and size, and a_s and b_s of each.
//!
//! B_L: then all ranks of other hosts send to rank 0 at once, each 4 KiB to 2 MiB, three times. What TCP sends again
//! (`RetransSegs` of each host, other programs' included) counts as lost, and eq. (4) maps the least flood with losses in
//! most repetitions to the buffer. TCP may put less under way than it is given, above all with a congestion control that
//! paces (BBR); so this is what the network holds of what TCP sends, and without a loss a lower bound. It is not measured on
//! a shared medium, where senders together are no faster than the receiver.
//!
//! `background_load` is the share of other programs on the host where they had most.
//!
//! # `lathide collectives`
//!
//! There are as many nodes as `-n` or `--ranks` says, on this host or on others (`--hosts`). Every operation has its
//! own job, and so its own connections. Otherwise TCP's congestion control remembers a gather, whose senders share the
//! root's port, and slows the following exchanges by a third.
//!
//! First the links are measured. Messages of 8 B to 4 KiB travel around the ring, all at once, so that ranks share
//! processors as in a collective. Longer messages travel in pairs as a ping-pong.
//! [`Node::calibrate`](crate::Node::calibrate) fits a straight line `a + b x` to them. The processor overhead of a
//! message (LogP's o) is what each further message costs rank 0 when it sends to and hears from all others; with two
//! ranks it is assumed. These parameters give the predicted time of every algorithm.
//!
//! Then all points are measured, interleaved, at least five times, with the order reversed every other time. The first
//! round is a warm-up. A point's time is that of the slowest rank. All ranks begin at one moment, on which they agree
//! after a barrier: by the clock that the processes of a host share, or between hosts by a clock synchronised by round
//! trips. (A rank may leave a barrier up to one message time before others.) Algorithms are set by
//! [`Node::override_algorithms`](crate::Node::override_algorithms). Bytes are those of the whole for broadcast, reduce
//! and allreduce, otherwise of one rank's block (for alltoall, of each).
//!
//! - *Error*: predicted over measured, less 1. Summarised without its sign: median and p90 per operation.
//! - *Chosen*: the algorithm that the library selects with these parameters. *Of the fastest*: its time over that of
//!   the fastest algorithm measured. The selection is good up to 1.1. If there is only one candidate, the point does
//!   not count.
//! - *Overlap* = 1 - (t_total - t_calc) / t_com of `initbroadcast`, `initallreduce` and `initallgather` behind a
//!   calculation of about 1.1 t_com on all ranks, with the selected algorithm, from 64 KiB to 1 MiB. t_calc is measured
//!   before and after each time, on all ranks at once, and adjusted if it is no longer 1.1 t_com. If there are more
//!   ranks than cores, ranks share cores, with a note.
//!
//! `--link` gives each pair of ranks its own path, with its own delay and rate: a rank that sends to three others at
//! once has three times the rate. The model has one port per rank (rule 3). So over such a link it predicts too long a
//! time for `serial`, `simple` and every other algorithm that sends to or receives from many ranks at once.
//!
//! Commands that repeat figures of the papers (add `--link SPEC` for the link in question):
//!
//! | figure | command |
//! | --- | --- |
//! | Strumpen, Fig. 20: ping-pong and simultaneous send, buffers of 4 and 16 Kbyte | `LATHIDE_SOCKET_BUFFER=4KiB lathide link`, then with 16KiB |
//! | Figs 21, 22: the Internet experiment | the page [`internet`](super::internet) |
//! | Fig. 23: ping-pong, simultaneous send, latency hiding, 100 000 rows | `lathide gain` |
//! | Tam and Wang, Figs. 2, 4, 5; Stoica, Sultan and Keyes, Figs. 11, 12, 14 | `lathide collectives --papers`, below |
//! | Figs. 11 and 12 by the library's own trees, with segments, 11 ranks | `lathide collectives -n 11 --operations broadcast --algorithms binary,serial` |
//! | Fig. 5 beside a gather that the root grants piece by piece | `lathide collectives --ranks 4,8,16 --operations gather --algorithms simple,windowed/1,granted --bytes 1KiB,4KiB,16KiB,64KiB,256KiB,1MiB` |
//!
//! `--json`: `{link, machine, parameters: [{operation, ranks, a_s, b_s_per_byte, overhead_s, is_fitted}], points:
//! [{operation, algorithm, ranks, bytes, measured_s, measured_s_min, measured_s_max, predicted_s, error, chosen,
//! over_fastest}], errors: [{operation, median, p90, points}], choice: {points, good, share}, overlap: [{operation, ranks, bytes,
//! t_calc_s, t_com_s, t_total_s, overlap, overlap_min, overlap_max, messages_t_com_s, messages_overlap,
//! messages_overlap_min, messages_overlap_max}], repeats, background_load, ...}`.
//!
//! Overlap is measured over blocks of consecutive calls, whose roots change from call to call. (A single call after a
//! pause may pass a token bucket or a queue at once.) Beside it stands the overlap of point-to-point *messages* of as
//! many bytes in the same minute: from the root to the next rank if the collective has a root, otherwise from each rank
//! to the next.
//!
//! # `lathide collectives --papers`
//!
//! What Tam and Wang and Stoica, Sultan and Keyes measured, on this link, beside their equations. For each number of ranks
//! (4 and 8, or `--ranks 4,8,16`):
//!
//! | | measured | beside |
//! | --- | --- | --- |
//! | gather, 1 KiB to 1 MiB | `simple`, and `windowed` with w of eqs. 5 to 7 (Tam, Wang, Figs. 4 and 5) | eq. 8 |
//! | broadcast in packets | 1 to 64 messages of 4 KiB, each down the binomial tree, none waiting for the one before (Fig. 2) | eq. 1 (Postal) and eq. 2 |
//! | broadcast | one message down the binary tree, and from the root to one after another (Stoica, Sultan, Keyes, Figs. 11 and 12) | both, with contention |
//! | neighbour exchange | K = 1, 2, 4 messages from each rank to ranks on both sides of it on a ring (Fig. 14) | as printed, and with rule 3 for the workstation |
//!
//! *Parameters* are measured first, and never fitted to these operations:
//!
//! - n disjoint pairs send messages to and fro, for n = 1 and half of each number of ranks. The slowest pair counts, and of
//!   the repetitions the faster half: what disturbs only prolongs, and all predictions follow from these. The hyperbolas
//!   fitted to them are (a', b') of eqs. 16 and 17. If b' of the most pairs is more than 1.25 times that of one, they share
//!   a medium, and the equations give a_C and b_C. Otherwise the network is *switched*, with b_C = 0; a_C is what further
//!   pairs add to a'. a_W is the processor's part, measured as for the other collectives.
//! - The same pairs send both ways at once. What a byte takes then is the b_W of exchanges on a switched network: TCP's
//!   acknowledgements wait behind data.
//! - The round trips give L(m, p) of the cluster model. O_s, g_s, g_r, O_r and U_r come from the nodes of `lathide link`.
//! - B_L, the queue in front of a receiver, is `--queue`, else `contention.queue_bytes` of a saved `lathide link --json`
//!   (`--from`), else unlimited: then the windowed gather is the simple one, and measured once. TCP's share of a queue is
//!   taken to be 1448 of 1500 bytes. A quotient g_s / g_r within 10 % of a whole number, or within the errors of both, counts
//!   as that number.
//!
//! Eq. 8 has C1 = O_s + L - g_r here: L has the first packet's time on the receiver's port, which is also one of the p' i
//! that eq. 8 counts. L is without the load of other packets, since eq. 8 counts them. `errors` also has the form with
//! C1 = O_s + L.
//!
//! All of this is about hosts with a port each, or on one medium, as in `lathide lab`. Over `--link` without `shared` each
//! pair of ranks has its own path; on loopback there are processors only, and no equation holds.
//!
//! Times are of the slowest rank from a common moment, as above. Every operation is measured in two jobs, and simple and
//! windowed gathers, broadcasts and the exchanges of each K have jobs of their own: congestion control remembers the share
//! of a port that a connection had.
//!
//! The *conclusion* says what is right on this link, by the data: eq. 1 or 2, at the points where they differ by more than
//! 5 % (neither, if the mean error is above 25 %); the exchange as printed or by rule 3; which broadcast is the faster one.
//! `benches/results/2026-11-23-papers.md` has runs, and the causes of the errors above 20 %.
//!
//! `--json` (schema `lathide-papers-1`): `{cluster, network: {a_w_s, b_w_s_per_byte, a_c_s, b_c_s_per_byte, a_l_s, shared},
//! pairs: [{pairs, a_s, b_s_per_byte, both_ways_b_s_per_byte}], messages: [{pairs, both_ways, bytes,
//! time_s}], queue_bytes, gather: [{ranks, bytes, packets_each, lower_bound, upper_bound, window,
//! simple_s, windowed_s, predicted_s, error, loose_error, simple_over_windowed}], packets: [{ranks, packets, bytes, measured_s,
//! postal_s, postal_error, cluster_s, cluster_error}], broadcast: [{form, ranks, bytes, measured_s, predicted_s, error}],
//! exchange: [{neighbours, ranks, bytes, measured_s, printed_s, printed_error, rule_3_s, rule_3_error}], errors: [{what,
//! points, mean, greatest, at_ranks, at_bytes}], verdicts: {packets, exchange}, repeats, background_load, ...}`.
//!
//! # `lathide study`
//!
//! A program in its versions over one link: what its messages take, and what hiding gains, predicted from the link beside what is
//! measured. The comparison is that of Stoica, Sultan and Keyes 1994, section 5 (Figs. 16, 17, 19 and 20), and of Strumpen 1994,
//! section 4.3.
//!
//! - *Versions*: `native` calculates, then communicates; `synchronised` is the same with a barrier before messages, so that all
//!   ranks send at once; `hidden` has communication behind calculation. `{version}` in the program's arguments is replaced.
//! - *Classes* are the regions that the program names ([`Node::region`](crate::Node::region)). The inventory, bytes and number of
//!   each class, is what the ranks have counted of themselves; it comes from no list. Regions called `barrier`, `setup`, `start`,
//!   `check` and `result` are no part of a unit of work and never count.
//! - A *unit* of work is a visit of the region `iteration` or `cycle`, or of that which `--per` names. All is told for one unit and
//!   for one rank that has such messages, averaged over units and over those ranks. The sum of all classes is what a rank takes
//!   that is in each of them.
//! - *Parameters* are the link's: of `--from link.json` (`lathide link --pairs 1,2 --json`), or measured before the program runs, in a
//!   quarter of `--seconds`. They are never taken from the program. Over an emulated `--link` that is not `shared`, and over
//!   loopback, what pairs share is not measured, and the one-way fit counts; the command says so.
//! - `--sweep NAME=LIST` changes `{NAME}` in the arguments from point to point, several sweeps together, item by item; `ranks` is the
//!   number of ranks. The versions of all points are run in turns, as often as `--repeats` says and `--seconds` allows. Of `--hosts`
//!   each gets one rank before one gets two.
//!
//! Times of messages, with n ranks that send at once (section 2.5, rule 3, section 5.2.2):
//!
//! - T_s, the *sending time*: from the post until the last byte has left the host, less the time that counts for messages which have
//!   left before. Predicted: T(x; a_s, b_s), `b_s = max(b_s, n b_C)`. (a_s, b_s) of one sender alone is measured (`sending` of
//!   `lathide link`) of a message by itself and of several to different ranks at once: of K messages the first need not wait for the
//!   card, so the mean of K is taken as `limit - part / K`. Not measured, `a_s = a_W`, `b_s = max(b_W, b_C)` as in Fig. 8. The messages of a rank leave one after the
//!   other, so their times add up. Over an emulated link messages leave into its relay, at the pace of this machine: for T_s use hosts.
//! - T_r, the *receiving time*: from the post of a read until its message is complete. The K reads that a visit of a region posts
//!   count as posted at once, when their senders start, and served in turn: the i-th takes T(x; a, b) with
//!   `a = i (2 a_W + n a_C) + a_L`, `b = i max(b_W, n b_C)`. The last is section 3.3's. With K = 1 it is T_c. Only the synchronised
//!   version is compared, since in others a read also waits for its sender. What collectives receive is not timed.
//! - *n = 1* is without contention. *All n*: as many as send in the class. *n observed*: how many ranks send while one does, on
//!   average: the sum of their times of sending over the time in which any of them sends, on one clock
//!   ([`RegionReport::sending`](crate::observe::RegionReport::sending)).
//! - *Error*: predicted over measured, less 1; of the native version with n observed, of the synchronised one with all n.
//!   `--contention full` compares the native version with all n instead, `none` both versions with n = 1. Where messages are shorter than what the
//!   network holds of a host (the queue of a lab's medium), they leave the host without waiting for the medium: n = 1 is what T_s
//!   knows, and T_r has the contention.
//!
//! Then the time of a unit of the slowest rank in each version. gamma is the time outside of calls over that within calls, of the
//! native version's units. G = native over hidden, within a repetition, beside eq. (1), and beside eq. (4) with f and Omega as the
//! ranks of the hidden version have observed them. Last, each class at the last point.
//!
//! `--json`: `{schema: "lathide-study-1", command, versions, classes, per, repeats, from, parameters, sending: [{ranks, at_NAME, messages,
//! bytes, senders, senders_observed, alone_s, full_s, observed_s, native_s, native_error, synchronised_s, synchronised_error}],
//! receiving: [{..., alone_s, full_s, synchronised_s, error}], gain: [{..., native_s, synchronised_s, hidden_s, gamma, gain,
//! gain_ideal, f, omega, gain_model}], by_class: [{version, direction, class, ...}], errors: {sending: {points, median, greatest},
//! receiving}, ...}`. What was measured is a median, with `_min` and `_max` beside it. `lathide report` draws it.
//!
//! `lathide predict program --inventory run.json --from link.json` prices the reports of one run that was made with
//! `lathide run -x LATHIDE_OBSERVE=sends --report=run.json`: each class, with the rank that sends most, T_s and T_r without and with
//! full contention (of all that send, or `--senders N`) and with n observed, beside what was measured.
//!
//! # `cargo bench --bench tuning`
//!
//! For each controller (the page [`architecture`](super::architecture)) the case for which it is there, with it and
//! without it: two processes, two jobs, used in turn, medians with minimum and maximum of the ratio. Names select cases:
//! `cargo bench --bench tuning -- spin pacing`. Cases that need a slower link than loopback run in a network namespace
//! whose loopback is shaped; where that is not allowed, over loopback, and the line says so.
//!
//! # `cargo bench --bench p2p`
//!
//! Two processes over loopback; raw TCP and lathide interleaved, after a warm-up; medians with minimum and maximum of
//! the ratio. Raw TCP blocks, has TCP_NODELAY, writes and reads 256 KiB at a time, and otherwise uses the system's
//! defaults. If the system's congestion control paces (BBR), that is much of the difference at 1 MiB and beyond.
//! Buffers are allocated before the clock starts. Loopback shows penalty and bandwidth. It cannot show overlap on two
//! cores, since both ends of the transfer are processor work there.
