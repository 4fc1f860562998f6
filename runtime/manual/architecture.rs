//! Which part does what, on which thread, and which invariants hold.
//!
//! # Packages
//!
//! | package | folder | what |
//! | --- | --- | --- |
//! | `lathide` | `runtime/` | the library |
//! | `lathide-models` | `runtime/models/` | the papers' equations and their fits; pure |
//! | `lathide-cli` | `runtime/cli/` | the command `lathide`: launcher, emulated link, lab, measurements |
//! | `lathide-sys` | `runtime/sys/` | system calls and lent parts of buffers; the only `unsafe` |
//!
//! # Rooms of the library
//!
//! Each room stands above all rooms that it imports.
//!
//! | room | what | main files |
//! | --- | --- | --- |
//! | plain data | ranks, tags, configuration, errors, buffers, the cost model | `runtime/*.rs`, `error/` |
//! | `wire` | bytes of frames and handshakes; checksums, encryption | `frame`, `handshake`, `records`, `checksum`, `cipher` |
//! | `engine` | the protocol without I/O; its simulator | `incoming`, `outgoing`, `transmit`, `receive`, `sim` |
//! | `collective` | schedules, their predicted time, the selection | one per operation, `schedule`, `choose`, `execute` |
//! | `observe` | what a node records of itself | `phases`, `links`, `report`, `advice`, `timeline` |
//! | `join` | from the start of a process to its open links | `environment`, `coordinator`, `handshake`, `mesh` |
//! | `kernel` | the progress thread, the sockets, the waiting threads | `core`, `task`, `wake`, `help`, `ownership`, `tuning/` |
//! | `node` | what programs call | `node`, `node/group`, `node/collective`, `handle` |
//!
//! The **engine** knows no socket, clock or thread: bytes come in, bytes go out, time is an argument. The **kernel**
//! holds the engine and the sockets under one lock. It runs one tokio task per node on a progress thread of its own
//! (Strumpen's communication kernel, section 3.2, was a process). The **node** and its **handles** are the public
//! interface.
//!
//! # Progress
//!
//! A thread that has bytes to move takes the lock and drives the engine. No thread sleeps while it holds the lock.
//!
//! 1. `initwrite` sends the first burst from the calling thread. A small message has left before the call returns; if nothing is
//!    before it on its link, without passing through a queue. So do small messages of collectives, before the reads of the same step
//!    are posted.
//! 2. A thread that waits *helps*. It looks at once whether its message is there, before it prepares for more. Then it polls the sockets
//!    for up to 100 us (400 us where ranks share cores), and yields its core between two looks: those of up to four peers, or, for a
//!    short collective, that of the one whose message its schedule needs next. One look in sixteen is at all links. Where each rank has
//!    a core, each poll for a short message that pays makes the next ones 1 us longer, until they are 1 ms long; one in vain takes
//!    that back. A wait that slept for less than a poll has the next ones poll again. The coordinator compares the cores on which the
//!    ranks may run, also for bound ranks. Where ranks share cores, the peer that is waited for may be next on this one: if the others
//!    there wait too, a turn of all of them takes some microseconds, less than a sleep with its wake-up; who has just sent something
//!    yields before the first look, since the answer cannot be there. If one of them computes, or the rank has a quota of processor
//!    time (containers), nothing is polled. That somebody computes is seen by looks that take long, twice within 16 waits: once may be
//!    another machine on the same host. After that 4 waits sleep at once, and twice as many each time that it is seen again soon, up to
//!    64. A thread that sleeps does so in epoll on the sockets themselves, so the system wakes it directly. One thread at a time helps.
//!    It also tells peers what has come from them: the task, which does so by a timer, would have to take the lock from it. Others park
//!    until their operation is complete, or until the helper passes the ownership of progress on.
//! 3. Whether polling pays is learnt from earlier waits, for short messages, the start of long ones and the rest of long ones
//!    separately: a long message says nothing of a short one, and on a fast link the rest comes soon, on a slow link it does not.
//! 4. While the program computes, the task owns progress. It watches all links through one descriptor: an epoll
//!    instance that contains the epoll instance of the links. A helper takes ownership with one system call, so the
//!    task is not woken for packets that the helper takes.
//! 5. After a wait, ownership returns to the task at once if the program has computed before (200 us or more between
//!    two calls). If calls follow each other closely, the task only checks whether they still do: after a millisecond,
//!    later at intervals of a sixteenth of the time for which they have, 8 ms at most. Meanwhile the system's socket
//!    buffers receive. Once the program has computed again, the task has the links after the next wait. While calls follow
//!    each other and few links (4 at most) are polled, epoll does not watch them: for each packet the system would go through both
//!    instances, in vain. Whoever sleeps there, or gives the task its links, has them watched again first.
//! 6. While a long message comes in, the task looks at intervals: every 2 ms, on slower links every 4 ms. It takes what
//!    has gathered. A wake-up costs the computation more than the bytes of a packet do. The intervals last as long as
//!    each brings some packets, and not while a future waits.
//! 7. A read of the socket stops at the end of a message. The program may then post the next read, and its data goes
//!    directly to the receive buffer instead of through memory of the window.
//! 8. Beside links that are ready, what wakes the task is one closed set of reasons (`kernel/wake`), timers
//!    (`kernel/timers`), orders of the program and notices of the coordinator; `kernel/task` acts on each in one place.
//! 9. Copies and combinations of a collective are done in slices, by whoever has the links. What is left when a call returns is
//!    the task's to do. A blocking call does it itself, in the wait that follows, and does not wake the task for it.
//!
//! In deferred mode (`LATHIDE_OVERLAP=off`) the task owns progress only while a future waits, and `initwrite` sends
//! nothing: bytes move only inside a wait.
//!
//! # Controllers
//!
//! `kernel/tuning` has one file per controller. Each has a default that works without it, and a case of
//! `cargo bench --bench tuning` that shows what it gains.
//!
//! | controller | learns | sets |
//! | --- | --- | --- |
//! | `spin` | how soon messages come | how long a waiting thread polls before it sleeps |
//! | `poll_interval` | how much comes in during an interval | how often the task looks while a long message comes in |
//! | `batching` | how quickly small writes follow each other | whether a small write waits for the next |
//! | `notsent_lowat` | the rate of a link | how much unsent data its socket may hold |
//! | `pacing` | whether the loopback is shaped, how fast a connection within a host is, how close another host is | whether it is paced |
//!
//! **Unsent data (notsent-lowat).** A socket holds little data that is not sent yet (`TCP_NOTSENT_LOWAT`), so that a
//! small message can overtake a long one as late as possible. The limit is what the link sends in 6 ms while the
//! program computes, and in 0.5 ms while a thread helps: from 8 KiB to 1 MiB, and 32 KiB as long as the rate is
//! unknown. A thread that posts and finds the socket full raises the limit itself. With a lower limit a link of 1
//! Gbit/s runs dry while the task sleeps or waits for a core. With a higher one two messages to different ranks travel
//! at once, where one could arrive before the other. What remains is head-of-line delay in the system's own queues:
//! packets of 64 KiB, 0.5 ms each at 1 Gbit/s.
//!
//! **Order of messages.** Long messages of one tag leave one after the other; those of several tags take turns of four
//! fragments; small messages overtake all of them. A long message starts when its turn comes, so of many posted at once
//! the first arrives first and can be forwarded. There is one exception: if a small message of the same tag follows,
//! the headers of the long ones leave before it, since receivers match the messages of a tag in order.
//!
//! **Small-message batching.** Writes of up to 512 bytes that follow each other without a pause are batched from the
//! fourth on. Up to 64 leave in one system call: with the next call that is no small write, or by the task, which is
//! notified. Their bytes are copied when they are posted, so the buffer of each is free at once, and a wait for it sends
//! nothing. A write that does not follow others leaves within its own call. The same holds for short collectives that
//! follow each other and wait for nothing: a root's broadcasts and scatters, what other ranks send in gathers and reductions.
//!
//! **Long messages within a host.** Bytes that one call hands to the system are copied and delivered in one piece of work; with several
//! calls, sender and reader wait for each other's locks and acknowledgements between them. So where ranks of a host have cores of their
//! own, a message of 512 KiB or more leaves by calls of up to 1 MiB, and up to 4 MiB may be unacknowledged (`engine/outgoing/beside`);
//! otherwise a call has at most 256 KiB. A reader that needs the sender's core had better have it soon, while the bytes are in the caches.
//! A short message would wait behind all of that: once one comes while a long one is under way, the next eight long ones go as to any other
//! peer. Whoever takes a long buffer back waits for about as long as a copy of it takes for such a peer to acknowledge it, and need not copy
//! it then; after a wait in vain the next 16 go back at once (`kernel/listen`).
//!
//! **Pacing.** BBR, the default congestion control of many systems, paces: over loopback that costs half of the bandwidth, and there
//! is nothing to congest. So where BBR is the default, a connection over a loopback without a queueing discipline has `reno` from the
//! start (`join/loopback`).
//! It must be so early: Linux goes on to pace what has begun with BBR, by its window and round trip then, with a timer for each segment.
//! Any other connection within a host starts with the system's, and changes to `reno` once it has carried 1 MiB at more than 10
//! Gbit/s. In a job of three or more ranks, a connection between hosts whose shortest round trip is below 1 ms changes to
//! `reno` at once: its ranks share the ports of a switch in turns, and BBR takes a connection's share of a gather for its bandwidth, and paces later messages by it. The price: a long message fills the queue of a port, and a short one
//! behind it waits there (1 Gbit/s, one queue of 1 MB: 3 instead of 1.1 ms). All other links keep the system's default. Where that is BBR,
//! 60 to 127 KiB at a time leave in halves: the system's longest piece has a little less than 64 KiB, a short rest behind it leaves alone, and
//! BBR takes the rest's round trip for the bandwidth.
//!
//! **Short messages in turn.** A rank that has sent a short message reads one short message at a time (`engine/hearing`). The peer may have
//! sent two meanwhile; TCP acknowledges both at once, in a packet of its own, if a read takes them together. What stays in the socket is
//! acknowledged with the next message. Where two ranks exchange 8 bytes again and again, that saves a third of all packets
//! (`benches/results/2026-11-26-peers.md`).
//!
//! `cargo bench --bench p2p` shows the effect over loopback. What single decisions gained is in
//! `benches/results/2026-11-21-p2p.md` and `benches/results/2026-11-22-experiments.md`.
//!
//! # Observation
//!
//! Each of these threads records where its time goes. Under the lock, the core counts what passes over each link
//! ([`super::observing`]). Events for a timeline go through a bounded channel to a thread that writes them. If the
//! channel is full, events are dropped and counted. Observation never changes who drives.
//!
//! # Flow control
//!
//! A peer sends payload only where the receiver has memory for it: into the receive buffer of a posted read, or into
//! the link's *window* for unexpected messages. The window is 64 MiB by default. A message in it costs its bytes and
//! 256 more, for the receiver's tables. All windows of a node share its budget, 512 MiB by default. Of what was taken for
//! long messages, and for copies of what is not acknowledged, a process keeps up to 4 MiB for the next (`engine/spare`).
//!
//! So every socket can always be read, and every write ends. The kernel reads the links that are ready before it writes
//! (Strumpen 3.1.3). `initwrite` only writes: it sends as much as the socket takes, never blocks, and leaves the rest
//! to the task or to a waiting thread.
//!
//! Messages beyond the window use a rendezvous protocol:
//!
//! - The sender sends an *envelope*, the message's header without its payload, and waits for a *grant*.
//! - A matching read sends the grant.
//! - The number of envelopes is bounded too. A sender with more messages says that it *holds* some. Then every read
//!   that meets nothing sends a *want* with its tag, and the sender answers it with an envelope.
//!
//! So a program that completes when each wait may block until its partner has started completes here in bounded memory.
//!
//! # Cuts
//!
//! A link is the session between two ranks; it outlives its TCP connection. `engine/outgoing/retention` keeps what was sent
//! and not acknowledged, `engine/acknowledgement` decides when the peer is told what has come. Both count the bytes of
//! frames from the link's beginning, so nothing has to be rolled back when a connection breaks in the middle of a frame:
//! the parser goes on at the next byte. [Wire format](super::wire_format) has the rules and the bounds.
//!
//! If a connection ends and not all is said, the core takes the socket out and suspends the link (`kernel/core/cuts`).
//! The task has another made (`kernel/cuts`, `join/rejoin`), and hands it to the core with the peer's position. The
//! listener and the peers' addresses are kept for that while the job lives.
//!
//! TCP does not say that a connection's own address is gone. The line to the rendezvous listens to the system's news of
//! addresses (`join/interface`): it calls again from another one, the core takes down the links that have none any more, and
//! the rendezvous tells the others where to dial (`Report::Moved`).
//!
//! With checksums or encryption, `wire/records` stands between the engine and the socket: what leaves is put in records, and nothing of a
//! record that has come is looked at before it is found right. A wrong checksum ends the connection, and is then a cut like
//! any other. Without either, the core reads and writes the socket directly.
//!
//! **Lanes.** Long messages may go over connections of their own ([wire format](super::wire_format#lanes)): a short message then waits in no
//! buffer behind them. `engine/outgoing/lanes` decides what a lane takes, `engine/outgoing/carrying` sends it, `engine/lane` receives
//! it, `engine/incoming/parts` puts it in its place; `kernel/core/lanes` decides when a link has which. A `Path` (`ids`) names a
//! lane of a link: sockets, cuts, positions and rejoining are each a lane's. A wait that is met at once, again and again, polls its own
//! links only, and of these the first lane if what it waits for is shorter than 4 KiB; so each sixteenth look is at all sockets.
//!
//! What has come is acknowledged by whoever drives. For what remains, the task has a timer of 10 ms, which runs only as
//! long as something is to be told. When it ends, it leaves that to whoever polls, or waits again and again; if nobody has done so by
//! its next end, the task does. In deferred mode it says nothing outside of waits.
//!
//! # Reads of any origin
//!
//! They wait beside the links, by tag. A message meets the oldest read that waits for it, of its link or of any origin;
//! a new read meets the oldest message of that rank from which such reads have taken a message longest ago. So the order
//! within a sender stays, and no sender is passed over for ever. Such a read asks with a want only those ranks that hold
//! messages, each of them once until a message of the tag comes from there.
//!
//! # Reads that are given up
//!
//! A read that is cancelled or dropped and has met no message is withdrawn. If it has met one, `cancel` gives its handle
//! back. If such a handle is dropped, its message goes back to the link, also while it is still arriving, into the
//! same memory, and meets the next read of its tag. The window is not charged: that memory was the program's.
//!
//! # Waiting for many operations
//!
//! Members of a set tell it that they are complete, from within the completion. Nobody looks through a set: neither the
//! waiting thread nor the task.
//!
//! # Deadlock detection
//!
//! A node *waits* if a thread has been in a call of lathide for a second, if a future is pending, or if the program
//! keeps asking (`test`, `wait_timeout`) in vain. If no byte has moved meanwhile for three seconds
//! (`LATHIDE_DEADLOCK`), the task sends a snapshot of what is outstanding to the coordinator, once a second.
//!
//! A job is *ended* only if it is certain that it cannot move any more. Two conditions must hold for a set of ranks:
//!
//! - Nothing in their processes can act. Every thread, also one that has never called lathide, waits in a call without
//!   a deadline, or sleeps until another thread of its process wakes it, and has not run between two looks at it
//!   (`/proc/self/task`). Such a sleep is a futex without a timeout in memory that no other process shares: a mutex, a
//!   channel, `join`, `park`. No operator runs, and no engine has anything to send.
//! - No byte is in flight among these ranks, nor from a rank that has finished, by the counts of both ends. None of
//!   them waits for a rank outside the set.
//!
//! Then these ranks get [`crate::Error::Deadlock`], some five seconds after the last byte, with who waits for whom. A
//! launcher prints that once for all ranks, and the ranks' errors refer to it. This decides jobs of single-threaded
//! programs, of threads that all wait, and of futures on an executor that parks its thread.
//!
//! All else is only *reported*. If a thread computes, sleeps for a time or waits for a file, if a tokio runtime waits
//! for its own sockets, or if the program polls, it may still act. After ten seconds the launcher says who waits for
//! whom, at most twice a minute. Without a launcher, rank 0 does so, through `tracing` or on standard error.
//! `lathide run --timeout` prints the same for every rank before it ends the job.
//!
//! # Messages that do not fit their read
//!
//! Both sides get [`crate::Error::Mismatch`]: the read, and the write if its handle has not been waited for. A write
//! that was already complete (small messages are, at once) fails no other call: [`crate::Node::check`] returns its
//! error, or `finalize` does.
//!
//! The reader refuses a message when the message meets its read. Refusals leave before the confirmation of the writer's
//! goodbye. So a writer that finalizes at once still hears of all its messages that met their reads before that goodbye
//! arrived. Of a message that is read later, only the reader has the error.
//!
//! # Lost ranks
//!
//! A link that has been down for too long, or whose peer's process has ended, makes its peer a suspect. The victims of a failure end too, so for 300 ms the
//! coordinator may say which rank was lost first; then the node's own observation counts. Every operation of every rank
//! fails with [`crate::Error::PeerLost`], which names that rank, and so does every later call. Data that has arrived on
//! the links by then is processed first, since a message of the coordinator may overtake it. Bytes on an encrypted link
//! that the peer has not sealed are no loss of the peer, but [`crate::Error::Tampered`].
//!
//! # Invariants
//!
//! - Each room stands above all that it imports, and no files import each other in a circle (`tests/it/ladder` reads
//!   the sources and has the order).
//! - Pure rooms (`wire`, `engine`, `collective`, `lathide-models`) and the plain data name no socket, clock, thread or
//!   runtime, nor do the files that they import (`tests/it/ladder`).
//! - Only the package `lathide-sys` contains `unsafe`; all others forbid it.
//! - Only `runtime/cli` prints or exits (`tests/it/tidy.rs`). The library's one exception is the report of a job that
//!   does not move, if there is no launcher.
//! - Every operation completes exactly once: with data, with an error, or abandoned (`engine::sim`, 221 500 seeded
//!   runs).
//! - No allocation trusts a length that a peer declared. Every number from the wire is checked before use.
//! - The task never blocks. It runs code of the program in two places: the operators of collectives, without the lock,
//!   in slices of a millisecond or one element; and the wakers of futures that wait. A panic of an operator fails the
//!   collective.
//!
//! # Dependencies
//!
//! A crate that is kept up beats code of our own, outside of what lathide is for. Each has a reason.
//!
//! | crate | of | why |
//! | --- | --- | --- |
//! | `tokio` | library, command | the task's runtime: sockets while joining, timers, processes and signals of the launcher |
//! | `socket2`, `rustix` | both | socket options and system calls, in safe Rust |
//! | `bytes`, `bytemuck` | library | `Bytes` as a send buffer; elements as bytes without `unsafe` |
//! | `parking_lot` | both | a mutex that hands over, without poison |
//! | `crc32c` | library | checksums of links, by the processor's instruction where it has one |
//! | `crossbeam-channel` | library | the bounded channel of events |
//! | `foldhash` | library | hash tables of message ids, on the path of every message |
//! | `blake3`, `getrandom` | both | the handshake's keyed hashes, tags of control frames, digests of signatures; nonces |
//! | `snow` (feature `encrypt`) | library | the Noise protocol. Links use AES-GCM; snow 0.10 does not compile without the other suite |
//! | `ndarray` (feature `ndarray`) | library | arrays as buffers, and sections of them, for programs that have them |
//! | `if-addrs`, `ipnet` | library | the addresses of a host; networks as users write them |
//! | `serde`, `serde_json` | both | control frames, reports, timelines, results |
//! | `thiserror`, `tracing` | both | error types; what a program's own subscriber may hear |
//! | `clap`, `comfy-table`, `indicatif` | command | options, tables, progress |
//! | `clap_complete`, `clap_mangen` | command | completions of shells and manual pages, from the options |
//! | `strsim`, `terminal_size` | command | what somebody meant who wrote an unknown word; how wide a terminal is |
//! | `tracing-subscriber` | command | `RUST_LOG`; without the filter that needs regular expressions |
//! | `fastrand` | command, models | jitter and losses of emulated links, resampling in the bootstrap: the same in every run |
//! | `shell-words` | command | commands for remote shells, quoted right |
//! | `nix` | command | `unshare` and signal masks, which `rustix` offers as `unsafe` only; the names of signals |
//! | `netlink-*`, `tun-rs` | command | the lab's interfaces: rtnetlink messages and TUN devices are long to get right |
//! | `libc` | `lathide-sys` | the system calls that no safe crate has |
//! | `proptest`, `shuttle`, `syn`, `quote`, `toml` | tests | properties, schedules, the sources, golden data |
