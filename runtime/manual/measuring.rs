//! What the numbers mean and how they are taken.
//!
//! # `lathide gain`
//!
//! Two nodes run the explicit heat equation of Strumpen's section 2 with long columns (section 4.2): each step sends
//! 100 000 f64 each way. To vary the calculation without gigabytes, each point also carries a number of explicit
//! substeps of a linear cooling term, set before each repetition by what the calculation takes then, since machines
//! change their speed. Per granularity, in turn and repeatedly:
//!
//! - `t_calc`: the calculation alone, both nodes at once; `t_com`: the exchange alone; gamma = t_calc / t_com;
//! - I.1: calculate, write, read. I.2: boundary, blocking write, interior, read. I.3: boundary, initread, initwrite,
//!   interior, wait, wait (section 3.2);
//! - f: the interior's part of t_calc. Omega: how much longer the interior and the posting calls take while the
//!   transfer runs, relative to t_calc; measured inside I.3, not taken from its total, so that eq. (4) with them is a
//!   prediction too (`gain_phases` of each point in the JSON object).
//!
//! Both nodes begin each block at the same moment, on which they agree by a common clock: out of a barrier they come up to the
//! one-way time of the link apart, and a block of one step is longer by that (over 25 ms, 800 KB took 0.16 s so, and 0.16 or
//! 0.19 s behind a barrier). A strip has up to 64 columns, so that f is 63/64 on links where that much calculation fits.
//!
//! G = T(I.1) / T(I.3). *Ideal* is eq. (1), *model* is eq. (4) with the measured gamma and *one* f and *one* Omega, fitted to
//! the whole sweep ([fitting](super::models)): `G = (1 + 1/gamma) / ((1 - f) + max(f + Omega, 1/gamma))`. Its *error*
//! is taken where it was not fitted: every other gamma is fitted and the rest predicted, then the other way round
//! (`model_error` with `median`, `p90`, `max`; at least four gammas, two on either side of 1/(f + Omega)). All are medians
//! of ratios within one repetition. A repetition in which other programs took the processor, or in which the same
//! calculation did not take the same time, is repeated within limits; what is left is said below the table.
//!
//! *Extension*: where the computing core itself moves the bytes, what a step loses goes with its traffic, not with its
//! calculation: [`Omega = omega_com t_com / t_calc`](lathide_models::fit::traffic). It is fitted beside eq. (4), with its own
//! held-out error (`extension`). On a kernel-shaped link of 1 Gbit/s (`--repeats 9`) eq. (4) misses by 4.7 % at half the
//! points and 9.4 % at nine of ten, the extension by 3.9 % and 5.6 %; at 200 Mbit/s (`--repeats 7`) eq. (4) by 1.4 % and 4.2 %,
//! at 100 Mbit/s by 3.8 % and 4.7 %.
//!
//! All three versions must give the same bits as the sequential calculation, or the command fails.
//!
//! # `lathide gain -- PROGRAM`
//!
//! Runs a program unchanged with `LATHIDE_OVERLAP=on` and `off`, in turns. G is the ratio of the times from the moment all
//! ranks have joined to the moment the last has left.
//!
//! # `lathide link`
//!
//! Two nodes, and a raw TCP connection of their own between the same two processes, through an emulated link of the
//! same kind if there is one. Everything is measured raw blocking, raw polled (the same calls on a socket that does not
//! block, again and again) and with lathide, in turns, the order reversed every other time; the first round warms up.
//! Ratios are those within a round. A first look at the link decides which sizes fit into `--seconds`, and how many
//! messages make a block. The raw reference has TCP_NODELAY, buffers made before the clock runs, whole-message calls
//! to and fro and 256 KiB calls in streams, and within a host the congestion control that lathide chooses there.
//!
//! - *One-way time*: half the round trip. *Penalty*: lathide's over raw TCP's (Strumpen's Fig. 19).
//! - *Bandwidth*, *message rate*: the receiver's clock, from when the first message is complete, so that how long a message
//!   travels does not count. Against the better of both raw ways.
//! - *Exchange*: a message each way, one after the other and at once (Fig. 20); at once also over one raw connection, where
//!   each direction goes on whenever it can. The slower node counts; both begin at the same moment, as far as the
//!   one-way time tells them.
//! - *Overlap* = 1 - (t_total - t_calc) / t_com for transfers behind a calculation of both nodes that takes 1.1 t_com: messages
//!   one way, the nodes writing in turns, and messages both ways at once. t_calc is measured before and after each time,
//!   on both nodes at once. *Effective*: processor time of lathide's own threads is added to t_total, as if they
//!   had to share the calculation's processor: a thread that spins hides nothing. *Available*: t_calc over the time of the
//!   same calculation while the transfer runs; also while the other node only transfers, so that on a host with as many
//!   cores as nodes one is free for the kernel's task.
//! - *Beside a long message*: 8 bytes to and fro until a long message to the same rank has left; quantiles.
//! - *Processor time*: both processes, all threads; per message to and fro, and per MiB of a stream.
//! - *Fragments* (Fig. 11): the size is a setting of a node, so each size has two nodes of its own, in turn there and back.
//! - *Hyperbolic*, and the segmented extension beside it: fitted to all repetitions but the fastest and the slowest fifth, at every power of two and, if there is
//!   time, at up to three sizes between each two from 64 B on (lathide alone). The errors are those at sizes that were
//!   left out of the fit, each size's median against the prediction, every size left out once. The sizes it is fitted to are
//!   measured in short blocks, up to four times a round. On loopback (`--repeats 9`, 52 s, 76 sizes) three runs missed by 2.4,
//!   4.0 and 35 % at half the sizes and 6.6, 8.9 and 92 % at nine of ten (the hyperbola alone: 11, 10 and 33 %; 19, 24 and 62 %):
//!   in the last one others took 22 % of the processors, as `others_share` said.
//! - *Cluster model*: two nodes of their own, then three, of which two send to rank 0. By the procedures of Tam and Wang, section 3.2,
//!   which the page on [fitting](super::models) lists:
//!
//!   | | experiment here |
//!   | --- | --- |
//!   | O_s | time in `initwrite` in a ping-pong; what is left to the kernel's thread is not in it |
//!   | g_s | streams of n and of 3 n messages of one sender, until rank 0 says that all has arrived: the difference |
//!   | g_r | from the first arrival to the last, of one sender and of two: the shorter gap counts |
//!   | O_r | processor time of a calculation alone and while messages arrive, and of the kernel's thread meanwhile |
//!   | U_r | time in `wait` for messages that have arrived |
//!   | L | half the round trip of one pair, less O_s + O_r + U_r; how it grows with more pairs is not measured |
//!   | M_ctc, M_ctm, M_mtm | copies between two stretches of 32 MiB: to and fro in one place, or ever further on |
//!   | B_L | not measured: the window for messages without a read (64 MiB), in packets |
//!
//!   A *packet* is a message of the longest size tried, at most 64 KiB: what `lathide predict gather` and `predict broadcast
//!   --model cluster` cut longer ones into. Where a difference drowns in noise (O_r, g_s) that size is left out, and
//!   `notes` says so.
//!
//! What other programs have of the processors meanwhile is said if it is more than a twentieth.
//!
//! # `lathide collectives`
//!
//! As many nodes as `-n` or `--ranks` says, on this host or on others (`--hosts`). Every operation has a job of its own, so its
//! own connections: what TCP's congestion control remembers of a gather, whose senders share the root's port, slows the
//! exchanges that come next by a third.
//!
//! First messages of 8 B to 4 KiB go around the ring, all at once, so that ranks share processors as in a collective, and
//! longer ones to and fro in pairs; [`Node::calibrate`](crate::Node::calibrate) makes a straight line `a + b x` of it. What a message
//! takes of a processor is what each more costs rank 0 to send to all others and to hear from them (LogP's overhead; among
//! two ranks it is assumed). By that every algorithm gets its price.
//!
//! Then all points are measured in turn, at least five times, the order reversed every other time; the first round warms up.
//! A point's time is that of the slowest rank. All begin at one moment, on which they agree after a barrier by the clock that a
//! host's processes share, or by one that is set from round trips between hosts: who leaves a barrier may do so a message's
//! way before others. Algorithms are forced by [`Node::override_algorithms`](crate::Node::override_algorithms). Bytes are those of the whole for
//! broadcast, reduce and allreduce, else of one rank's block (of alltoall, of each).
//!
//! - *Error*: predicted over measured, less 1. Summed up without its sign: median and 90th percentile per operation.
//! - *Chosen*: what the library takes with these parameters. *Of the fastest*: its time over that of the fastest
//!   algorithm measured. The choice is good up to 1.1. Where nothing is to be chosen, nothing counts.
//! - *Overlap* = 1 - (t_total - t_calc) / t_com of `initbroadcast`, `initallreduce` and `initallgather` behind a calculation of about
//!   1.1 t_com on all ranks, with the chosen algorithm, from 64 KiB to 1 MiB. t_calc is measured before and after each time, on
//!   all ranks at once, and set anew where it is not 1.1 t_com any more. With more ranks than cores they share them, which is said.
//!
//! `--link` gives each pair of ranks a path of its own, with its own delay and rate: a rank that sends to three others at
//! once has three times the rate. The model has one port per rank (rule 3), so over such a link it predicts too much
//! for `serial`, `simple` and whatever else sends to or receives from many at once.
//!
//! Which command repeats which figure (add `--link SPEC` for the link in question):
//!
//! | figure | command |
//! | --- | --- |
//! | Stoica, Sultan and Keyes, Fig. 11: broadcast by the binary tree, 11 ranks | `lathide collectives -n 11 --operations broadcast --algorithms binary` |
//! | Fig. 12: p4's own broadcast, a serial one | `lathide collectives -n 11 --operations broadcast --algorithms serial` |
//! | Fig. 14: neighbour exchange, 16 ranks, 4 neighbours each | not a collective of all ranks, so not measured; `lathide predict hyperbolic --neighbours 4` has its price |
//! | Tam and Wang, Fig. 2: broadcast of k messages one after the other | `lathide collectives --ranks 4,8,16 --operations broadcast --algorithms binomial`: one message that the tree may pipeline in segments |
//! | Fig. 4: gather by Algorithm 1, 1 KiB to 1 MiB | `lathide collectives --ranks 4,8,16 --operations gather --algorithms windowed/1 --bytes 1KiB,4KiB,16KiB,64KiB,256KiB,1MiB` |
//! | Fig. 5: it beside the simple gather | the same with `--algorithms simple,windowed/1,granted` |
//!
//! `--json`: `{link, machine, parameters: [{operation, ranks, a_s, b_s_per_byte, overhead_s, is_fitted}], points: [{operation, algorithm,
//! ranks, bytes, measured_s, measured_s_min, measured_s_max, predicted_s, error, chosen}], errors: {operation: {median,
//! p90, points}}, choice: {points, good, share}, overlap: [{operation, ranks, bytes, t_calc_s, t_com_s, t_total_s, overlap,
//! overlap_min, overlap_max, messages_t_com_s, messages_overlap, messages_overlap_min, messages_overlap_max}], repeats,
//! others_share, ...}`.
//!
//! Overlap is measured of blocks of calls one after the other, whose roots change from call to call, since one call after a pause
//! may pass a token bucket or a queue at once. Beside it stands that of *messages* point to point of as many bytes in the
//! same minute: from the root to the next rank where the collective has a root, else from each rank to the next.
//!
//! # `cargo bench --bench p2p`
//!
//! Two processes over loopback; raw TCP and lathide in turns, warm-up apart, medians with minimum and maximum of the
//! ratio. Raw TCP blocks, has TCP_NODELAY, writes and reads 256 KiB at a time, and is otherwise as the system makes it;
//! where the system's congestion control paces (BBR) that is much of the difference at 1 MiB and beyond. Buffers are
//! made before the clock runs. Loopback shows penalty and bandwidth; it cannot show overlap on two cores, since both
//! ends of the transfer are processor work there.
