//! Flow in a cavity with a moving lid, by multigrid that is parallel in space and in time (Stoica, Sultan and Keyes 1994, section
//! 5.2, Figs 18 to 20; Horton). The program is `examples/cavity`.
//!
//! # Problem and method
//!
//! Incompressible flow in the unit square, with nu = 1/Re, on a staggered grid of n x n cells, with implicit time steps:
//!
//! ```text
//! u/dt + d(uu)/dx + d(uv)/dy - nu (d2u/dx2 + d2u/dy2) + dp/dx = u_old/dt      and the same for v
//! du/dx + dv/dy = 0
//! ```
//!
//! A *plane* is the fluid at one time. It is solved by V-cycles V(2, 2), full approximation storage, coarsening by two. A
//! smoothing sweep is SIMPLE: the linearised momentum equations for a change of velocity, then a Poisson equation for the change
//! of pressure, each by an incomplete factorisation without fill. Factors are of the rank's own strip: couplings across are dropped.
//!
//! `pt` planes are solved at once. After each V-cycle a plane sends its iterate to the next one, which takes it as u_old. At
//! convergence that is the sequential solution. Then the next group of `pt` planes follows.
//!
//! # Who owns what, and the messages
//!
//! Rank `plane px + strip` has a strip of `n/px` columns of a plane. Levels are as many as leave a strip two columns and the
//! cavity four cells: the coarsest has m = max(4, 2 px) cells per side, and `s = max(16, 3 m)` sweeps. For each cycle:
//!
//! | region | what for | bytes | per cycle and rank |
//! | --- | --- | --- | --- |
//! | `grid` | the iterate (G of Fig. 18), to the same strip of the next plane | 24 n^2/px | 1 out, 1 in; none from the last plane, none to the first |
//! | `edge` | columns (IL, IR of Fig. 18), to the strips on both sides | below | below |
//! | `sums` | the residual of each plane, over all ranks | 8 pt | 1 allreduce |
//! | `barrier` | synchronised only: before iterates are sent | 0 | 1 barrier |
//!
//! Messages of `edge` to each neighbour, on a level of k x k cells:
//!
//! | what | bytes | to | finest | between | coarsest |
//! | --- | --- | --- | --- | --- | --- |
//! | ghost cells of u, v and p | 24 k | both sides | 5 | 6 | s + 1 |
//! | change of u at the strip's edge, with its coefficient | 16 k | left | 4 | 4 | s |
//! | change of pressure in the last column | 8 k | right | 4 | 4 | s |
//! | residual of u, for restriction | 8 k | right | 1 | 1 | 0 |
//!
//! With n = 64 and px = 2 the left strip sends 76 messages of `edge` and receives 72, beside an iterate of 49 152 bytes. With px = 1
//! there are none of `edge`. A group but the first begins with a broadcast of the last plane's strips (region `start`).
//!
//! # What is hidden
//!
//! | message | behind |
//! | --- | --- |
//! | ghost cells | the left sides of the equations, and their matrices, in columns that need none; going up, the interpolation |
//! | change of u | the change of v |
//! | change of pressure | the correction in all columns but the first |
//! | residual of u | the coarse level's iterate |
//! | iterate | the left sides of the equations on the finest level; its read is posted when the cycle begins |
//! | residuals | the change of u in the first sweep of the next cycle |
//!
//! With `--lag 1` a plane takes an iterate that is a cycle older, and residuals decide on the end a cycle later. So a whole
//! cycle hides iterates and sums. The planes converge to the same flow, in more cycles: compare times of whole runs.
//!
//! # Check
//!
//! | `--check` | |
//! | --- | --- |
//! | `sequential` | one plane after another on one rank: velocities and pressures within ten times the tolerance |
//! | `ghia` | the steady flow at Re = 100: centre lines within 0.02 of the published ones (Ghia, Ghia and Shin 1982); `--lid steady` |
//!
//! All versions give the same bits for the same px, pt and lag: `fields` of the result is a hash of the last planes. Other strips
//! have other factors, so there flows differ within the tolerance.
//!
//! # Options
//!
//! | option | |
//! | --- | --- |
//! | `--px`, `--pt` | strips, and planes at once; their product is the number of ranks; 1 and 1 |
//! | `--n N` | cells per side; each strip a power of two of columns; 64 |
//! | `--planes K` | in all groups, a multiple of pt; pt |
//! | `--dt T`, `--reynolds R` | time step, `inf` for steady flow; 0.1 and 100 |
//! | `--lid L` | steady, or oscillating with a period of 4; oscillating |
//! | `--cycles K` or `--tolerance T` | V-cycles of each group; or until the residual's root mean square is T; 1e-6 |
//! | `--lag K` | 0 |
//! | `--version V` | native, synchronised, hidden; hidden |
//!
//! # Command
//!
//! ```text
//! lathide run -n 4 target/release/examples/cavity --px 2 --pt 2 --n 64 --planes 8 --check sequential
//! lathide study --hosts host0,host1,host2,host3 --sweep ranks=2,3,4 --sweep pt=2,3,4 --classes grid -- \
//!     target/release/examples/cavity --version {version} --pt {pt} --n 64 --cycles 10
//! lathide study --hosts host0,host1,host2,host3 -n 4 --sweep px=1,2,4 --sweep pt=4,2,1 -- \
//!     target/release/examples/cavity --version {version} --px {px} --pt {pt} --n 64 --cycles 10
//! ```
//!
//! The first is Fig. 19: time alone is parallel, and all planes but the last send. The second is Fig. 20, for 4 ranks:
//! as px grows there are more and shorter messages, and exchanges within a plane keep its ranks in step. The volume of `grid`
//! grows as n^2, as the calculation does: gamma does not grow with n there.
//!
//! The command for both figures, in a lab whose hosts send at 0.65 of their medium's rate as the paper's do (0.92 of 1.42 us per byte):
//!
//! ```text
//! lathide lab --hosts 12 --shared --rate 10mbit --host-rate 6.5mbit --delay 0.1ms -- bash
//! lathide link --hosts host0,…,host11 --pairs 1,2,4 --seconds 60 --json > link.json
//! lathide study --hosts host0,…,host11 --from link.json --classes grid --versions native,synchronised --seconds 170 \
//!     --sweep ranks=2,3,4,6,8,12 --sweep pt=2,3,4,6,8,12 -- \
//!     target/release/examples/cavity --version {version} --pt {pt} --n 128 --cycles 3
//! lathide study --hosts host0,…,host11 --from link.json --classes grid --versions native,synchronised --seconds 80 \
//!     --sweep ranks=4,8,8 --sweep px=2,2,4 --sweep pt=2,4,2 -- \
//!     target/release/examples/cavity --version {version} --px {px} --pt {pt} --n 256 --cycles 2
//! ```
//!
//! Fig. 19, T_s of a V-cycle's iterate of 393 216 bytes in ms:
//!
//! | p_t | no contention | full contention | native | synchronised | full over synchronised |
//! | --- | --- | --- | --- | --- | --- |
//! | 2 | 438 | 438 | 504 | 503 | -13 % |
//! | 3 | 438 | 714 | 613 | 615 | +16 % |
//! | 4 | 438 | 1070 | 920 | 928 | +15 % |
//! | 6 | 438 | 1784 | 1523 | 1488 | +20 % |
//! | 8 | 438 | 2498 | 2138 | 2124 | +18 % |
//! | 12 | 438 | 3925 | 3347 | 3411 | +15 % |
//!
//! Two planes have one sender, which its own card limits; from three on the medium does, and T_s grows with the senders: the bend
//! is there. The median error is 16 % (paper: within 17 %). With the number of senders that were observed (1 to 9.7) the native
//! version is predicted to -13 % at p_t = 2 and +4 to +6 % elsewhere. What is left is the queue in front of the medium: what is in it has
//! left the host.
//!
//! Fig. 20, T_s of a V-cycle in us, the paper's numbers first (8 SparcStations), then ours (n = 256):
//!
//! | p_x, p_t | no overlap | total overlap | native | synchronised |
//! | --- | --- | --- | --- | --- |
//! | 2, 2 | 925 480; 876 000 | 1 374 963; 1 427 000 | 1 137 562; 1 308 000 | 1 264 402; 1 312 000 |
//! | 2, 4 | 925 480; 876 000 | 3 162 490; 4 282 000 | 2 110 917; 3 601 000 | 2 616 590; 3 596 000 |
//! | 4, 2 | 509 125; 438 000 | 1 343 780; 1 427 000 | 1 158 536; 1 276 000 | 1 273 106; 1 239 000 |
//!
//! Total overlap against synchronised is 9, 19 and 15 % off (the paper's 9, 21 and 6 %). All runs: `benches/results/2026-11-24-applications.md`.
//!
//! Over 25 ms and 50 Mbit/s (1 x 4 ranks, n = 64, 20 cycles) hiding gained 1.01 with `--lag 0`, 2.48 with `--lag 1` and 3.04 with `--lag 2`, where
//! eqs. (1) and (4) say 1.03: with a lag the messages of several cycles are under way at a time, which these do not know of.
