//! What the numbers of the measuring commands mean, and how they are measured.
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
//!
//! Both nodes begin each block at the same moment, on which they agree by a common clock. After a barrier they would
//! begin up to the one-way time of the link apart, and a block of one step would be longer by that. A strip has up to
//! 64 columns, so f is 63/64 on links where that much calculation fits.
//!
//! G = T(I.1) / T(I.3). *Ideal* is eq. (1). *Model* is eq. (4) with the measured gamma and *one* f and *one* Omega,
//! fitted to the whole sweep ([fitting](super::models)): `G = (1 + 1/gamma) / ((1 - f) + max(f + Omega, 1/gamma))`.
//!
//! The *error* is cross-validated: every other gamma is fitted and the rest predicted, then the other way round
//! (`model_error` with `median`, `p90`, `max`). That needs at least four gammas, two on either side of 1/(f + Omega).
//! All values are medians of ratios within one repetition. A repetition is repeated, within limits, if other programs
//! took the processor or if the same calculation did not take the same time. A note below the table says what remains.
//!
//! *Extension*: if the computing core itself moves the bytes, what a step loses is proportional to its traffic, not to
//! its calculation: [`Omega = omega_com t_com / t_calc`](lathide_models::fit::traffic). It is fitted beside eq. (4),
//! with its own cross-validated error (`extension`). On a kernel-shaped link of 1 Gbit/s the error of eq. (4) was
//! median 4.7 %, p90 9.4 %, and that of the extension median 3.9 %, p90 5.6 % (`benches/results/2026-11-22-gain.md`).
//!
//! All three versions must give the same bits as the sequential calculation, or the command fails.
//!
//! # `lathide gain -- PROGRAM`
//!
//! Runs a program unchanged with `LATHIDE_OVERLAP=on` and `off`, alternately. G is the ratio of the times from the
//! moment when all ranks have joined to the moment when the last has left.
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
//! B_L: then all ranks of other hosts send to rank 0 at once, each 4 KiB to 2 MiB, three times. What TCP sends again
//! (`RetransSegs` of each host, other programs' included) counts as lost, and eq. (4) maps the least flood with losses in
//! most repetitions to the buffer. TCP may put less under way than it is given, above all with a congestion control that
//! paces (BBR); so this is what the network holds of what TCP sends, and without a loss a lower bound. It is not measured on
//! a shared medium, where senders together are no faster than the receiver.
//!
//! Background load, the share of the processors that other programs use, is printed if it is more than 5 %.
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
//! | Stoica, Sultan and Keyes, Fig. 11: broadcast by the binary tree, 11 ranks | `lathide collectives -n 11 --operations broadcast --algorithms binary` |
//! | Fig. 12: p4's own broadcast, a serial one | `lathide collectives -n 11 --operations broadcast --algorithms serial` |
//! | Fig. 14: neighbour exchange, 16 ranks, 4 neighbours each | not a collective of all ranks, so not measured; `lathide predict hyperbolic --neighbours 4` predicts it |
//! | Tam and Wang, Fig. 2: broadcast of k messages one after the other | `lathide collectives --ranks 4,8,16 --operations broadcast --algorithms binomial`: one message that the tree may pipeline in segments |
//! | Fig. 4: gather by Algorithm 1, 1 KiB to 1 MiB | `lathide collectives --ranks 4,8,16 --operations gather --algorithms windowed/1 --bytes 1KiB,4KiB,16KiB,64KiB,256KiB,1MiB` |
//! | Fig. 5: it beside the simple gather | the same with `--algorithms simple,windowed/1,granted` |
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
