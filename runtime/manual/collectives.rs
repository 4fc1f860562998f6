//! Collectives: what there is, by which algorithms, in which order operands are combined, how an algorithm is chosen and
//! how it is forced, and what happens when ranks disagree.
//!
//! Every collective of [`Node`](crate::Node#collectives) is blocking or, with `init`, not: then the kernel carries it on
//! while the program computes, operators included. It is a [schedule](crate::collective::schedule): steps of one rank
//! that are data. The node executes it, the simulator of the tests executes it, and the model prices it, all the same one.
//!
//! # What there is
//!
//! | call | algorithms, by the names to force them with |
//! | --- | --- |
//! | `barrier` | `dissemination` |
//! | `broadcast` | `serial`, `binary` (both of Stoica, Sultan and Keyes 3.1), `binomial`, `chain` (pipelined) |
//! | `reduce` | `binary` (Stoica, Sultan and Keyes 3.2), `binomial`, `chain` |
//! | `allreduce` | `doubling`, `global` (the global operation of 3.2), `binomial`, `ring` (commutative operators), `chain` |
//! | `gather`, `gather_counts` | `simple`, `binomial`, `windowed` (Algorithm 1 of Tam and Wang), `granted` |
//! | `scatter` | `serial`, `binomial` |
//! | `allgather` | `bruck`, `ring` |
//! | `alltoall` | `pairwise`, with a window of 1 or of all rounds |
//! | `exchange` | none: messages with neighbours only, on which other ranks need not agree |
//!
//! Each is a module below [`collective`](crate::collective), with its cost.
//!
//! # The order of reduction
//!
//! What is combined with what is fixed by the algorithm, the number of ranks and the root: never by who comes first. So
//! one algorithm gives the same bits every time, and an allreduce the same bits on every rank. An operator that is
//! associative gives the same result by every algorithm; a sum of floating point numbers is associative only nearly.
//!
//! | algorithm | operands stand in the order |
//! | --- | --- |
//! | reduce: `binomial`; allreduce: `doubling`, `global`, `binomial`, `chain` | of ranks, always |
//! | reduce: `binary`, `chain` | of ranks; of ranks from the root around if the operator is commutative |
//! | allreduce: `ring` | block i of the data: of ranks from rank i around, so commutative operators only |
//!
//! # The gather that does not collapse
//!
//! Too many senders fill the queue in front of the root's link; it drops packets, and TCP waits for its timer. `simple` has
//! all send at once. `windowed` lets w ranks send, and who has sent starts the rank w further on; w is that of equations
//! 5 to 7 ([`senders`](crate::collective::gather::window::senders)) for the queue and gaps of
//! [`Machine::queue`](crate::collective::price::Machine). `granted` has the root ask for pieces, so many at once as the queue
//! holds. Where no queue is stated, nothing limits w, unless it is forced: `gather:windowed/4`.
//!
//! # How an algorithm is chosen
//!
//! By price: what the schedule costs on the [`Machine`](crate::collective::price::Machine), a network of the hyperbolic
//! model. All candidates are priced with the numbers of segments that come into question; the cheapest is taken. Ranks do
//! not talk about it. They choose alike because they know the same: the call, and the machine, which is `Config::machine`
//! (1 Gbit/s Ethernet, as a guess) until the program calls [`Node::refit`](crate::Node::refit): then all take the median of
//! the straight lines `a + b x` fitted to their links. (Not the a and b of the paper's hyperbola, which the report has. A price
//! is the sum of both limits, and of a link that is a straight line the hyperbola's a and b are a tenth too great.)
//!
//! The choice is there to be seen: [`Handle::choice`](crate::Handle::choice) of one call, `collectives` in
//! [`Node::report`](crate::Node::report), the `choice` of a call in the timeline, and at `RUST_LOG=lathide=debug`.
//!
//! `LATHIDE_COLLECTIVE=broadcast:chain,gather:windowed/4` forces algorithms, and windows where there are any, for all calls
//! that they can carry out; in a program, [`Config::collective`](crate::Config), and from one call to the next
//! [`Node::force`](crate::Node::force). It must be the same on every rank.
//!
//! `lathide collectives` measures every algorithm beside its price, and how often the choice is good: see the page on
//! [measuring](crate::manual::measuring).
//!
//! # Ranks that disagree
//!
//! A collective's messages are matched by its number and a digest of what ranks must agree on: operation, root, counts,
//! element type, operator, algorithm. So calls that differ never meet, and in the good case nothing is said. Who finds a
//! message of another digest, or waits in vain for half a second, tells how it has called; who has called differently
//! knows both sides and tells all. Every rank passes that on once, so that nobody sees a rank leave before it hears why.
//! That collective and all after it fail on every rank, with [`Error::Disagreement`](crate::Error::Disagreement):
//!
//! ```text
//! collective 2: rank 0 called broadcast(100 elements of u8, root 0), but rank 2 called broadcast(100 elements of u8, root 1); ...
//! ```
//!
//! An operator that panics fails its collective everywhere likewise ([`Error::Collective`](crate::Error::Collective)). Messages
//! between two ranks go on. A rank that is gone is [`Error::PeerLost`](crate::Error::PeerLost), with its name, on every rank.
//! Two ranks that differ only in that a root expects nothing and others send nothing complete: nobody misses anything.
//!
//! # What was measured
//!
//! `lathide lab --hosts 4 --delay 0.2ms --rate 50mbit -- lathide collectives -n 4 --hosts host0,host1,host2,host3 --seconds 60` on two
//! cores (others had 15 % of them): the price misses by, at half the points and at nine of ten,
//!
//! | allgather | allreduce | alltoall | barrier | broadcast | gather | reduce | scatter |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | 8, 23 % | 7, 13 % | 19, 31 % | 9, 9 % | 4, 21 % | 3, 6 % | 5, 10 % | 7, 18 % |
//!
//! and the choice is the fastest or within a tenth of it at 33 of 35 points. What misses by more than a fifth:
//!
//! - *Exchanges of 32 to 128 KiB both ways at once* (alltoall, allgather by `bruck`): the shortest time is the price, the median
//!   a third more. Each way's confirmations wait behind the other way's data, and TCP's windows grow more slowly; `reno`
//!   is no better than `bbr`.
//! - *Two messages of 32 KiB from one rank* (broadcast by `binomial` or `binary`): the model sends one after the other, TCP
//!   both at once, so the first arrives late.
//! - *Three messages of 8 bytes* (alltoall): a message is taken to cost 10 us of processor; with five processes on two cores
//!   it costs more.
//!
//! Over 2 ms (`--delay 2ms`) all medians are below 7 % but for alltoall's (11 %).
//!
//! Two ranks, `lathide collectives -n 2 --link delay=0.2ms,rate=100mbit --operations broadcast,allreduce,allgather
//! --bytes 64KiB,256KiB,1MiB`: prices miss by 1 to 3 %, allreduce by 29 % at nine of ten. Overlap in two runs: 0.83 to
//! 1.00 at 256 KiB, 0.75 to 1.01 at 1 MiB; at 64 KiB 0.72 to 0.82 in one and 0.23 to 0.33 in the other, of transfers of
//! 5.7 ms. There it is lost to the relay: its thread waits for a core that computes, up to a slice of 3 or 4 ms. (With
//! slices of 0.1 ms for the relay and the kernel tasks, given from outside, six runs had 0.58 to 1.01, six without 0.21
//! to 0.55; no command repeats that.) A real link has no relay: on one that the kernel shapes (100 Mbit/s, a bucket of
//! 70 KiB for both ways, mtu 1500; the same command without `--link` in its network namespace) three runs had 0.91 to
//! 0.99 for allgather, 0.62, 0.62 and 0.93 for allreduce of 64 KiB and 0.96 to 0.98 of 256 KiB, 0.95 to 1.05 for
//! broadcast of 256 KiB and 0.89 to 0.99 of 1 MiB (64 KiB pass within the bucket). In the lab, where the switch also
//! wants its part of the cores, overlap is lower.
