//! Multigrid on massively parallel computers (Matheson, Tarjan 1993): account and misprints. The code is
//! [`lathide_models::multigrid`].
//!
//! # What it says
//!
//! One V-cycle, two sweeps down and one up, on 1000^2 or 1000^3 points, cut into P subdomains. Time is computation plus
//! communication; nothing overlaps. A message costs `fixed + variable * distance` cycles, and 4 cycles more per word where it
//! may have up to 1000 words. The distance is 0 (GAP), the logarithm of the Manhattan distance on the mesh of
//! processors (LOG), or that distance itself (Single Stage). A floating point operation takes 6 cycles.
//!
//! Its conclusions stand, and are still good advice: with a word per message the fixed cost decides everything; long messages
//! win back most of it in two dimensions and nearly all in three; once they do, the coarse grids limit the speed-up, and
//! there is a best P; the kind of network hardly matters.
//!
//! # Formulas
//!
//! The paper prints no operation and no message counts. They were identified from its tables: with
//! `1/E = 1 + c_f f + c_v v + c_0`, linear in the fixed cost f and the variable cost v, the rows of a table determine the
//! coefficients for each P, and closed forms with whole numbers meet them. With N points per side, `K = log2(P)/d` coarse
//! levels (at most one point per processor) and `s = N / P^(1/d)`:
//!
//! | | two dimensions | three dimensions |
//! | --- | --- | --- |
//! | serial, cycles | `6 * 26 N^2` | `6 * (8/7 * 34.5) N^3` |
//! | computation, cycles | `6 (26 N^2/P + 17 K)` | `6 ((8/7 * 34.5) N^3/P + 34 K)` |
//! | messages n_f, one word | `32 s + 12 K` | `56 s^2 + 28 K` |
//! | messages n_f, up to 1000 words | `64 ceil(s/1000) + 12 K` | `56 ceil(s^2/1000) + 28 K` |
//! | distance on fine grids: LOG | 0 | `(log2 P + 1)/6` |
//! | distance on fine grids: Single Stage | 1 | `P^(1/6)` |
//! | sum of distances on coarse grids: LOG | `K^2/2` | `K^2` |
//! | sum of distances on coarse grids: Single Stage | `2 sqrt(P)` | `2 sqrt(P)` |
//! | spooling, cycles | `4 * 32 s` | `4 * 56 s^2` |
//!
//! Communication is `n_f f + n_v v + spooling`, where n_v adds up the distances of all messages. `S = serial / (computation +
//! communication)`; `E = computation / (computation + communication)`, which is not S/P.
//!
//! All 116 printed speed-ups that are no misprints are met when rounded to 0.1. Of 92 such efficiencies, 87 are met when
//! truncated to the printed digits, 2 when rounded, and 3 are off by one in the last. Tables 10 and 11 (Single Stage against
//! LOG) are met too; the paper evidently computed Table 10's column for one word with the finite sum
//! `2 (sqrt(P) - P^(1/6))` of the coarse distances, everything else with its limit `2 sqrt(P)`. We take the limit.
//!
//! Not determined by anything printed: a common factor of all counts of a dimension, so absolute times are a
//! convention; how the counts divide into smoothing, residual and transfer between grids; 34 for the coarse operations
//! in three dimensions (33.5 to 34.5 all fit); long messages in two dimensions beyond one per edge; Single Stage in two
//! dimensions; F-cycles. The formulas assume P well above 1. For one processor ours has no communication.
//!
//! **The best P**, for two dimensions, long messages and the costs (2500, 200): "approximately 4900" in the text, 4963 by
//! the formulas (4962.98278, where the slope of the time is 0).
//!
//! # Misprints
//!
//! | table | fixed, variable | P | printed | ours | what happened |
//! | --- | --- | --- | --- | --- | --- |
//! | 2 | (100, 50) | 16384 | 2881.7 | 2674.2 | a digit; Table 3 agrees with ours |
//! | 2 | (5000, 0) | 256 | 19.5 | 14.4 | the row holds the values of (3600, 0) |
//! | 2 | (5000, 0) | 1024 | 39.3 | 28.6 | the same |
//! | 2 | (5000, 0) | 4096 | 74.4 | 53.8 | the same |
//! | 2 | (5000, 0) | 16384 | 128.6 | 92.8 | the same |
//! | 2 | (3600, 0) | 256 | 19.8 | 19.5 | computed with 6 instead of 12 messages per coarse level |
//! | 2 | (3600, 0) | 1024 | 40.4 | 39.3 | the same |
//! | 2 | (3600, 0) | 4096 | 79.3 | 74.4 | the same |
//! | 2 | (3600, 0) | 16384 | 147.0 | 128.6 | the same |
//! | 3 | (500, 200) | 16384 | 4.32 % | 4.33 % | a digit; Table 2 agrees with ours |
//! | 3 | (100, 50) | 4096 | 36.36 % | 36.26 % | a digit; Table 2 agrees with ours |
//! | 5 | (2500, 200) | 16384 | 5.26 % | 5.24 % | a digit; Table 4 agrees with ours |
//! | 5 | (1000, 0) | 16384 | 12.42 % | 14.24 % | digits exchanged; Table 4 agrees with ours |
//! | 8 | (500, 100) | 256 | 338.1 | 228.3 | impossible with 256 processors; its efficiency agrees with ours |
//! | 8 | (100, 50) | 256 | 446.1 | 246.1 | impossible; its efficiency agrees with ours |
//! | 8 | (100, 50) | 16384 | 3839.6 | 3829.6 | a digit |
//! | text | 100 cycles | | 3.3 us | 3.03 us | at 33 MHz; 3.3 us would be at 30 MHz |
//! | text | factor 6 from long messages | 256 to 1024 | at least 6 | 6.3, 5.7 | only for 256 processors and (2500, 200) |
//!
//! Tables 6 and 7 do not exist in the document.
