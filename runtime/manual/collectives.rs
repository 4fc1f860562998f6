//! Collectives: operations, algorithms, the order of reduction, how an algorithm is selected or overridden, and what
//! happens when ranks disagree.
//!
//! Every collective of [`Node`](crate::Node) and of every [`Group`](crate::Group#collectives) is blocking, or nonblocking with the prefix `init`. A
//! nonblocking collective progresses while the program computes, its operators included.
//!
//! A collective is a schedule: the steps of one rank, as data. The node executes the
//! schedule, the simulator of the tests executes the same one, and the cost model predicts its time.
//!
//! # Operations and algorithms
//!
//! | call | algorithms, by the names that overrides use |
//! | --- | --- |
//! | `barrier` | `serial`, `dissemination`, `binomial`, `simple` (up to 64 ranks) |
//! | `broadcast` | `serial`, `binary` (both of Stoica, Sultan and Keyes 3.1), `binomial`, `chain` (pipelined) |
//! | `reduce` | `binary` (Stoica, Sultan and Keyes 3.2), `binomial`, `chain` |
//! | `allreduce` | `serial`, `doubling`, `global` (3.2 of the same), `binomial`, `chain`, `simple` (up to 64 ranks); `ring` and `halving` (commutative operators) |
//! | `gather`, `gather_counts` | `simple`, `binomial`, `windowed` (Algorithm 1 of Tam and Wang), `granted` |
//! | `scatter`, `scatter_counts` | `serial`, `binomial` |
//! | `allgather`, `allgather_counts` | `doubling`, `bruck`, `ring`, `binomial`, `serial`, `simple` (up to 64 ranks) |
//! | `alltoall` | `pairwise`, with a window of one round or of all rounds; `bruck`; `serial` (up to 64 ranks) |
//! | `alltoall_counts` | `pairwise`, with a window of one round or of all rounds |
//! | `reduce_scatter`, `reduce_scatter_counts` | `halving` and `ring` (commutative operators), `pairwise` |
//! | `scan`, `exscan` | `doubling` (Hillis and Steele 1986), `chain` (pipelined) |
//! | `exchange`, `persistent_exchange` | none: messages with neighbours only, on which other ranks need not agree |
//!
//! Each is a module below `collective`, with its cost. In `serial` rank 0 (or the root) sends to or hears from every other rank itself: two
//! rounds instead of `log2 ranks`, for short messages of ranks that share cores. In `simple` every rank sends to the root, or to all: one round,
//! for short messages over links with a long delay.
//!
//! # Counts
//!
//! The calls with `_counts` take blocks of different lengths, also of 0 elements. In `gather_counts`, `scatter_counts`,
//! `allgather_counts` and `reduce_scatter_counts` all ranks give the counts of all ranks. They are part of what ranks must
//! agree on, and a rank that gives others is found as any other disagreement.
//!
//! In `alltoall_counts` a rank gives its own counts only: what it sends to each rank, and what it receives from each. Ranks
//! cannot compare them, so what fits is found message by message. Every rank sends a message to every other one, if only an
//! empty one; a receiver whose message has another length fails the collective on every rank. The selection of the window
//! depends on nothing that ranks do not share: it is that of an alltoall of 0 elements, all rounds in progress at once,
//! unless it is overridden (`alltoall:pairwise/1`). Its times are not observed.
//!
//! Calls with `_into` leave the result in a vector of the caller, whose memory they use again.
//!
//! # The order of reduction
//!
//! The algorithm, the number of ranks and the root determine which operands are combined in which order. The order of
//! arrival does not. So one algorithm gives the same bits every time, and an allreduce gives the same bits on every
//! rank. An associative operator gives the same result by every algorithm. A sum of floating point numbers is only
//! nearly associative.
//!
//! | algorithm | order of the operands |
//! | --- | --- |
//! | reduce: `binomial`; allreduce: `serial`, `simple`, `doubling`, `global`, `binomial`, `chain` | by rank, always |
//! | reduce: `binary`, `chain` | by rank; by rank starting at the root if the operator is commutative |
//! | allreduce: `ring` | block i of the data: by rank starting at rank i, so commutative operators only |
//! | scan and exscan: all; reduce_scatter: `pairwise` | by rank, always |
//! | reduce_scatter: `ring` | block i: by rank starting at rank i + 1, so commutative operators only |
//! | allreduce, reduce_scatter: `halving` | rank i with i + half of the ranks first (of a power of two of them), so commutative operators only |
//!
//! # Gather without incast collapse
//!
//! If too many ranks send to the root at once, they fill the queue in front of the root's link. The queue drops
//! packets, and TCP waits for its retransmission timer (incast).
//!
//! - `simple` lets all ranks send at once.
//! - `windowed` lets w ranks send. A rank that has sent starts the rank w places further on. w follows from equations 5
//!   to 7 (`senders`), for the queue and the gaps of
//!   [`CostModel::queue`](crate::cost::CostModel).
//! - `granted` lets the root request pieces, as many at once as the queue holds.
//!
//! If the cost model has no queue, nothing limits w, unless it is overridden: `gather:windowed/4`.
//!
//! # How an algorithm is selected
//!
//! The library predicts the time of every candidate on the [`CostModel`](crate::cost::CostModel), a network of the
//! hyperbolic model, with several numbers of segments. It takes the fastest. Ranks do not communicate about the
//! selection. They select alike because they know the same: the call and the cost model.
//!
//! The cost model is `Config::cost_model` at first: a guess, 1 Gbit/s Ethernet, or the loopback where all ranks are on one
//! host and share its cores. It then follows what ranks observe (the
//! next section). Its straight line `a + b x` is not the a and b of the paper's hyperbola, which the report has: the
//! predicted time of a schedule is the sum of both limits, and on a link that is a straight line the hyperbola's a and b
//! are 10 % too large.
//!
//! The model knows where ranks are. Several ranks of a host share its port (rule 3 of Stoica, Sultan and Keyes), and
//! messages within a host pass none; that holds if hosts have as many ranks each, one host after the other. If ranks
//! share cores, the price is Graham's bound for list scheduling (1969): work of W on P cores, of which C must be done one
//! after the other, takes no longer than `W/P + (1 - 1/P) C`. Of short messages C is only those that wait for each other: what
//! a rank sends and receives without waiting in between is work, and its core changes hands for no part of it. Segments are then to save
//! a quarter at least, of the time of any algorithm. Such ranks are not in the same round, either: where the partner changes from round to
//! round (`bruck`, `doubling`, `halving`), messages of two rounds meet at a port. Among more than four ranks bytes are taken to cost
//! half as much again there (measured over 1 Gbit/s: 1.3 to 2.2 times as much), and wherever everybody sends to everybody (`simple`).
//!
//! # The selection follows what ranks observe
//!
//! Beside the calls of a program, ranks exchange what they have observed, and adopt it at a later call of a fixed number: the
//! same on all ranks, so that they select alike. The first exchange goes with the first call and is adopted at the
//! second; the next ones follow after 2, 4, 8 and more calls, and soon after a change. The first 15 calls of a job are slower
//! than later ones, and by them nothing is decided, unless a message takes 5 ms or a call 10 ms. Nor do calls shorter than
//! 200 us decide anything by their time: that is mostly a matter of when threads run. They follow the prices alone. Where ranks share cores
//! that holds for calls with a predicted time of up to 200 us for each rank on a core, and a message's delay is at most what TCP's
//! own round trip shows, which needs no thread. An exchange is an allgather of 144 bytes per rank, and no call waits for it, but for one that runs ahead of the slowest rank: a nonblocking call
//! whose exchange has not ended begins when it has ended.
//!
//! With a root ranks run ahead of each other: the root of a broadcast is done when it has sent, and ranks that send to a
//! root are done before it is. After 8, 16, 32, ... calls ranks look whether nearly all of them had a root. Then such a call is priced as one
//! of 16 in a row: what one more costs the busiest processor and the busiest port, and a part of the delay. A broadcast of
//! long messages costs a chain one message then, and a root that serves all as many as there are others. A root
//! never waits for those that it sends to: no exchange goes with broadcasts and scatters, and none is adopted at them, so a program that
//! calls nothing else keeps its first prices. With gathers and reductions an exchange goes only if one more call costs 200 us, and it is
//! adopted as many calls later as ranks can be apart.
//!
//! | exchanged | what it changes |
//! | --- | --- |
//! | the line `a + b x` of messages' one-way times | the cost model: when it is first known, and when two exchanges in a row differ by a factor of 2 |
//! | TCP's own round trip; the line that an earlier job left | the same, until messages have shown more |
//! | observed times of the collectives called since | the algorithm, for each collective and class of sizes (a factor of 2) |
//! | packets sent again | the queue in front of a receiver, if a collective that sends to one rank from several took twice its predicted time |
//!
//! The expected time of an algorithm is what was observed of it. For one that was not tried it is its predicted time,
//! times observed over predicted of the one in use. Another algorithm is taken if its expected time is lower by at least
//! 10 %, or 8 % if it was not tried. The margin grows with each change, and with the error of the predictions, so that
//! algorithms do not alternate. An algorithm that was not tried is tried, for three to ten calls, if that is expected to
//! cost at most 2 % of the time so far, and up to 5 % where predictions are wrong. A trial is taken to cost at least twice the
//! usual time, so there is none among the first 60 to 250 calls.
//!
//! `changes` in [`Node::report`](crate::Node::report) lists each change: the call, the operation, its size, both
//! algorithms, predicted and observed time. `run --report` shows it. `LATHIDE_CALIBRATE=off` or
//! [`Config::calibrate`](crate::Config) switches the exchanges off; results are the same, but for the order of
//! operands that the algorithm determines. [`Node::set_cost_model`](crate::Node::set_cost_model) ends them: the program
//! knows more. An algorithm that is overridden is not changed.
//!
//! At its end rank 0 keeps the line in `~/.cache/lathide/links.json` (`LATHIDE_CACHE`), by the ranks' addresses, and the next
//! job on the same hosts takes its first prices from it. A file that is damaged or of another version is ignored and
//! written over. Ranks on loopback addresses use none.
//!
//! [`Node::calibrate`](crate::Node::calibrate) does the same at once, as a blocking collective: after it all ranks use the median of
//! their links' lines.
//!
//! The selection is visible in these places: [`Handle::choice`](crate::Handle::choice) for one call, `collectives` in
//! [`Node::report`](crate::Node::report), the `choice` of a call in the timeline, and the log at
//! `RUST_LOG=lathide=debug`.
//!
//! `LATHIDE_COLLECTIVE=broadcast:chain,gather:windowed/4` overrides the selection, and the window where there is one.
//! In a program, [`Config::overrides`](crate::Config) does the same, and
//! [`Node::override_algorithms`](crate::Node::override_algorithms) from one call to the next. Overrides must be the
//! same on every rank. A call that the algorithm cannot carry out uses the selected one.
//!
//! `lathide collectives --papers` measures gather, broadcast and neighbour exchange beside the papers' own equations.
//! `lathide collectives` measures every algorithm beside its predicted time, and how often the selection is good: see
//! the page on [measuring](crate::manual::measuring).
//!
//! # Ranks that disagree
//!
//! The messages of a collective are matched by its number and a digest of what ranks must agree on: operation, root,
//! counts, element type, operator, algorithm. So calls that differ never match, and calls that agree need no extra
//! message.
//!
//! A rank that finds a message with another digest, or waits in vain for half a second, sends its own call to the
//! others. A rank that has called differently knows both sides and tells all ranks. Every rank forwards that once, so
//! that no rank sees another leave before it hears why. That collective and all after it fail on every rank, with
//! [`Error::Disagreement`](crate::Error::Disagreement):
//!
//! ```text
//! collective 2: rank 0 called broadcast(100 elements of u8, root 0), but rank 2 called broadcast(100 elements of u8, root 1); ...
//! ```
//!
//! Some ranks wait for nothing, such as the root of a broadcast. So [`finalize`](crate::Node::finalize) sends all other
//! ranks a digest of every call of this rank before it says goodbye. Each of them answers as soon as it has called as
//! many collectives: it agrees, or both find the first difference. A rank that calls as many only after
//! [`Config::linger`](crate::Config) finds the difference alone, and reports it.
//!
//! An operator that panics fails its collective on every rank ([`Error::Collective`](crate::Error::Collective)).
//! Messages between two ranks go on. A rank that is gone is [`Error::PeerLost`](crate::Error::PeerLost), with its rank,
//! on every other rank. If two ranks differ only in that a root expects nothing and others send nothing, both complete:
//! no data is missing.
//!
//! # Groups
//!
//! [`Group::split`](crate::Group::split) is an allgather of 16 bytes per rank of the parent,
//! [`Group::group`](crate::Group::group) an allgather of 128 bytes per member among the members alone. No connection is opened.
//! In these the members tell each other by which number each knows the group: 24 bits, which every message of the
//! group carries, by its receiver's count. So ranks agree on no common number, and two groups never meet, whoever
//! founds them in what order.
//!
//! A rank that has dropped a group, and whose collectives of it have ended, tells each other member a digest of what it
//! has called. It forgets the group when all members have told the same; then nothing can come any more that carries the
//! number, and the number is free again. A member that has called something else, or more, finds out by that too, and
//! then all members get the error. `finalize` does the same for groups that were not dropped.
//!
//! A group selects algorithms by the cost model and the overrides that its parent had when it was made: `split` by those of
//! the parent at that call, `group` by the model of the first member. It does not follow what is observed later, and
//! [`report`](crate::Node::report) shows the collectives of the whole job only.
//!
//! # Threads
//!
//! This is about the collectives of one group, or of the job; each has callers of its own. Whoever makes a group
//! calls a collective of its parent.
//!
//! Ranks match collectives by the order of calls. If two threads of a rank call and nothing orders them, rank 0 may
//! call A's first and rank 1 B's. If both calls have the same signature, nothing differs on the wire, and each thread
//! gets sums of A's values and B's. No rank can detect that by itself, and identities of threads mean nothing on other
//! ranks.
//!
//! So the rule is about callers, which a rank can observe. Collectives have one *owner*: the thread, or the tokio task,
//! that made the last call. Another caller is accepted only if it follows the owner:
//!
//! | the owner | who else may call |
//! | --- | --- |
//! | a thread that has ended | any thread |
//! | the thread that called `init`, or made the group | any thread, which it may have started; it calls again when that one has ended |
//! | a tokio task | only itself, on any thread; nobody can tell that it has ended |
//! | any | any thread, after [`declare_serialized`](crate::Group::declare_serialized) |
//!
//! No thread may call while another is in a call, whatever is declared. A call that breaks the rule gets
//! [`Misuse::Threads`](crate::Misuse::Threads). Every collective of the group that is not complete, and all later ones, then
//! fail on every rank of it, with the names of both threads. An error is better than a sum that may be wrong. Results that were
//! complete before may already be mixed up, so the job fails.
//!
//! Threads that repeatedly call at the same time are always detected, at the second change of caller at the latest. One
//! case is not detected: on every rank each thread makes all its calls and ends before the next makes its first, but in
//! different orders. So wait for the end of a thread before another calls. Handles are no calls: any thread may wait
//! for, test or drop them. Exchanges count as collectives.
//!
//! # Operators
//!
//! An operator runs where messages are moved: in the call that starts the collective, in a wait, or on the kernel's
//! thread while the program computes. It runs in slices of a millisecond or 256 KiB, whichever comes first; between two
//! slices messages have their turn. A slice has at least one element. So an operator may take as long as it likes per
//! buffer, and some hundred milliseconds per element. While it works on one element, messages wait.
//!
//! # Memory
//!
//! Collectives send from their buffers and receive into them, without a copy. Messages in flight borrow parts of the
//! buffers; parts that are in use at the same time do not overlap.
//!
//! Only the algorithm's own memory comes in addition. Reductions receive operands into scratch memory before they
//! combine them. `bruck`, and the binomial gather and scatter, collect the blocks of several ranks there. As for any
//! read, a message that arrives before its receive is posted waits in the window and is copied from there.
//!
//! # Accuracy
//!
//! `lathide lab --hosts 4 --delay 0.2ms --rate 50mbit -- lathide collectives -n 4 --hosts host0,host1,host2,host3
//! --seconds 60` prints the error of the predicted times. On two cores the median per operation was 4 to 19 %, and the
//! selection was the fastest or within 10 % of it at 39 of 39 points. `benches/results/2026-11-22-collectives.md` has
//! all figures, also for 2 ms, for eight hosts, and for overlap. Errors above 20 % have these causes:
//!
//! - *Many ranks send to one at once* (8 hosts: alltoall, gather by `simple`). The switch's queue of 64 KiB overflows,
//!   and lost packets arrive later. [`CostModel::queue`](crate::cost::CostModel) accounts for that, if it is given.
//! - *Barriers and exchanges of 8 bytes* (13 to 19 %). Ranks share two cores with the switch, and the slowest counts.
//! - *Two messages of 4 KiB from one rank* (broadcast by `binary` or `binomial`). The model sends one after the other,
//!   TCP both at once, so the first arrives late. Longer messages leave one after the other.
//! - *Exchanges after a gather* in one program, with the congestion control `bbr`. It remembers that three senders
//!   shared the root's port, and needs some tens of round trips to find the bandwidth again. That costs a third more,
//!   and the model does not know it. `lathide collectives` keeps operations apart. `reno` does not remember; since these figures, ranks
//!   on close hosts have it ([`super::architecture`], Pacing).
//!
//! The relay of `--link` and the lab's switch ask Linux for short time slices (since 6.12). So they get a core that
//! computes at once, and not after the 3 ms of a slice. Without that, overlap over an emulated link is much lower.
