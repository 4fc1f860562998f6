//! What the numbers mean and how they are taken.
//!
//! # `lathide gain`
//!
//! Two nodes run the explicit heat equation of Strumpen's section 2 with long columns (section 4.2): each step sends
//! 100 000 f64 each way. To vary the calculation without gigabytes, each point also carries a calibrated number of
//! explicit substeps of a linear cooling term. Per granularity, in turn and repeatedly:
//!
//! - `t_calc`: the calculation alone, both nodes at once; `t_com`: the exchange alone; gamma = t_calc / t_com;
//! - I.1: calculate, write, read. I.2: boundary, blocking write, interior, read. I.3: boundary, initread, initwrite,
//!   interior, wait, wait (section 3.2);
//! - f: the interior's part of t_calc. Omega: how much longer the interior and the posting calls take while the
//!   transfer runs, relative to t_calc; measured inside I.3, not taken from its total, so eq. (4) stays a prediction.
//!
//! G = T(I.1) / T(I.3). *Ideal* is eq. (1), *model* is eq. (4) with the measured gamma, f and Omega:
//! `G = (1 + 1/gamma) / ((1 - f) + max(f + Omega, 1/gamma))`. All are medians of ratios within one repetition. A repetition
//! in which other programs took the processor, or in which the same calculation did not take the same time, is
//! repeated within limits; what is left is said below the table.
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
//! - *Overlap* = 1 - (t_total - t_calc) / t_com for an exchange behind a calculation that takes 1.1 t_com; t_calc is measured
//!   before and after each time. *Effective*: processor time of lathide's own threads is added to t_total, as if they
//!   had to share the calculation's processor: a thread that spins hides nothing. *Available*: t_calc over the time of the
//!   same calculation while the exchange runs.
//! - *Beside a long message*: 8 bytes to and fro until a long message to the same rank has left; quantiles.
//! - *Processor time*: both processes, all threads; per message to and fro, and per MiB of a stream.
//! - *Fragments* (Fig. 11): the size is a setting of a node, so each size has two nodes of its own, in turn there and back.
//! - *Hyperbolic*: (a, b) with the least relative squares at every second size; the errors are those at the other sizes.
//!
//! What other programs have of the processors meanwhile is said if it is more than a twentieth.
//!
//! # `cargo bench --bench p2p`
//!
//! Two processes over loopback; raw TCP and lathide in turns, warm-up apart, medians with minimum and maximum of the
//! ratio. Raw TCP blocks, has TCP_NODELAY, writes and reads 256 KiB at a time, and is otherwise as the system makes it;
//! where the system's congestion control paces (BBR) that is much of the difference at 1 MiB and beyond. Buffers are
//! made before the clock runs. Loopback shows penalty and bandwidth; it cannot show overlap on two cores, since both
//! ends of the transfer are processor work there.
