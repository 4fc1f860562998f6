//! Which equation of which paper is where, and where the papers are wrong.
//!
//! Each model is a module of [`model`](crate::model): plain functions of plain numbers. The papers' own numbers are in
//! `tests/golden`, and the tests meet every one of them: 1e-9 to the formula's value, and the printed value within
//! what its digits allow. A misprint is in there as such: a model that gives the misprint fails.
//!
//! # Gain
//!
//! Volker Strumpen, *Communication latency hiding: model and implementation in high-latency computer networks*, ETH
//! Zürich, Technical Report 216, 1994. Module [`gain`](crate::model::gain).
//!
//! | formula | place | function |
//! | --- | --- | --- |
//! | G, ideal and for a fraction f | eq. 1, section 2.1 | [`ideal`](crate::model::gain::ideal), [`partial`](crate::model::gain::partial) |
//! | S, S_lh | eq. 2 | [`speedup`](crate::model::gain::speedup), [`speedup_hidden`](crate::model::gain::speedup_hidden) |
//! | x = t_com / t_calc from q, startup, gamma_h, gamma_s | eqs. 4 and 5 | [`communication_ratio`](crate::model::gain::communication_ratio) |
//! | G with Omega | eqs. 4 and 5 | [`with_overhead`](crate::model::gain::with_overhead) |
//! | greatest G, and the gamma that has it | sections 2.1, 2.3.1 | [`maximum`](crate::model::gain::maximum), [`maximum_partial`](crate::model::gain::maximum_partial), [`best_gamma`](crate::model::gain::best_gamma) |
//! | where a gain becomes a loss | sections 2.3.1, 2.3.2 | [`break_even_gamma`](crate::model::gain::break_even_gamma) |
//! | granularities for a wanted G | section 2.3.1 | [`gamma_range_for_gain`](crate::model::gain::gamma_range_for_gain), [`software_range_for_gain`](crate::model::gain::software_range_for_gain) |
//! | which machine for a program | Examples 1 and 2 | [`best_machine`](crate::model::gain::best_machine), [`Machine`](crate::model::gain::Machine) |
//! | G, S, S_lh over p with lambda; best p | eq. 6, section 2.3.2 | [`Scaling`](crate::model::gain::Scaling) |
//! | CG and parCG | section 4.3 | [`ConjugateGradient`](crate::model::gain::ConjugateGradient) |
//! | penalty of the protocol | section 4.1, Tables 1 and 2 | [`penalty`](crate::model::gain::penalty) |
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
//!
//! # Hyperbolic
//!
//! Ion Stoica, Florin Sultan, David Keyes, *A simple hyperbolic model for communication in parallel processing
//! environments*, ICASE Report 94-78, 1994. Modules [`hyperbolic`](crate::model::hyperbolic) and
//! [`logp`](crate::model::logp).
//!
//! | formula | place | function |
//! | --- | --- | --- |
//! | t(x; a, m, p), b = a/p + m | eqs. 1 to 3 | [`Packets`](crate::model::hyperbolic::Packets) |
//! | T(x; a, b), a + b x | eqs. 3, 4 and 15 | [`Block`](crate::model::hyperbolic::Block) |
//! | first packet dearer | end of section 2 | [`Wormhole`](crate::model::hyperbolic::Wormhole) |
//! | rules 1 to 4 | eqs. 5 to 15 | [`serial`](crate::model::hyperbolic::serial), [`parallel`](crate::model::hyperbolic::parallel), [`concurrent`](crate::model::hyperbolic::concurrent), [`general`](crate::model::hyperbolic::general) |
//! | communication graphs | section 2, Figs. 1 and 7 | [`Graph`](crate::model::hyperbolic::Graph) |
//! | T_c, T_s, T_r | section 2.5, Fig. 8 | [`Path`](crate::model::hyperbolic::Path) |
//! | machine model, broadcast, global operation, neighbours | section 3 | [`Network`](crate::model::hyperbolic::Network) |
//! | parameters from pairs | eqs. 16 and 17 | [`Network::pairs`](crate::model::hyperbolic::Network::pairs), [`Estimate`](crate::model::hyperbolic::Estimate) |
//! | LogP and its bounds | section 6, eqs. 18 and 19 | [`LogP`](crate::model::logp::LogP), [`ratio`](crate::model::logp::ratio), [`sending_ratio`](crate::model::logp::sending_ratio) |
//!
//! What is wrong as printed:
//!
//! | place | printed | ours | why |
//! | --- | --- | --- | --- |
//! | section 2.1, example after rule 1 | m = max(b_a + b_os, b_c) | b = max(b_a + b_os, b_c) | m belongs to packets; a reduced block has a and b |
//! | section 2.3, eq 13 | T(x_i; a, b) | T(x_i; a', b') | the right side has a' = n a and b' = b X / x_i |
//! | section 2.3, eq 14 | b_i = b sum_i(x_i) / x_i | b_i = b sum_j(x_j) / x_i | the index of the sum is the free one |
//! | section 2.5, last paragraph on T_r | large messages, preemptive: T_r = T_c | not preemptive: T_CBn <= T_r <= T_c; preemptive: T_CBn | so in Fig. 8 and in the sentence before |
//! | section 3.3 | b = max(K N b_C, b_W) | as printed in `neighbours`; max(K N b_C, K b_W) in `neighbours_by_rule_3` | rule 3 scales the workstation's b as it scales its a; they differ where N b_C < b_W, not in Fig. 14 |
//! | section 4, after the parameters | 1/b_c is about 10 percent below the peak of Ethernet | 13.0 percent | 1/0.92 = 1.087 against 1.25 byte/us |
//!
//! Where the paper is silent, we read it so: a message of 0 bytes has no packets (eq. 1 then gives 0, the limit is a);
//! the sender waits for a rendezvous, so that its time counts in T_s; in the global operation a process takes its
//! children's messages in the order in which they arrive, which alone gives the printed 19 a_W; with one process, or
//! without neighbours, nothing is sent and nothing takes time; a_L, which is not given, is 0 for the SparcStations.
//! A graph whose ways are neither in series nor parallel, or whose blocks share a processor across branches, is refused:
//! the paper has no rule for it but to find both limits by other means (rule 4).
//!
//! What cannot be computed: the measured points, regression coefficients and greatest errors of the figures, and the
//! predictions of Fig. 20. The latter need the messages of the multigrid code; one class of contending messages
//! cannot give them (its ratio of full to no overlap is 1.486, where two senders reach at most 1.296).
