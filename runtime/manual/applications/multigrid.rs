//! Multigrid for Poisson's equation in two and three dimensions (Matheson and Tarjan 1993). The program is `examples/multigrid`.
//!
//! # Problem and method
//!
//! On the unit square or cube, 0 on the boundary, with `--n` points per side and h = 1/n:
//!
//! ```text
//! -Laplace u = D pi^2 u0,   u0 = sin(pi x) sin(pi y) [sin(pi z)]
//! sweep: u' = (1 - w) u + w/(2 D) (h^2 f + sum of the 2 D neighbours),   w = 4/5 or 6/7 for D = 2 or 3
//! ```
//!
//! A cycle has two weighted Jacobi sweeps down and one up, full weighting, linear interpolation, and a grid of half as many points per
//! side on each level, down to one point. In an F-cycle (`--cycle f`) a V-cycle of each coarser level follows its F-cycle.
//!
//! # Who owns what, and the messages
//!
//! q x q or q x q x q ranks, q a power of two, have a square or cube of s = n/q points per side each, on every level the same
//! part of the whole. On the *coarse levels*, of q points and fewer per side, a rank has one point or none, and neighbours are
//! 1, 2, 4 ... ranks apart. There are K = log2 q of them; the last has one point that is no boundary, and no messages.
//!
//! | region | what for | bytes | per cycle and rank |
//! | --- | --- | --- | --- |
//! | `fine edges` | edges of levels on which ranks have several points | below | below |
//! | `coarse edges` | of the others | 8 | on each level 3 exchanges with 2 D neighbours, and those of restriction and interpolation |
//! | `sums` | the greatest residual, with `--tolerance` | 8 | 1 allreduce |
//! | `barrier` | synchronised only: before each exchange | 0 | as many as exchanges |
//!
//! Exchanges of an inner rank in one visit of a fine level of s points per side and rank:
//!
//! | exchange | how often | received, D = 2, in words | received, D = 3, in words |
//! | --- | --- | --- | --- |
//! | before sweeps and the residual | 4 on the finest level, else 3 | 4 of s | 6 of s^2 |
//! | before restriction | 1 | 2 of s, 1 of 1 | 3 of s^2, 3 of s, 1 of 1 |
//! | before interpolation | 1 | 2 of s/2, 1 of 1 | 3 of s^2/4, 3 of s/2, 1 of 1 |
//!
//! Where a cycle comes to a coarser level the solution there is 0, and its first sweep needs no edges. In an F-cycle the
//! level l, counted from 0, is visited l + 1 times. An edge of w words is `ceil(w/W)` messages, with W = `--message-words`.
//!
//! On coarse levels full weighting needs the points all around: a rank whose point is on the next grid too receives up to
//! 8 words (26 in three dimensions) in restriction, and sends as many in interpolation.
//!
//! # What is hidden
//!
//! Each exchange is hidden behind the same operation at points that need none of what is received: the sweep, residual,
//! restriction or interpolation. For a sweep with neighbours on all sides those are `(s - 2)^D` of `s^D` points. On coarse levels
//! there are none, so nothing is hidden there. The residual's sum travels from the sweeps down to the end of the cycle.
//!
//! # Beside the model
//!
//! The program counts operations, messages and words of the busiest rank of each level, and prints them beside the
//! counts that follow from the paper's tables ([multigrid](super::super::models::multigrid)):
//!
//! | | D = 2: program | paper | D = 3: program | paper |
//! | --- | --- | --- | --- | --- |
//! | operations for each point of the finest level | 41.7 | 26 | 46.0 | 39.4 |
//! | words for each point of an edge | 34 | 32 | 35 | 56 |
//!
//! Why they differ is in `examples/multigrid/model.rs`. With its own counts, the time of an operation on one rank, and the
//! costs of messages between ranks 0 and 1, it predicts speed-up and efficiency by the GAP model, in which every message
//! costs the same and nothing overlaps. A second prediction takes the messages of an exchange together.
//! The paper's machine is `lathide predict multigrid`.
//!
//! # Check
//!
//! Rank 0 makes the same cycles alone: all points must have the same bits, and the operations of each level must be as many. A cycle must
//! leave at most 0.3 of the residual (0.45 in three dimensions), and the error must be that of the discretisation,
//! `(pi h)^2 / 12`, beside what is left of the first one.
//!
//! # Options
//!
//! | option | |
//! | --- | --- |
//! | `--dims D` | 2 or 3; 1, 4, 16 ... or 1, 8, 64 ... ranks; 2 |
//! | `--n N` | points per side, a power of two; 256, or 32 in three dimensions |
//! | `--cycle C` | v, f; v |
//! | `--cycles K` or `--tolerance T` | 10; or until the residual is T times that of the first cycle |
//! | `--message-words W` | the longest message, 1 to 1000; 1000 |
//! | `--fixed S`, `--further S`, `--per-word S` | costs of messages in seconds, else measured |
//! | `--version V` | native, synchronised, hidden; hidden |
//!
//! # Command
//!
//! ```text
//! lathide run -n 4 target/release/examples/multigrid --n 512 --message-words 1000
//! lathide study --hosts host0,host1,host2,host3 -n 4 --sweep words=1,10,100,1000 -- \
//!     target/release/examples/multigrid --version {version} --message-words {words} --n 256
//! ```
//!
//! The paper's conclusion is to be seen in the sweep: with a word in each message its fixed cost decides everything, and long
//! messages win back most of it. Each level has nearly as many messages as the finest one, and a fourth or an eighth of the points
//! of the one before: gamma of a cycle is much less than that of its finest level.
//!
//! # What it shows
//!
//! 4 ranks in a lab of 0.2 ms and 50 Mbit/s, n = 256, V-cycle, five cycles:
//!
//! | words in a message | messages of a rank in a cycle | native, ms per cycle | hidden | G | eq. (1) | eq. (4) |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 1 | 2135 | 48.7 | 49.1 | 0.88 | 1.34 | 1.25 |
//! | 10 | 249 | 20.7 | 19.9 | 0.97 | 1.20 | 1.15 |
//! | 1000 | 61 | 16.1 | 16.3 | 1.01 | 1.08 | 1.05 |
//!
//! Long messages win back most of a cycle, as the paper says. Hiding gains nothing: four ranks share two cores, and what is left of a
//! cycle are the coarse levels, on which there is nothing to hide behind. The program itself prints its counts beside the paper's and the
//! times of the model: over 25 ms (`--link wan`, n = 2048, native) 1313 ms with the messages of an exchange together and 2626 ms with
//! every message alone, measured 1379 ms.
