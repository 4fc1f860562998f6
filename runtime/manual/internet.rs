//! The Internet experiment of Strumpen 1994 (section 4.2, Figs 21 and 22), repeated in a lab.
//!
//! The paper ran its stencil between Zurich and Cambridge, Massachusetts, with two lengths of message, T = 50 time
//! steps and socket buffers of 4 Kbyte: (a) 500 rows, 4000 bytes, less than the send buffer; (b) 1000 rows, 8000
//! bytes, more than it. In (a) the blocking send of I.2 and the latency hiding of I.3 gained alike, since the system
//! took the message whole. In (b) the blocking send went in two parts, and only I.3 gained.
//!
//! What follows is no Internet: two network namespaces on one machine, joined by a switch with the delay of a long
//! path ([`lab`](super::lab)). Within the lab TCP is that of this machine's kernel (BBR), so buffers, windows and
//! acknowledgements are real; there are no losses and no other traffic on the path.
//!
//! ```text
//! lathide lab --hosts 2 --delay 25ms --rate 50mbit -- \
//!     lathide gain --hosts host0,host1 --rows 500,1000 --steps 50 --gamma 0.5,1,2 --socket-buffer 8KiB,default
//! ```
//!
//! # Which buffer stands for the paper's
//!
//! Linux sets twice the size that is asked for and keeps about half of it for its own records, and its first window is
//! a multiple of the packet's 1448 bytes. So 4 KiB do not take 4000 bytes: an exchange of 500 rows over 25 ms takes 51
//! to 87 ms with 4 KiB, and 26 to 30 ms from 8 KiB on. An exchange of 1000 rows takes 115 to 129 ms with 4 KiB, 44 to
//! 70 ms with 8 KiB, and 27 to 30 ms with 16 KiB or more. **8 KiB are the case of the paper:** 500 rows pass whole,
//! 1000 rows in two parts. Larger buffers, and those that the system sizes itself (`default`), pass both.
//!
//! # Measured
//!
//! 2026-11-23, two cores that other programs used too (a load of 5 to 8; `disturbed` 0.6 to 1.5 at every point, so
//! that `t_calc` alone is longer than what a step spends on it). G of 25 ms: `--steps 10 --gamma 1 --repeats 5`,
//! median with least and greatest; of 50 ms: `--steps 50 --gamma 1 --repeats 2`; of 100 ms: the same, once.
//!
//! | delay | rows | buffers | beside | t_com | G I.2 | G I.3 |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 25 ms | 500 | 8 KiB | Fig. 21(a) | 27.2 ms | 1.70 (1.11 to 2.03) | 1.26 (1.15 to 1.58) |
//! | 25 ms | 500 | default | | 26.1 ms | 1.71 (1.21 to 2.08) | 1.46 (1.33 to 1.60) |
//! | 25 ms | 1000 | 8 KiB | Fig. 21(b) | 46.1 ms | 1.12 (1.08 to 1.28) | 1.12 (1.05 to 1.34) |
//! | 25 ms | 1000 | default | | 26.6 ms | 1.68 (1.06 to 1.82) | 1.84 (1.62 to 1.86) |
//! | 50 ms | 500 | 8 KiB | Fig. 21(a) | 52.5 ms | 1.48 (1.47 to 1.48) | 1.51 (1.48 to 1.54) |
//! | 50 ms | 500 | default | | 65.3 ms | 1.41 (0.90 to 1.92) | 0.83 (0.58 to 1.08) |
//! | 50 ms | 1000 | 8 KiB | Fig. 21(b) | 107 ms | 0.78 (0.50 to 1.06) | 1.22 (1.07 to 1.37) |
//! | 50 ms | 1000 | default | | 53.3 ms | 1.29 (1.21 to 1.38) | 1.78 (1.53 to 2.03) |
//! | 100 ms | 500 | 8 KiB | Fig. 21(a) | 105 ms | 1.47 | 1.48 |
//! | 100 ms | 500 | default | | 101 ms | 1.36 | 1.33 |
//! | 100 ms | 1000 | 8 KiB | Fig. 21(b) | 189 ms | 1.12 | 1.12 |
//! | 100 ms | 1000 | default | | 108 ms | 1.45 | 1.44 |
//!
//! What is beyond the noise:
//!
//! - A message that the buffers take whole is hidden by a blocking write as by I.3, as in Fig. 21(a). Where the two
//!   differ here, other programs make the difference: I.2 is no better than I.3.
//! - 8 KiB buffers double the exchange of 1000 rows and take most of the gain, with either version: G falls from about
//!   1.7 to 1.1 at 25 ms, and from 1.44 to 1.12 at 100 ms.
//! - That only I.3 gains in case (b), as in Fig. 21(b), is *not* shown: I.2 and I.3 had the same G at 25 and 100 ms,
//!   and what they had at 50 ms is disturbed. The paper simulated the blocking send by the `wait` calls of I.3 right
//!   after the transfer was posted; here a blocking write ends when the system has the message.
//! - A step of I.1 took 0.82 to 1.10 of one over the raw exchange, with buffers of the same size.
//!
//! The curves over gamma (0.5, 1 and 2, 25 ms, T = 50) and the times are in `benches/results/2026-11-23-internet.md`.
