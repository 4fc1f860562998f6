//! Decomposition and communication complexity: J. Hanuliak, *Modeling of communication complexity in parallel
//! computing*, American Journal of Networks and Communications 3 (5-1), 2014. Code: [`lathide_models::decomposition`].
//!
//! # Account
//!
//! A network has a start-up `t_s` per message and a time `t_w` per word ([`Channel`]). A process that updates its part
//! of an n x n matrix exchanges edges with its neighbours in every step:
//!
//! | cut | messages per step | time per step | function |
//! | --- | --- | --- | --- |
//! | strips (6.1) | 2 sent, 2 received | `4 (t_s + n t_w)` | [`Channel::strips_s`] |
//! | blocks (6.1.1), p >= 9 | 4 sent, 4 received | `8 (t_s + n t_w / sqrt(p))` | [`Channel::blocks_s`] |
//!
//! Strips take less, each condition being the same one solved for another quantity, if (6.1.2, 7.1.1)
//!
//! | | condition | function |
//! | --- | --- | --- |
//! | start-up | `t_s > n (1 - 2/sqrt(p)) t_w` | [`start_up_threshold_s`] (Table 1) |
//! | word | `t_w < t_s / (n (1 - 2/sqrt(p)))` | [`word_threshold_s`] (Table 2) |
//! | matrix | `n < t_s / (t_w (1 - 2/sqrt(p)))` | [`Channel::side_threshold`] |
//! | processes | `p < 4 / (1 - t_s/(n t_w))^2`, or any p if `t_s >= n t_w` | [`Channel::processes_threshold`] |
//! | p = n | `n < (1 + sqrt(1 + t_s/t_w))^2` | [`Channel::strips_up_to_side`] |
//!
//! The last three are not printed; they follow.
//!
//! On one shared medium (7.2.2) a broadcast of m words takes `m (t_s + t_w)` ([`Channel::broadcast_s`]), every other
//! collective `(p - 1) m (t_s + t_w)` ([`Channel::collective_s`]). There every word pays its own start-up; the forms
//! with one start-up per message have names of their own ([`Channel::broadcast_one_message_s`],
//! [`Channel::collective_one_message_s`]).
//!
//! Across networks (4.2) a step adds a start-up, `l_h` hops of `t_h` and its words ([`Channel::cut_through_s`],
//! [`Channel::store_and_forward_s`], summed in [`Channel::across_s`]). Isoefficiency (5) is `max(T_comp, h)`
//! ([`isoefficiency_s`]).
//!
//! # Hops
//!
//! The paper leaves `l_h` to the network ("depend from a concrete architecture"). [`Topology`] has it for those of its
//! list (3) in which each node is on a route: between the two nodes farthest from each other, and on average over all
//! pairs (p nodes, as r rows and c columns where it is a mesh or torus; r and c are the factors of p nearest to each
//! other):
//!
//! | network | most | mean, times p - 1 |
//! | --- | --- | --- |
//! | bus, crossbar | 1 | p - 1 |
//! | hypercube, p = 2^d | d | d p/2 |
//! | torus | floor(r/2) + floor(c/2) | c floor(r^2/4) + r floor(c^2/4) |
//! | mesh | r + c - 2 | c (r^2 - 1)/3 + r (c^2 - 1)/3 |
//! | ring | floor(p/2) | floor(p^2/4) |
//!
//! `lathide predict hops` says what a message takes across them. Both times are linear in l_h, so the time of the mean
//! is the mean of the times. It is a model without contention: on a bus all share the one hop.
//!
//! # Isoefficiency
//!
//! With `T = T_comp + h` the [`efficiency`] is `E = T_comp / (T_comp + h)`, so `T_comp = E/(1 - E) h`. `T_comp` is `n^2
//! t_c / p` (4.1), and h grows with n as the edges do (6.1); [`Channel::side_for_efficiency`] solves that for the least
//! whole n. The work `W = n^2` then grows as p with blocks and, once edges count, as p^2 with strips. From E = 1/2 on
//! the paper's `w = max(T_comp, h)` is T_comp. `lathide predict isoefficiency` has both as a table and a curve over p.
//!
//! # Shares
//!
//! T_syn goes away where each node has as much as it can do in the time (5): [`shares`] gives whole rows or blocks to
//! nodes of measured speeds, so that the last of them ends as early as it can. (Every further unit goes to the node
//! that ends first with it, which no other way of giving out whole units beats.) `lathide predict decomposition
//! --speeds 1,1,2` has them beside equal shares; with `--t-c` in seconds, with the exchange of edges: one per node for
//! rows, one per block for blocks (`--tiles`), an upper bound, since blocks of one node need no network.
//!
//! # Domain
//!
//! Blocks need p >= 9, or no block has four neighbours: fewer are an error, as are an empty matrix, no process, and times
//! that are negative or no numbers. p need not be a square: the paper's own tables have p = 512. A model without
//! contention: all neighbours' messages pass one after another, and nothing else uses the network.
//!
//! # Misprints
//!
//! | where | printed | right | our value |
//! | --- | --- | --- | --- |
//! | 3.3.2.1 | `T_interact = t_s + m t_c` | `t_s + m t_w`, `t_w = 1/r_inf` | [`Channel::message_s`], [`Channel::of_rate`] |
//! | 3.3.2.3 | LogP with acknowledgement `2L 2 + o` | `2 L + 4 o` | two messages of `L + 2 o` |
//! | 4.2 | hop term `t_s + m t_w l_h t_h`, a time plus a time squared | `t_s + l_h t_h + m t_w` | 7100 for (m, t_s, t_w, l_h, t_h) = (1000, 1500, 5, 3, 200); printed form 3 001 500 ([`hop_as_printed`]) |
//! | 5 | `max(T_comp, h) < T_comp` | `= T_comp` where `h <= T_comp` | [`isoefficiency_s`] |
//! | 6.1.2 | `t_w > n (1 - 2/sqrt(p)) t_s` | `t_w < t_s / (n (1 - 2/sqrt(p)))` | [`word_threshold_s`] |
//! | 6.1.2 | strips are better on Ethernet (1500, 5) | only for n < 337 if p = n | 336.70 |
//! | 7.2.2 | `m (t_s + t_w)` | for one message `t_s + m t_w` | both, by name |
//!
//! Table 1 (n = 256 was computed with the factors 220 and 222 in place of 224, n = 512 partly with 446.75 in place of
//! 466.745), in us:
//!
//! | t_w | n | printed | our value |
//! | --- | --- | --- | --- |
//! | 0.23 | 256 | 50.60 | 51.52 |
//! | 0.44 | 256 | 97.68 | 98.56 |
//! | 0.54 | 256 | 119.88 | 120.96 |
//! | 1.1 | 256 | 244.20 | 246.40 |
//! | 2.4 | 256 | 532.80 | 537.60 |
//! | 5 | 256 | 1110.00 | 1120.00 |
//! | 2.4 | 512 | 1072.2 | 1120.19 |
//! | 5 | 512 | 2233.7 | 2333.73 |
//!
//! Table 2: t_s = 35, n = 256 is printed as 0.0156 us; it is 0.15625.
//!
//! # What cannot be reproduced
//!
//! Figures 9, 16, 17 and 18 are curves drawn from the two tables, without further numbers.
//!
//! [`Channel`]: lathide_models::decomposition::Channel
//! [`Channel::strips_s`]: lathide_models::decomposition::Channel::strips_s
//! [`Channel::blocks_s`]: lathide_models::decomposition::Channel::blocks_s
//! [`Channel::side_threshold`]: lathide_models::decomposition::Channel::side_threshold
//! [`Channel::processes_threshold`]: lathide_models::decomposition::Channel::processes_threshold
//! [`Channel::strips_up_to_side`]: lathide_models::decomposition::Channel::strips_up_to_side
//! [`Channel::broadcast_s`]: lathide_models::decomposition::Channel::broadcast_s
//! [`Channel::collective_s`]: lathide_models::decomposition::Channel::collective_s
//! [`Channel::broadcast_one_message_s`]: lathide_models::decomposition::Channel::broadcast_one_message_s
//! [`Channel::collective_one_message_s`]: lathide_models::decomposition::Channel::collective_one_message_s
//! [`Channel::cut_through_s`]: lathide_models::decomposition::Channel::cut_through_s
//! [`Channel::store_and_forward_s`]: lathide_models::decomposition::Channel::store_and_forward_s
//! [`Channel::across_s`]: lathide_models::decomposition::Channel::across_s
//! [`Channel::message_s`]: lathide_models::decomposition::Channel::message_s
//! [`Channel::of_rate`]: lathide_models::decomposition::Channel::of_rate
//! [`start_up_threshold_s`]: lathide_models::decomposition::start_up_threshold_s
//! [`word_threshold_s`]: lathide_models::decomposition::word_threshold_s
//! [`Channel::side_for_efficiency`]: lathide_models::decomposition::Channel::side_for_efficiency
//! [`Topology`]: lathide_models::decomposition::Topology
//! [`efficiency`]: lathide_models::decomposition::efficiency()
//! [`shares`]: lathide_models::decomposition::shares()
//! [`isoefficiency_s`]: lathide_models::decomposition::isoefficiency_s
//! [`hop_as_printed`]: lathide_models::decomposition::hop_as_printed
