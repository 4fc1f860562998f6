//! Laplace's equation by Jacobi's iteration, on strips or blocks (Hanuliak 2014, sections 6 and 6.1). The program is
//! `examples/laplace`.
//!
//! # Problem and method
//!
//! On the unit square, `--n` x `--n` points, with the boundary values of a harmonic function, from 0:
//!
//! ```text
//! Laplace u = 0,   u = x^3 - 3 x y^2
//! X'[i,j] = (X[i-1,j] + X[i+1,j] + X[i,j-1] + X[i,j+1]) / 4
//! ```
//!
//! It ends when no point changes by `--epsilon` any more, or after a number of iterations. Five points are exact for polynomials of third
//! degree, so the iteration converges to u itself.
//!
//! # Who owns what, and the messages
//!
//! `--decomposition strips` gives each rank consecutive rows. `blocks` gives it a rectangle, as square as p allows. For p strips,
//! or `q x q` blocks:
//!
//! | region | what for | bytes | per iteration and rank |
//! | --- | --- | --- | --- |
//! | `halo`, strips | the neighbours' rows | 8 n | 2 out, 2 in |
//! | `halo`, blocks | the neighbours' rows and columns | 8 n/q | 4 out, 4 in |
//! | `change` | the greatest change of all points; without `--iterations` | 8 | 1 allreduce |
//! | `barrier` | synchronised only: before `halo` and before `change` | 0 | 2 barriers; 1 with `--iterations` |
//!
//! At the boundary there are fewer: the first and the last strip have one neighbour, and of 2 x 2 blocks each has two.
//!
//! Columns are no contiguous memory: edges are [sections](crate::Section) that
//! [`exchange_sections`](crate::Group::exchange_sections) packs and unpacks.
//!
//! # Beside the model
//!
//! In one step, messages sent and received one after another (6.1, 6.1.1):
//!
//! ```text
//! strips  4 (t_s + n t_w)
//! blocks  8 (t_s + n t_w / sqrt(p)),   p >= 9
//! ```
//!
//! So strips are better if `t_s > n (1 - 2/sqrt(p)) t_w` (6.1.2). `lathide predict decomposition --n N --procs P --from link.json`
//! says on which side of that a link is ([decomposition](super::super::models::decomposition)). In the program all messages of an
//! exchange are under way at once, in both directions. Then t_s counts once where the network, and not the processor, takes
//! it: a measured exchange may be shorter than either formula, and blocks may be better where the formula says strips.
//!
//! # What is hidden
//!
//! | message | behind |
//! | --- | --- |
//! | rows and columns | the points that need no neighbour |
//! | the greatest change | the next iteration, which is in vain if the one before was the last |
//!
//! # Check
//!
//! Rank 0 makes the same iterations alone: all points must have the same bits, and the iteration must have ended when it should (one
//! later in the hidden version). The error's Euclidean norm is at most `cos(pi / (n + 1))^k` times the first after k iterations.
//!
//! # Options
//!
//! | option | |
//! | --- | --- |
//! | `--decomposition D` | strips, blocks; strips |
//! | `--shares S` | `equal` rows, or by `speed`: in proportion to what each rank calculates in 0.4 s, all at once (strips only) |
//! | `--n N` | points per side; 100 |
//! | `--epsilon E` or `--iterations K` | 1e-5; or so many |
//! | `--version V` | native, synchronised, hidden; hidden |
//!
//! `--shares speed` is the paper's measure against load imbalance: measure each node's performance, and redistribute the rows.
//!
//! # Command
//!
//! ```text
//! lathide run -n 4 target/release/examples/laplace --decomposition blocks --n 400
//! lathide study --hosts host0,host1,host2,host3 -n 4 --sweep decomposition=strips,blocks -- \
//!     target/release/examples/laplace --version {version} --decomposition {decomposition} --n 1000 --iterations 200
//! ```
//!
//! `halo` is a collective, so `lathide study` does not time what it receives: T_s and G are compared, T_r is not.
//!
//! # What it shows
//!
//! Strips and blocks of 9 ranks in a lab (`lathide lab --hosts 9 --rate 5mbit --delay 0.2ms`), native, 100 iterations, median of three
//! runs, in ms for an iteration:
//!
//! | n | 12 | 24 | 36 | 48 | 60 | 90 | 180 | 360 |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | strips | 1.20 | 1.50 | 1.72 | 2.16 | 2.42 | 3.15 | 6.83 | 12.1 |
//! | blocks | 1.40 | 1.71 | 1.84 | 2.18 | 2.31 | 3.47 | 4.53 | 7.90 |
//!
//! Blocks are better from some n between 50 and 100 on. `lathide predict decomposition --procs 9` with t_s = 521 us and t_w = 14.7 us, as
//! `lathide link` measured them there, says 106. Its times of a step are about twice the measured ones: section 6.1 adds up all messages
//! of a rank, in both directions, and here they travel at the same time. Where latency is all, the model is far off: at 1 ms and
//! 50 Mbit/s it says 2344, and blocks were better at 300.
//!
//! Shares by measured speed, two hosts of a lab of which the second was stopped for 30 of every 45 ms (SIGSTOP and SIGCONT, as `cpulimit`
//! does), n = 1500, 300 iterations: 12.8, 22.0 and 7.8 ms with equal shares, 10.4, 10.1 and 6.7 ms with `--shares speed`, whose
//! rows were 863 and 637, 1021 and 479, 1069 and 431.
