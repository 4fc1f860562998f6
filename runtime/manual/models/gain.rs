//! Gain (Strumpen): which equation is where, and where the paper is wrong.
//!
//! Volker Strumpen, *Communication latency hiding: model and implementation in high-latency computer networks*, ETH
//! Zürich, Technical Report 216, 1994. Module [`gain`](lathide_models::gain).
//!
//! | formula | place | function |
//! | --- | --- | --- |
//! | G, ideal and for a fraction f | eq. 1, section 2.1 | [`ideal`](lathide_models::gain::ideal), [`partial`](lathide_models::gain::partial) |
//! | S, S_lh | eq. 2 | [`speedup`](lathide_models::gain::speedup), [`speedup_hidden`](lathide_models::gain::speedup_hidden) |
//! | x = t_com / t_calc from q, startup, gamma_h, gamma_s | eqs. 4 and 5 | [`communication_ratio`](lathide_models::gain::communication_ratio) |
//! | G with Omega | eqs. 4 and 5 | [`with_overhead`](lathide_models::gain::with_overhead) |
//! | greatest G, and the gamma that has it | sections 2.1, 2.3.1 | [`maximum`](lathide_models::gain::maximum), [`maximum_partial`](lathide_models::gain::maximum_partial), [`best_gamma`](lathide_models::gain::best_gamma) |
//! | where a gain becomes a loss | sections 2.3.1, 2.3.2 | [`break_even_gamma`](lathide_models::gain::break_even_gamma) |
//! | granularities for a wanted G | section 2.3.1 | [`gamma_range_for_gain`](lathide_models::gain::gamma_range_for_gain), [`software_range_for_gain`](lathide_models::gain::software_range_for_gain) |
//! | which machine for a program | Examples 1 and 2 | [`best_machine`](lathide_models::gain::best_machine), [`Hardware`](lathide_models::gain::Hardware) |
//! | G, S, S_lh over p with lambda; best p | eq. 6, section 2.3.2 | [`Scaling`](lathide_models::gain::Scaling) |
//! | tasks that differ: gamma_j, G_j, and the job's G | section 2.2 | [`Task`](lathide_models::gain::Task), [`job`](lathide_models::gain::job) |
//! | CG and parCG | section 4.3, Fig. 24 | [`ConjugateGradient`](lathide_models::gain::ConjugateGradient) |
//! | several steps for each exchange | ours | [`DeepHalo`](lathide_models::gain::DeepHalo) |
//! | penalty of the protocol | section 4.1, Tables 1 and 2 | [`penalty`](lathide_models::gain::penalty) |
//!
//! # Tasks that differ
//!
//! The paper has `gamma_s,j` and `gamma_h,j` for each task and then studies equal ones. With uneven nodes or shares eq.
//! (4) holds for each task, with `x_j = t_com,j / t_calc,j`. The tasks exchange what their next step needs, so a step
//! of the job takes as long as that of the slowest, and
//!
//! `G = max_j (t_calc,j + t_com,j) / max_j ((1 - f) t_calc,j + max((f + Omega) t_calc,j, t_com,j))`
//!
//! which is neither the least nor the mean of the G_j: another task may be the slowest with hiding than without it.
//! (This is ours; the paper has no formula for a job.) `lathide predict gain --tasks 10ms:10ms,20ms:10ms` has the
//! t_calc and t_com of each task; `--tasks @FILE` reads them from a file, a task on each line (`10ms 5ms`, `#` begins a
//! comment).
//!
//! # An Omega that depends on p
//!
//! `lathide predict gain --cg` is Fig. 24: S of CG, S_lh of parCG and G over p. Its `Omega = 4 p b/a` grows with p, and
//! eq. (6) is for a constant one. G is greatest where `x = f + Omega`, `x = p sqrt(p) b/a`:
//!
//! | | p of the greatest G | G there |
//! | --- | --- | --- |
//! | as in the paper | 229 | 1.307 |
//! | eq. (6), Omega = 0 for every p (`--omega`) | 186 | 1.345 |
//!
//! With the Omega of p = 229 for every p, eq. (6) has its greatest G at 229 as well. S is greatest at p = 601, S_lh at
//! 453. `--unknowns`, `--t-fl`, `--t-s` and `--t-w` (or `--from link.json`) give a and b of another machine.
//!
//! # Deep halos
//!
//! Hiding gains 1 + gamma where gamma is small: next to nothing on a link whose delay is long. A strip with k ghost columns on each
//! side calculates k steps for each exchange of k columns, so k steps pay for one start-up, at the price of calculating some
//! columns twice; and the exchange hides behind the interior of k steps. Both gains multiply, up to 1 + 1/gamma:
//!
//! - without hiding a step takes `t_calc (1 + s (k - 1) / 2c) + t_com(k) / k`, with c columns, s sides that have neighbours, and
//!   `t_com(k) = a + b x` for k columns;
//! - with hiding k steps take `max(t_com(k), interior) + rest`; the interior of step j are `c - s j` columns.
//!
//! `lathide predict gain --halo 1..64 --t-calc 2.5ms` shows both gains for 25 ms one way, 50 Mbit/s and 500 rows, and the best k.
//! The program is `stencil --halo K`, with `--version i1` (not hidden) or `i3`. Two ranks with 64 columns each over that link
//! (`lathide run -n 2 --link wan target/release/examples/stencil --rows 500 --columns 128 --steps 192 --halo K`; t_calc
//! is about 25 us). The first k steps need no exchange, and the closing barrier takes another 25 ms:
//!
//! | k | run, measured | exchanges x t_com(k) + t_calc + barrier |
//! | --- | --- | --- |
//! | 1 (I.1, 96 steps) | 2.48 s | 2.49 s |
//! | 8 | 722 ms | 723 ms |
//! | 16 | 417 ms | 418 ms |
//! | 32 | 257 ms | 258 ms |
//! | 64 | 140 ms | 164 ms |
//!
//! The 256 kB of 64 columns are partly within the burst that the emulated link lets pass after a pause.
//!
//! # Misprints
//!
//! What is wrong as printed:
//!
//! | place | printed | ours | why |
//! | --- | --- | --- | --- |
//! | section 2, text under Fig 1 | L1 and L2 are communicated | L1 and R1 | these are the columns that are exchanged |
//! | section 2.3.1, Example 2 | H1 and H3 have G > 1 on the whole range | H3 = (10, 1) has G = 1 at gamma_s = 10 | (1 + 1) / max(1 + 1, 1) = 1; H1 alone qualifies |
//! | section 4.3 | G = T(p)/T_lh(p) = 1.307 | S_lh(p)/S(p) = 1.3068; T(p)/T_lh(p) = 1.3062 | the printed number is of speed-ups that each have their own time on one processor: T_lh(1) = a + 4 b, T(1) = a + b |
//! | section 4.3, lambda and Omega | T_w | t_w | the same symbol as in T(p) |
//!
//! What the paper does not print, and cannot be computed: the machine of section 4.3 (t_fl, N, t_s, t_w, n_z; its eight
//! numbers hold for n_z = 5 and a/b from 7357.7 to 7360.4 only, we take 7359), the parameters of the curves of Fig. 9,
//! and all measurements that are only drawn.
