//! Hyperbolic (Stoica, Sultan, Keyes) and LogP: which equation is where, and where the paper is wrong.
//!
//! Ion Stoica, Florin Sultan, David Keyes, *A simple hyperbolic model for communication in parallel processing
//! environments*, ICASE Report 94-78, 1994. Modules [`hyperbolic`](lathide_models::hyperbolic) and
//! [`logp`](lathide_models::logp).
//!
//! | formula | place | function |
//! | --- | --- | --- |
//! | t(x; a, m, p), b = a/p + m | eqs. 1 to 3 | [`Packets`](lathide_models::hyperbolic::Packets) |
//! | T(x; a, b), a + b x | eqs. 3, 4 and 15 | [`Block`](lathide_models::hyperbolic::Block) |
//! | first packet dearer | end of section 2 | [`Wormhole`](lathide_models::hyperbolic::Wormhole) |
//! | rules 1 to 4 | eqs. 5 to 15 | [`serial`](lathide_models::hyperbolic::serial), [`parallel`](lathide_models::hyperbolic::parallel), [`concurrent`](lathide_models::hyperbolic::concurrent), [`general`](lathide_models::hyperbolic::general) |
//! | communication graphs, and what is left of one for a message | section 2, Figs. 1 and 7 | [`Graph`](lathide_models::hyperbolic::Graph), [`Stage`](lathide_models::hyperbolic::Stage) |
//! | T_c, T_s, T_r | section 2.5, Fig. 8 | [`Path`](lathide_models::hyperbolic::Path) |
//! | machine model, broadcast, global operation, neighbours | section 3 | [`Network`](lathide_models::hyperbolic::Network) |
//! | an inventory of messages, n senders at once | sections 2.5 and 5.2.2 | [`Prices`](lathide_models::hyperbolic::Prices) |
//! | parameters from pairs | eqs. 16 and 17 | [`Network::pairs`](lathide_models::hyperbolic::Network::pairs), [`Estimate`](lathide_models::hyperbolic::Estimate); from measurements, [`contention`](lathide_models::fit::contention) |
//! | LogP and its bounds | section 6, eqs. 18 and 19 | [`LogP`](lathide_models::logp::LogP), [`ratio`](lathide_models::logp::ratio), [`sending_ratio`](lathide_models::logp::sending_ratio) |
//!
//! # Graphs in a file
//!
//! `lathide predict graph FILE` reduces the graph of a pattern of messages, all under way at once, by rules 1 to 4. The
//! file is text, `-` is standard input. A line is a block, a message, one of the words `small` and `large`, or empty;
//! `#` begins a comment. Fig. 7 of the paper, where 1 and 3 send to 4 and 2 sends to 5:
//!
//! ```text
//! block M1  859.52us 1.42us
//! block M2  859.52us 1.42us
//! block M3  859.52us 1.42us
//! block M4  859.52us 1.42us
//! block M5  859.52us 1.42us
//! block net 345.60us 0.92us
//! message 1 -> 4 1000 via M1 net M4
//! message 2 -> 5 2000 via M2 net M5
//! message 3 -> 4 500  via M3 net M4
//! ```
//!
//! | line | what it says |
//! | --- | --- |
//! | `block NAME A B` | a block CB(a, b): a time, and a time per byte |
//! | `block NAME A B on PROCESSOR` | one that shares a processor with others: they are dependent |
//! | <code>message FROM -> TO SIZE via BLOCK...</code> | a message, and the blocks that it passes in order |
//! | <code>... via BLOCK... &#124; BLOCK...</code> | several ways: parallel (rule 2) |
//! | `small`, `large` | behind it the graph of small messages, or of large ones (rule 4): a of a message is from the first, b from the second. What stands before both is in both; a message that is in one only contends there |
//!
//! The answer has each message's block (a, b) and its T_c, T_s and T_r at its own size (`messages` of the JSON object),
//! its bottleneck, which is what it passes with the greatest b, and where most of a is spent; every block as it is to
//! each message, behind rule 3, with the number of messages that pass it (`stages`); and T(x) for `--bytes`, where the
//! other messages' sizes keep their ratio to x (`points`). `--handshake` puts a step of the protocol before each
//! message (section 2.5).
//!
//! A block that is not there, a cycle, a second block or message of the same name, a block that no message passes, a
//! number below 0, a file without blocks or messages, and ways that no rule reduces are refused with the line, with
//! exit status 2.
//!
//! # Misprints
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
//! without neighbours, nothing is sent and nothing takes time; a_L, which is not given, is 0 for the SparcStations. A
//! graph whose paths are neither in series nor parallel, or whose blocks share a processor across branches, is refused:
//! the paper has no rule for it but to find both limits by other means (rule 4).
//!
//! What cannot be computed: the measured points, regression coefficients and greatest errors of the figures, and the
//! predictions of Fig. 20. The latter need the messages of the multigrid code; one class of contending messages cannot
//! give them (its ratio of full to no overlap is 1.486, where two senders reach at most 1.296).
