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
//! # `cargo bench --bench p2p`
//!
//! Two processes over loopback; raw TCP and lathide in turns, warm-up apart, medians with minimum and maximum of the
//! ratio. Raw TCP blocks, has TCP_NODELAY, writes and reads 256 KiB at a time, and is otherwise as the system makes it;
//! where the system's congestion control paces (BBR) that is much of the difference at 1 MiB and beyond. Buffers are
//! made before the clock runs. Loopback shows penalty and bandwidth; it cannot show overlap on two cores, since both
//! ends of the transfer are processor work there.
