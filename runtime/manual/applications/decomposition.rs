//! Domain decomposition: Poisson's equation by conjugate gradients with a wire-basket preconditioner (Stoica, Sultan and Keyes
//! 1994, section 5.1; Bramble, Pasciak and Schatz; Keyes and Gropp). The program is `examples/decomposition`.
//!
//! # Problem and method
//!
//! On the unit square, with u given on the boundary and five-point differences:
//!
//! ```text
//! -Laplace u = f,   u = sin(3 x + y) + x^2 y
//! 4 u[i,j] - u[i-1,j] - u[i+1,j] - u[i,j-1] - u[i,j+1] = h^2 f[i,j]
//! ```
//!
//! The square is cut into P = `--subdomains` squares of `--n` cells per side. Points are of three kinds: the interiors of
//! subdomains, the *edges* between two of them, and the *crosspoints* where edges meet. Edges and crosspoints are the *wire basket*.
//! The iteration is over all unknowns. The preconditioner `M^-1`:
//!
//! 1. solves the interiors, with 0 on the wire basket, by a fast sine transform: `n^2 log n` operations;
//! 2. solves the edges with `2 K^(1/2)`, K the one-dimensional Laplacian, and the crosspoints with the five-point
//!    matrix of the coarse grid, in full and on every rank;
//! 3. continues that into the interiors and solves these again.
//!
//! The condition number grows as `(1 + ln n)^2`, and not with P. The algorithm is Gropp's variant of conjugate gradients, in
//! which each of the two sums has work beside it:
//!
//! ```text
//! sum 1: delta = (p, s)       meanwhile  q = M^-1 s
//! alpha = gamma / delta       z = z - alpha q
//! A: edges of z leave         r = r - alpha s
//! sum 2: gamma' = (r, z)      meanwhile  x = x + alpha p,  w = A z
//! beta = gamma' / gamma       p = z + beta p,  s = w + beta s
//! ```
//!
//! # Who owns what, and the messages
//!
//! A subdomain owns its interior, its east and north edges, and the crosspoint at its north-east corner. Ranks have
//! consecutive subdomains, as many each as possible. Edges between subdomains of one rank are no messages. For one
//! subdomain on each rank, with neighbours on all sides, and C crosspoints, `C = (sqrt(P) - 1)^2`:
//!
//! | region | what for | bytes | per iteration and rank |
//! | --- | --- | --- | --- |
//! | `edge A` | the vector next to a common side, for the product with the matrix | 8 n | 4 out, 4 in |
//! | `edge B` | what an interior contributes to an edge's right side, to the owner (west, south) | 8 (n - 1) | 2 out, 2 in |
//! | `arms` | what an edge contributes to a crosspoint's right side, to its owner | 8 | 2 out, 2 in |
//! | `edge C` | the solution on an edge, to the other side (east, north) | 8 (n - 1) | 2 out, 2 in |
//! | `crosspoints` | the right side of each crosspoint, to all ranks | 8 | C broadcasts |
//! | `sums` | the two scalar products | 8 P | 2 allreduces |
//! | `barrier` | synchronised only: before A, B and C | 0 | 3 barriers |
//!
//! At the boundary of the square there are fewer. With 4 subdomains on 4 ranks, each rank has two neighbours, 2 messages of
//! A out and in, and there is one crosspoint.
//!
//! The paper's Fig. 15 has message types A, B and C; what each of ours carries follows from the algorithm of section
//! 5.1.1. A sum has a word for each subdomain instead of one, with 0 on all ranks but one. Every rank adds them up in
//! the same order, so the result has the same bits on any number of ranks.
//!
//! # What is hidden
//!
//! | message | behind |
//! | --- | --- |
//! | sum 1 | the whole preconditioner |
//! | B | the first half of the interiors' transform back |
//! | arms | the edges' solution, and half of the rows of the transform's second half |
//! | C | all of these rows |
//! | crosspoints | the other half of the rows |
//! | A | the updates of r and x, and the product at points that need no neighbour |
//! | sum 2 | the update of x, and the product |
//!
//! # Check
//!
//! The error is compared with the smooth solution. It is at most `82/96 h^2` for the equations plus what the residual still allows. The
//! residual of the recurrence and that of the solution must agree within 1e-10. All versions, on any number of ranks, print
//! the same checksum of all bits.
//!
//! # Options
//!
//! | option | |
//! | --- | --- |
//! | `--subdomains P` | a square number up to 256, at least one for each rank; 4 |
//! | `--n N` | cells per side of a subdomain, a power of two; at most 4096 per side in all; 64 |
//! | `--tolerance T` | of the residual, relative to the first; 1e-9 |
//! | `--iterations K` | exactly so many, beginning the solve anew whenever it has converged: for measuring |
//! | `--version V` | native, synchronised, hidden; hidden |
//!
//! # Command
//!
//! ```text
//! lathide run -n 4 target/release/examples/decomposition --subdomains 16 --n 64
//! lathide study --hosts host0,host1,host2,host3 -n 4 --sweep n=16..512*2 -- \
//!     target/release/examples/decomposition --version {version} --subdomains 4 --n {n} --iterations 50
//! ```
//!
//! The paper had 16 workstations, with a subdomain each and n from 16 to 512. T_s of all messages of an iteration is Fig. 16. T_r
//! of A, B and C in the synchronised version is Fig. 17: add `--versions native,synchronised --classes "edge A,edge B,edge C"`.
//! Volume grows as n and calculation as `n^2 log n`, so gamma grows with n. For small n most messages are short, and only
//! their start-up counts.
//!
//! # What it shows
//!
//! The paper's figures with 16 hosts, in labs whose hosts send at 0.65 of their medium's rate:
//!
//! ```text
//! lathide lab --hosts 16 --shared --rate 2mbit --host-rate 1.3mbit --delay 0.1ms -- bash
//! lathide study --hosts host0,…,host15 -n 16 --contention none --versions native,synchronised --sweep n=16..512*2 --seconds 300 -- \
//!     target/release/examples/decomposition --version {version} --subdomains 16 --n {n} --iterations 5
//! ```
//!
//! Fig. 16, T_s of all messages of an iteration in ms, native, predicted without contention (`--contention none`, as the paper
//! expects of the native version; the messages are shorter than the medium's queue, see [`measuring`](crate::manual::measuring)):
//!
//! | n | 16 | 32 | 64 | 128 | 256 | 512 |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | predicted | 16.3 | 21.8 | 28.8 | 45.7 | 79.8 | 147 |
//! | measured | 15.2 | 18.5 | 24.0 | 34.9 | 81.9 | 122 |
//! | error | +7 % | +18 % | +20 % | +31 % | -2 % | +20 % |
//!
//! The median error is 19 % (paper: about 20 % at most). It is not as flat as the paper's, whose start of a message costs as much as 600
//! bytes; here it costs about 100. At 10 Mbit/s, where two cores for 16 ranks count beside the medium, the median was 35 %.
//!
//! Fig. 17, T_r of A, B and C in ms, synchronised, all 16 ranks sending at once, in such a lab of 4 Mbit/s (hosts 2.6), with `--classes
//! "edge A,edge B,edge C"`; b_C was measured between four of its hosts:
//!
//! | n | 16 | 32 | 64 | 128 | 256 | 512 |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | predicted | 44.4 | 89.0 | 179 | 358 | 717 | 1435 |
//! | measured | 121 | 165 | 194 | 285 | 781 | 1311 |
//! | error | -63 % | -46 % | -8 % | +25 % | -8 % | +9 % |
//!
//! From n = 64 on the median is 9 %, over all six 17 % (paper: about 15 % at most). For small n the reads wait for ranks
//! that leave the barrier later than others, whose messages pass the same medium; the model has no barrier.
//!
//! Without a shared medium (the same lab without `--shared`, 10 Mbit/s) Fig. 16 has errors of -15, -4 and -13 % for n = 16, 64 and 256.
//!
//! Over 25 ms and 50 Mbit/s (16 hosts, 10 iterations) an iteration took 552 ms native and 231 ms hidden with n = 64, 561 and 232 ms with n =
//! 256: G = 2.4, where eqs. (1) and (4) say 1.01. They know of calculation only that hides communication; here four exchanges and
//! two sums that follow one another in the native version are under way at once.
