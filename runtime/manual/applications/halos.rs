//! Deep halos: several ghost columns, and as many steps for each exchange (beyond Strumpen 1994, eq. (1)). The program is
//! `examples/stencil` with `--halo`.
//!
//! # Problem and method
//!
//! The explicit heat equation of the paper's section 2, on rows x columns points:
//!
//! ```text
//! X'[r,c] = r_x (X[r,c-1] + X[r,c+1]) + r_y (X[r-1,c] + X[r+1,c]) + (1 - 2 r_x - 2 r_y) X[r,c]
//! ```
//!
//! Where a message takes much longer than a step, hiding alone gains next to nothing: G is at most 1 + gamma for small gamma.
//! With k ghost columns on each side a rank exchanges k columns at once, and then calculates k steps. So k steps pay for one
//! start-up, and their whole calculation can hide the exchange. The price is calculating ghost columns, which the neighbour
//! calculates too.
//!
//! # Who owns what, and the messages
//!
//! Each rank has consecutive columns, at least k of them, and k ghost columns on each side that has a neighbour. In step j after
//! an exchange k - j ghost columns on each side can still be calculated.
//!
//! | message | bytes | per k steps and rank |
//! | --- | --- | --- |
//! | the k outermost own columns, to the neighbours | 8 k rows | 2 out, 2 in; 1 on the first and last rank |
//!
//! The first k steps need no exchange, since step 0 is known to all. The stencil names no regions.
//!
//! # What is hidden
//!
//! `--version i1` exchanges and then calculates k steps; nothing overlaps. `--version i3` posts the exchange, calculates in
//! step j the own columns that are more than j from a neighbour, waits, and then calculates the rest of all steps. Both send the
//! same messages, and calculate the same.
//!
//! # Beside the model
//!
//! For c columns, s sides with neighbours, and `t_com(k) = a + b x` for k columns ([`DeepHalo`](lathide_models::gain::DeepHalo)):
//!
//! ```text
//! I.1 with k columns, a step     t_calc (1 + s (k - 1)/(2 c)) + t_com(k)/k
//! I.3 with k columns, k steps    max(t_com(k), interior) + rest
//! interior of step j             (c - j s)/c t_calc
//! ```
//!
//! The two gains multiply: fewer exchanges, `T(I.1) / T(I.1, k)`, and hiding them, `T(I.1, k) / T(I.3, k)`. The bound
//! of both is `1 + 1/gamma`. The best k is about the least with which the interior of k steps takes as long as the exchange.
//! More are only more redundant calculation.
//!
//! | command | |
//! | --- | --- |
//! | `lathide predict gain --halo 1..64*2 --t-calc 2.5ms` | the model alone; a and b are options, or from `--from link.json` |
//! | `lathide gain --halo 1..64*2 --link wan` | two nodes measure I.1 and I.3 with each k, beside the model ([measuring](super::super::measuring)) |
//! | `lathide run -n 2 --link wan target/release/examples/stencil --rows 500 --columns 128 --steps 192 --halo 16` | the program |
//!
//! `lathide gain --halo` takes the prediction's numbers (t_calc, a, b) from measurements of their own, not from the runs that
//! are predicted. [Gain](super::super::models::gain) has runs of the program.
//!
//! # Check
//!
//! Rank 0 of the program compares all points with the sequential calculation, bit by bit. `lathide gain --halo` does so for each
//! k before it measures, and I.1 and I.3 must agree in each repetition.
//!
//! # Options of the program
//!
//! | option | |
//! | --- | --- |
//! | `--halo K` | ghost columns, at most as many as the narrowest strip has; without it the paper's versions, with one |
//! | `--rows`, `--columns`, `--steps` | 1000, 64, 50 |
//! | `--version V` | i1, i3; i2 without `--halo` only |
//!
//! # What it shows
//!
//! `lathide gain --halo 1..64*2 --link wan --rows 500 --gamma 0.1`, 25 ms one way, 50 Mbit/s, 2 ranks of 64 columns, t_calc 2.4 ms:
//!
//! | k | a step of I.3 in ms | predicted | error | G over I.1 | predicted | by fewer exchanges | by hiding |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | 1 | 25.93 | 26.54 | +2.3 % | 1.09 | 1.08 | 1.00 | 1.09 |
//! | 4 | 7.088 | 7.240 | +2.1 % | 3.99 | 3.97 | 3.06 | 1.31 |
//! | 8 | 4.075 | 4.146 | +1.7 % | 6.94 | 6.93 | 4.42 | 1.57 |
//! | 16 | 2.802 | 2.809 | +0.3 % | 10.09 | 10.23 | 5.61 | 1.80 |
//! | 32 | 2.842 | 2.781 | -2.2 % | 9.94 | 10.34 | 6.53 | 1.52 |
//! | 64 | 3.393 | 3.340 | -1.6 % | 8.33 | 8.60 | 6.42 | 1.30 |
//!
//! The gain passes 2, which no overlap alone can, and comes near its bound of 12.84, 1 + 1/gamma. The model has no fitted parameter: a,
//! b and t_calc were measured before, in the same run. The two gains multiply: fewer exchanges take the latency off most steps, hiding
//! takes what is left of it behind the interior of k steps. A run beside other programs had errors of 4 to 21 % at k of 16 and more,
//! with a warning.
