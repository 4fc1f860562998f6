//! Conjugate gradients three ways: plain, parCG and pipelined (Strumpen 1994, section 4.3, Fig. 24; de Sturler and van der Vorst;
//! Ghysels and Vanroose 2014). The program is `examples/krylov`.
//!
//! # Problem and method
//!
//! On the unit square, 0 on the boundary, with `--n` x `--n` points and `h = 1/(n + 1)`:
//!
//! ```text
//! -Laplace u = f,   u = (x - x^2) e^x (y - y^2) e^-y
//! 4 u[i,j] - u[i-1,j] - u[i+1,j] - u[i,j-1] - u[i,j+1] = h^2 f[i,j]
//! ```
//!
//! The preconditioner M is none, or ILU(0) of each rank's own part of the matrix (`--preconditioner ilu`). The solution is
//! `z = M^-1 r` in two halves: forward, `t = (D + L)^-1 r`, and backward.
//!
//! Each rank has consecutive rows. The three algorithms have the same iterates but for rounding, and differ in their sums:
//!
//! | | `cg` | `parcg` | `pipelined` |
//! | --- | --- | --- | --- |
//! | sums one after another | 2 | 2 | 1 |
//! | allreduces, of words | 2, of 1 and 2 | 3, of 1 | 1, of 3 |
//! | vectors updated | 3 | 3 | 8 |
//!
//! - Plain CG waits for `(p, Ap)`, and then for `(r, z)` and `(r, r)` together.
//! - parCG is plain CG in another order. `(r, z) = (t, D t)` is known after the first half of the preconditioner, so that sum
//!   travels during the second half.
//! - Pipelined CG has `(r, u)`, `(w, u)`, `(r, r)` in one sum, with `u = M^-1 r` and `w = A u` kept by recurrences. While it travels
//!   the rank calculates `m = M^-1 w` and `A m`. Rounding grows in the recurrences, so after every `--replace` iterations (50) they
//!   are replaced by what they stand for, with four products.
//!
//! # Messages
//!
//! | region | what for | bytes | per iteration and rank |
//! | --- | --- | --- | --- |
//! | `halo` | the neighbours' rows for a product with the matrix | 8 n | 2 out, 2 in; 1 on the first and last rank |
//! | `sums` | scalar products | 8 to 24 | 2, 3 or 1 allreduces, as above |
//! | `replacement` | pipelined: rows for the four products | 8 n | 4 exchanges in every 50th iteration |
//! | `barrier` | synchronised only: before each exchange and each sum | 0 | 3, 4 or 2 barriers |
//!
//! Neither size nor number of a rank's messages depends on the number of ranks, except what the sums' algorithm takes: the
//! latency of sums grows with p, and the work beside them shrinks. A pipelined iteration knows its residual one pass later, so
//! there is one pass of the region `iteration` more than iterations.
//!
//! # What is hidden
//!
//! | algorithm | message | behind |
//! | --- | --- | --- |
//! | all | rows | the product at rows that need no neighbour |
//! | cg | `(p, Ap)` | nothing |
//! | cg | `(r, z)`, `(r, r)` | the update of x |
//! | parcg | `(p, Ap)` | the update of x of the iteration before |
//! | parcg | `(r, r)` | both halves of the preconditioner |
//! | parcg | `(r, z)` | the second half |
//! | pipelined | the sum | the preconditioner, the product, and so the rows too |
//!
//! Without a preconditioner there are no halves, and parCG has little to hide its sums behind.
//!
//! # Beside the model
//!
//! Strumpen's section 4.3 expresses the model of de Sturler and van der Vorst by eq. (6), on a mesh of p processors:
//!
//! ```text
//! T(p)    = (9 + 4 n_z) t_fl N/p + 6 (t_s + 3 t_w) sqrt(p)
//! T_lh(p) = (9 + 2 n_z) t_fl N/p + max(2 n_z t_fl N/p + 24 (t_s + 3 t_w), 6 (t_s + 3 t_w) sqrt(p))
//! ```
//!
//! `lathide predict gain --cg` evaluates it ([gain](super::super::models::gain)). The term with the square root is sums along a mesh; this
//! program's sums go through a network in which every rank reaches every other one. So compare the course of G over p,
//! not the numbers: G is greatest where the work beside the sums is as long as these.
//!
//! # Check
//!
//! Rank 0 compares each iteration's residual with that of a textbook CG on one rank with the same preconditioner, within rounding
//! (pipelined: more of it), and the number of iterations that a tolerance takes (plus or minus one). The residual of the result is
//! calculated anew. Its distance from the analytic solution is bounded by `h^2` times fourth derivatives plus the residual's part.
//!
//! # Options
//!
//! | option | |
//! | --- | --- |
//! | `--algorithm A` | cg, parcg, pipelined; cg |
//! | `--preconditioner M` | none, ilu; none |
//! | `--n N` | points per side, at least one row for each rank; 100 |
//! | `--tolerance T` or `--iterations K` | the residual relative to the first, 1e-8; or so many |
//! | `--replace K` | pipelined only; 0 is never; 50 |
//! | `--version V` | native, synchronised, hidden; hidden |
//!
//! ILU needs fewer iterations than none, and the more ranks there are the more of the matrix it leaves out: compare versions
//! on the same number of ranks.
//!
//! # Command
//!
//! ```text
//! lathide run -n 4 target/release/examples/krylov --algorithm pipelined --preconditioner ilu --n 200
//! lathide study --hosts host0,host1,host2,host3 -n 4 --sweep algorithm=cg,parcg,pipelined -- \
//!     target/release/examples/krylov --version {version} --algorithm {algorithm} --preconditioner ilu --n 400 --iterations 200
//! ```
//!
//! G of `lathide study` is hidden over native of one algorithm. The gain of Fig. 24 is parCG hidden over plain CG native: the
//! quotient of `native_s` at `cg` and `hidden_s` at `parcg`.
//!
//! # What it shows
//!
//! 16 ranks on 16 hosts, 25 ms one way, 50 Mbit/s (`lathide lab --hosts 16 --delay 25ms --rate 50mbit`), n = 64, ILU, `--iterations 20`, so
//! little is calculated (gamma 0.001 to 0.002) and the number of times that ranks wait for one another decides:
//!
//! | algorithm | native, ms per iteration | hidden | G |
//! | --- | --- | --- | --- |
//! | cg | 238 | 238 | 1.00 |
//! | parcg | 343 | 240 | 1.43 |
//! | pipelined | 134 | 107 | 1.25 |
//!
//! Pipelined CG hidden gains 2.22 over plain CG native: one sum at a time instead of two, and the product behind it. parCG hidden equals
//! plain CG: its two of three sums that hide are those by which it has more. Eqs. (1) and (4) say 1.00 for all of them: they hide
//! communication behind calculation, and here messages hide behind other messages. With other numbers of ranks (`--link wan`, the same
//! arguments, 30 iterations) plain CG native over pipelined CG hidden was 2.97, 2.47, 2.32 and 2.27 for 2, 4, 8 and 16 ranks.
