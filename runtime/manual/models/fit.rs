//! Fitting the models to measurements. Code: [`lathide_models::fit`].
//!
//! # What all fits have in common
//!
//! - **Relative error.** A message of 8 bytes takes microseconds, one of 16 MiB milliseconds. The squares of
//!   `ln(measured / predicted)` (or of `predicted / measured - 1` where costs add up) are minimised, so each size
//!   counts.
//! - **Every size has the same weight**, however often it was measured. Sizes within a fifth of each other count as
//!   one.
//! - **Robust.** A fit starts from the least sum of *absolute* errors, which a few outliers (one sample in ten) do not
//!   move. It continues with Huber's weights: beyond 1.345 standard deviations the pull of a sample no longer grows. No
//!   sample is discarded, since the model may be wrong.
//! - **Cross-validated.** Each size is left out in turn (with more than 24 sizes, every 24th together), the others are
//!   fitted, and the fit predicts what was left out. `quality` is the median and the 90th percentile of those errors,
//!   and `held_out` has all of them. The split depends on the sizes only: the same samples give the same error. With
//!   two sizes nothing can be left out, and there is no quality.
//! - **No NaN.** Samples that are not times, fewer samples than parameters, or a single size are errors.
//!
//! Pass repetitions, not their medians: their agreement distinguishes a step from an outlier.
//!
//! # Hyperbolic
//!
//! [`hyperbolic::fit`] gives a and b of `T(x; a, b) = a^2/(a + b x) + b x` (Stoica, Sultan, Keyes, eq. (3)). The paper
//! reads a' and b' off the limits of tiny and huge messages (section 4, eq. (17)); here they come from all sizes. For
//! a_c and b_c there is [`contention`]. b is `a/p + m` in the packet form, eq. (1); [`Hyperbolic::beyond_packets_s_per_byte`] gives m.
//!
//! Limits: T dips below the straight line `a + b x`, to three quarters of it at `b x = a`. On a link where a message's
//! bytes queue once after a fixed delay (for example an emulated link of 1 ms and 1 Gbit/s), the straight line is
//! within a few percent, and the hyperbola is up to 25 % off near that size. On loopback the time jumps near 64 KiB
//! (buffers, wake-ups) and its slope rises beyond the caches; two parameters cannot describe that.
//!
//! `lathide link` prints the cross-validated error. On loopback (two cores, quiet machine, 76 sizes from 8 B to 16 MiB)
//! it was median 7.3 to 7.7 %, p90 16 to 22 % for the hyperbola; the paper has 15 to 17 %. The extension below had
//! median 2.3 to 3.8 %, p90 9.6 to 16 %. Part of that is noise: between two runs the median time of the *same* size
//! differed by 7.3 % (median) and 16 % (p90). On a busy machine no model helps, so look at the background load
//! (`background_load`) first. All runs are in `benches/results/2026-11-22-link.md`.
//!
//! # Contention
//!
//! [`contention::fit`] takes the times of n pairs at once for several n, one of them 1, and fits eq. (16) to all:
//! `a' = 2 a + n a_c`, `b' = max(b, n b_c)`. Each n has a line or hyperbola of its own first. Whether anything is shared
//! follows from long messages, compared with those of one pair in the same repetition; a_c is the slope of a' over n. Where no
//! n is slowed down, the result is a switched network with b_c = 0 and the bound b'(n)/n. (The paper's own form with two
//! measurements, [`Estimate`](lathide_models::hyperbolic::Estimate), refuses that case.) Pairs that pass one port have
//! `b' = max(b, k b_p)` with k pairs at the busiest port. The error is that of eq. (16) at sizes left out, for every n.
//!
//! [`flood::queue`] is Tam and Wang's B_L: of k bytes that arrive at A and depart at D, the part `D/A + B/k` is kept, eq. (4).
//!
//! # Segmented: an extension
//!
//! [`segmented::fit`] is not from a paper: continuous, piecewise linear, at most five knots, never falling. A Bayesian
//! information criterion determines the number of knots. Each knot must justify three parameters, so a straight line
//! has none ([`segmented::fit_with`] with 0 knots forces one). Two neighbouring knots make a step. The error is
//! cross-validated in the same way, with the knots chosen again without the size that is left out, so the two models
//! can be compared. The rules of reduction, broadcast and neighbour exchange still need a and b.
//!
//! A step between two sizes cannot be predicted when one of them is left out. Measure at least two, better four sizes
//! per doubling; otherwise the error reflects the gaps between sizes. (With powers of two only, the p90 on loopback was
//! 15 %.)
//!
//! # Gain
//!
//! [`gain::fit`] takes points `x = t_com / t_calc`, `G = t_i1 / t_i3`, one for each granularity, and gives the f and
//! Omega of Strumpen's eq. (4) with the best fit to all of them. Points with `x > f + Omega` determine f, the others
//! Omega. If no point determines one of them, it has its ideal value (f = 1, Omega = 0), and `f_points` or
//! `omega_points` is
//! 0. [`Phases::point`] makes a point from repetitions, by medians of ratios within a repetition. `lathide gain` takes
//!    its model column from this fit: *one* f and *one* Omega for the whole sweep, cross-validated by fits to every
//!    other granularity. It also measures f and Omega at each granularity directly, from the phases inside the step
//!    (`gain_phases`).
//!
//! # Cluster
//!
//! [`cluster`] has the procedures of Tam and Wang, section 3.2: each takes what its experiment measures and gives
//! `startup + slope * m`.
//!
//! | parameter | experiment | how it is evaluated |
//! | --- | --- | --- |
//! | O_s | time engaged in a send | directly |
//! | g_s | streams of at least two lengths per size | median slope of time against the number of messages, then over sizes |
//! | g_r | streams of one, two, ... senders to one receiver | median gap for each number, the least of them, then over sizes |
//! | O_r | a calculation alone, and while messages arrive | added time per message, median, then over sizes |
//! | U_r | the process's time after an arrival | directly |
//! | L | round trips with 2, 4, ... processors | half, less O_s + O_r + U_r; `l0 + l1 p + slope m max(1, p m/(A g_s(m)))` |
//! | M | copies | directly |
//!
//! The error of L is that of the whole one-way time, since L may be close to 0. The aggregate rate A of Table 1 (there
//! 90 bytes/us) is fitted if g_s is given, and kept only if it reduces the error by a seventh. B_L, the switch's
//! buffer, is found by flooding a network until it loses packets; under TCP these are sent again, and the system counts
//! them ([`flood`]). The row T_s of Table 1 is defined nowhere. `lathide link` runs these experiments; what it
//! does for each is on the page on [measuring](crate::manual::measuring).
//!
//! [`hyperbolic::fit`]: lathide_models::fit::hyperbolic::fit
//! [`Hyperbolic::beyond_packets_s_per_byte`]: lathide_models::fit::hyperbolic::Hyperbolic::beyond_packets_s_per_byte
//! [`contention`]: lathide_models::fit::contention
//! [`contention::fit`]: lathide_models::fit::contention::fit
//! [`flood`]: lathide_models::fit::flood
//! [`flood::queue`]: lathide_models::fit::flood::queue
//! [`segmented::fit`]: lathide_models::fit::segmented::fit
//! [`segmented::fit_with`]: lathide_models::fit::segmented::fit_with
//! [`gain::fit`]: lathide_models::fit::gain::fit
//! [`Phases::point`]: lathide_models::fit::gain::Phases::point
//! [`cluster`]: lathide_models::fit::cluster
