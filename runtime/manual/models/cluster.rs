//! The cluster model (Tam, Wang): account and misprints. The code is [`lathide_models::cluster`].
//!
//! # What it says
//!
//! A message travels as packets. One packet costs the sender's processor O_s, takes L from queue to queue, costs the
//! receiver's processor O_r in the background and the receiving program U_r: one way is `O_s + L + O_r + U_r`. Packets
//! follow each other at g_s from one sender and at g_r to one receiver. All of these are functions of the packet's size
//! m; L also grows with the number of processors p, and with the load once that exceeds what the switch passes on in
//! all. The switch holds B_L packets.
//!
//! In Table 1, `L = 1.556 p + 16.684 + 0.0826 m max(1, p m / (90 g_s(m)))`. Nothing in the paper explains the 90; by
//! its place it is in bytes per microsecond, an aggregate bandwidth of 90 MB/s beside 12 MB/s per link, and that is
//! what [`Transfer`](lathide_models::cluster::Transfer) makes of it.
//!
//! **Broadcast** of k packets on the binomial tree, one tree after the other. Eq. (1), the Postal model, lets receiving
//! cost nothing; eq. (2) adds `O_r + U_r` for each further packet at processor p/2, and has one g_s less. For one
//! packet they agree. The difference per further packet is `O_r + U_r - g_s`, and its sign is not what the paper's
//! discussion says for all sizes: with Table 1 it is positive below 520 bytes and negative above. For full packets eq.
//! (2) therefore predicts *less* time than eq. (1), 21.3 ms against 22.8 ms for 44 packets of 1500 bytes to 16
//! processors. For p = 2 and full packets it even promises what the sender's gap forbids: 3.99 ms for 44 packets that
//! leave 122.4 us apart. We give eq. (2) as it stands, and both side by side.
//!
//! **Gather.** p' = p - 1 senders share one way to the receiver. w of them fill it at `A = w / g_s`, it empties at
//! `D = 1 / g_r`, and it holds B. So at least `Ga_l = ceil(g_s / g_r)` must send for it to be busy, and with i packets
//! each at most `Ga_u = floor(g_s / g_r + B / i)` may, or packets are lost. Algorithm 1 lets w of them send, the
//! largest number between the bounds whose last group is not too small; each signals its successor when done. The time
//! is at least `C1 + p' i g_r + C2`. The paper does not say which parameters make up C1 (the first packet's way to the
//! switch) and C2 (the last one's way from it); we take `O_s + L` and `O_r + U_r + M_mtm`.
//!
//! `lathide link` measures all of these over TCP, and `lathide predict gather --from link.json` uses them. B_L and the
//! growth of L with p take several hosts: `lathide link --pairs`. Without it, B_L is what a receiver accepts from each
//! sender before it reads (beyond that, the sender waits), L is that of one pair, and the answer says both. The load
//! `p m / g_s` counts both processors of a pair, so a medium's measured rate counts twice there.
//!
//! If a switch drops a packet, TCP retransmits it after a timeout: no message is lost, but the gather takes longer. So
//! a window between the bounds is useful over TCP too.
//!
//! `lathide collectives --papers` measures gathers and broadcasts beside these equations, and says which of eqs. (1) and
//! (2) is right on a link. Over a switch of 10 to 50 Mbit/s it is eq. (1): receiving a packet takes less than its gap g_s,
//! so the root's port is the bottleneck. It sends `log2(p)` copies of each packet, one g_s more than eq. (2) has. It also
//! has C1 = O_s + L - g_r, since L reaches beyond the switch: the first packet's time on the receiver's port is one of the
//! p' i in eq. (8). With C1 = O_s + L, gathers of a packet from each of three were 30 % shorter than predicted.
//!
//! # Misprints
//!
//! | where | printed | we take | seen in |
//! | --- | --- | --- | --- |
//! | sentence after eq. (5) | with at most `ceil(g_s/g_r)` senders D/A < 1 | with at least as many, D/A <= 1 | Ga_l = 1 at 1500 bytes |
//! | eq. (6) | starts from `Ga_u >= 1` | starts from transfer ratio >= 1; the result stands | Ga_u = 3 at 1500 bytes, i = 700 |
//! | eq. (7) | `p' mod x >= Ga_l` | `p' mod x = 0` or `p' mod x >= Ga_l`; `x <= p'`; Ga_l if no x is left | p = 16, i = 700: printed 2, ours 3 |
//! | eq. (8) | `C1 + (p - 1) i D + C2` | `C1 + (p - 1) i g_r + C2`: D is a rate, its packet takes 1/D | p = 16, i = 700, 1500 bytes: ours 1.294 s |
//! | row T_s of Table 1 | cost of an unknown parameter | kept as data, used nowhere | T_s = 127.28 us at 1500 bytes |
//! | g_s at 40 bytes, Table 1 | 6.73 us up to 40 bytes, a line above | as printed: a trap, not an error; g_s falls to 6.29 us at 41 bytes, g_r rises to 8.22 us | |
//!
//! Eq. (7) as printed refuses every window that divides the senders evenly, although its last group is full. With Table
//! 1 Ga_l is 1 for every packet size, so it refuses exactly the even divisions.
//! [`window_printed`](lathide_models::cluster::window_printed) is that form.
//!
//! Eq. (4) is printed as what is expected "in long run"; for a steady stream it is exact from the moment the buffer is
//! full. Only one number of the paper can be computed from its formulas: the parts 0.4 + 1.3 + 0.6 + 0.7 of Fig. 3 make
//! the 3 of Fig. 1. The curves of Figs. 2, 4 and 5 cannot, since neither the packet size nor a measured number is
//! given.
