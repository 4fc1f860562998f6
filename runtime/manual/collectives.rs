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
//! [`CostModel::queue`](crate::cost::CostModel). `granted` has the root ask for pieces, so many at once as the queue
//! holds. Where no queue is stated, nothing limits w, unless it is forced: `gather:windowed/4`.
//!
//! # How an algorithm is chosen
//!
//! By price: what the schedule costs on the [`CostModel`](crate::cost::CostModel), a network of the hyperbolic
//! model. All candidates are priced with the numbers of segments that come into question; the cheapest is taken. Ranks do
//! not talk about it. They choose alike because they know the same: the call, and the machine, which is `Config::cost_model`
//! (1 Gbit/s Ethernet, as a guess) until the program calls [`Node::calibrate`](crate::Node::calibrate): then all take the median of
//! the straight lines `a + b x` fitted to their links. (Not the a and b of the paper's hyperbola, which the report has. A price
//! is the sum of both limits, and of a link that is a straight line the hyperbola's a and b are a tenth too great.)
//!
//! The choice is there to be seen: [`Handle::choice`](crate::Handle::choice) of one call, `collectives` in
//! [`Node::report`](crate::Node::report), the `choice` of a call in the timeline, and at `RUST_LOG=lathide=debug`.
//!
//! `LATHIDE_COLLECTIVE=broadcast:chain,gather:windowed/4` forces algorithms, and windows where there are any, for all calls
//! that they can carry out; in a program, [`Config::overrides`](crate::Config), and from one call to the next
//! [`Node::override_algorithms`](crate::Node::override_algorithms). It must be the same on every rank.
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
//! Some ranks wait for nothing, such as the root of a broadcast. So [`finalize`](crate::Node::finalize) tells all others, before
//! it says goodbye, a digest of everything this rank has called, and each answers as soon as it has called as many: it
//! agrees, or both find the first difference. A rank that calls as many only after [`Config::linger`](crate::Config) finds it
//! alone, and says so.
//!
//! An operator that panics fails its collective everywhere likewise ([`Error::Collective`](crate::Error::Collective)). Messages
//! between two ranks go on. A rank that is gone is [`Error::PeerLost`](crate::Error::PeerLost), with its name, on every rank.
//! Two ranks that differ only in that a root expects nothing and others send nothing complete: nobody misses anything.
//!
//! # Threads
//!
//! Ranks match collectives by the order in which each has called them. If two threads of a rank call and nothing orders
//! them, rank 0 may call A's first and rank 1 B's: with equal signatures nothing differs on the wire, and each gets sums of
//! A's values and B's. No rank can see that by itself, and identities of threads mean nothing on other ranks. So the rule is
//! about who calls, which a rank does see: collectives have one *owner*, the thread, or the tokio task, that has called
//! the last one. Another caller is accepted only where it follows the owner:
//!
//! | the owner | who else may call |
//! | --- | --- |
//! | a thread that has ended | anybody |
//! | the thread that has called `init` | any thread, which it may have started; it calls again when that one has ended |
//! | a tokio task | itself, on whatever thread it runs; nobody can tell that it has ended |
//! | any | anybody, if the program has said so by [`Node::declare_serialized`](crate::Node::declare_serialized) |
//!
//! Nobody may call while another is in a call, whatever is declared. What breaks the rule is
//! [`Misuse::Threads`](crate::Misuse::Threads) for the caller, and every collective that is not complete, and all to come, fail on
//! every rank with the names of both threads: an error rather than a sum that may be wrong. Results that were complete
//! before may already be mixed up; the job fails all the same.
//!
//! Threads that call at the same time again and again are found for certain, at the second change of hands at the latest. What is
//! not seen: threads each of which makes all its calls and ends before the next makes its first, on every rank, but in
//! different orders. So wait for a thread's end before another calls. Handles are no calls: any thread may wait for, test or drop
//! them. Exchanges count as collectives.
//!
//! # Operators
//!
//! An operator runs where messages are moved: in the call that begins the collective, in a wait, or on the kernel's thread
//! while the program computes. It is cut into slices of a millisecond or 256 KiB, whichever comes first, between which messages
//! have their turn; one element is the least. So an operator may take as long as it likes per buffer, and some hundred
//! milliseconds per element; while it works on one, messages wait.
//!
//! # Memory
//!
//! What is sent from a buffer that is only read (the input; the output of a broadcast's root) is sent from it, without a copy. A
//! message that fills its buffer is received into it: a broadcast in one piece takes no memory but the buffer. A
//! message for a part of a buffer, as in an allgather, an exchange with several neighbours, or a broadcast in segments, is received
//! beside it, copied once, and passed on from where it is; what reductions send is copied.
//!
//! # What was measured
//!
//! `lathide lab --hosts 4 --delay 0.2ms --rate 50mbit -- lathide collectives -n 4 --hosts host0,host1,host2,host3 --seconds 60` on two
//! cores (others had 8 % of them): the price misses by, at half the points and at nine of ten,
//!
//! | | allgather | allreduce | alltoall | barrier | broadcast | gather | reduce | scatter |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | 0.2 ms | 5, 12 % | 4, 15 % | 8, 14 % | 19, 19 % | 4, 8 % | 4, 8 % | 5, 9 % | 4, 20 % |
//! | 2 ms | 3, 4 % | 4, 17 % | 4, 8 % | 4, 4 % | 3, 8 % | 1, 3 % | 1, 5 % | 2, 7 % |
//! | 0.5 ms, 8 hosts, 90 s | 9, 16 % | 6, 19 % | 23, 40 % | 13, 13 % | 6, 15 % | 9, 42 % | 4, 12 % | 5, 12 % |
//!
//! and the choice is the fastest or within a tenth of it at 39 of 39 points, over 2 ms at 39 of 39, of 8 hosts at 33 of 36. What
//! misses by more than a fifth, then or in other runs:
//!
//! - *What many send to one at once* (8 hosts: alltoall, gather by `simple`): the switch's queue of 64 KiB overflows, and
//!   what is lost comes later. [`CostModel::queue`](crate::cost::CostModel) prices that, if it is stated.
//! - *Barriers and exchanges of 8 bytes* (13 to 19 %): ranks share two cores with the switch, and the slowest of them counts.
//! - *Two messages of 4 KiB from one rank* (broadcast by `binary` or `binomial`): the model sends one after the other, TCP
//!   both at once, so the first arrives late. Longer ones leave one after the other.
//! - *Exchanges after a gather*, in a program that mixes operations, where congestion control is `bbr`: it remembers that three
//!   shared the root's port, and takes some tens of round trips to find the bandwidth again. That takes a third more, and no
//!   price knows it; `lathide collectives` keeps operations apart. `reno` does not remember, but loses more.
//!
//! Overlap, two ranks, three runs of `lathide collectives -n 2 --operations broadcast,allreduce,allgather --bytes 64KiB,256KiB`
//! in a network namespace whose loopback the kernel shapes (tbf: 100 Mbit/s, a bucket of 70 KiB for both ways, mtu 1500): 0.94 to
//! 0.98 at 64 KiB but for one of 0.90, 0.94 to 0.99 at 256 KiB; with `--bytes 64KiB,1MiB`, two runs, 0.93 to 0.98 and 0.90 to 0.97
//! at 1 MiB. Over an emulated link (`--link delay=0.2ms,rate=100mbit`, `--bytes
//! 64KiB,1MiB`) four runs had 0.90 to 1.01 at 64 KiB, 0.83 to 0.97 at 1 MiB, where the relay itself takes 7 % of a core from the
//! two that compute. The relay and the lab's switch ask Linux for short slices (since 6.12), so that they get a core
//! that computes at once and not after the 3 ms of a slice: without, 64 KiB had 0.39 to 0.73 in the same hour.
