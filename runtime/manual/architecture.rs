//! Who does what, on which thread, and what holds for ever.
//!
//! # The parts
//!
//! The **engine** is the protocol without I/O: it matches reads and writes, cuts messages into fragments, keeps the
//! credit. It knows no socket, clock or thread; bytes come in, bytes go out, time is an argument. The **kernel**
//! holds it together with the sockets under one lock, and runs one tokio task per node on a thread of its own
//! (Strumpen's communication kernel, section 3.2, was a process). The **node** and its **handles** are what
//! programs see. **launch** starts processes and lets them find each other; **model** holds the papers' equations.
//!
//! # Who drives
//!
//! Whoever has bytes to move takes the lock and drives the engine; nobody holds the lock while sleeping.
//!
//! 1. `initwrite` sends the first burst from the calling thread. A small message is gone before the call returns.
//! 2. A thread that waits *helps*: it polls its peers' sockets for up to 100 us, if every rank of the host can have a core
//!    of its own (the rendezvous compares where they may run: bound or not, in containers or not), yielding its core between two looks; then it sleeps in epoll on the sockets themselves, so the
//!    system wakes it directly. Whether polling pays is learnt from the waits before, apart for a message that has not
//!    begun and for more of one that has: on a fast link the rest comes soon, on a slow one it does not. One thread at
//!    a time helps; others park until their operation is complete or the helper passes the baton on.
//! 3. While the program computes, the task watches all links through one descriptor, the *gate*: an epoll instance
//!    that holds the epoll instance of the links. A helper closes it with one call, so that the task is not woken for
//!    packets the helper takes. A program that has computed (200 us or more between two calls) gets the task at
//!    once when its wait ends. Where calls follow each other closely the gate stays closed, and the task looks every
//!    millisecond whether they still do; meanwhile the system's socket buffers carry on.
//!    While a long message comes in it *rests*: it looks every 2 ms, on slower links every 4, and takes what has
//!    gathered, since each wake-up costs the computation more than a packet's bytes do. That goes on as long as a rest
//!    brings some packets, and not while a future waits. At 1 Gbit/s the task woke 5 times per MiB of an exchange
//!    instead of 17, and took 350 us of processor time instead of 620 (counted once with a program that is not kept; no
//!    command repeats it).
//! 4. A read of the socket stops where a message is complete: the program may post the next read, and what follows
//!    then goes straight to its place instead of through memory of the window (64 KiB messages: 1.4 to 5 GB/s).
//!
//! A socket holds little that is not sent yet (TCP_NOTSENT_LOWAT), so that a small message passes a large one to the
//! last: what the link sends in 6 ms while the program computes, in half a millisecond while a thread helps, from 8 KiB
//! to 1 MiB (32 KiB as long as nothing is known of the link). Whoever posts and finds the socket full raises the limit
//! itself: 64 KiB over 100 Mbit/s are handed over before the program computes, and no task must get a core for it. With 32
//! KiB at least, two messages of 32 KiB from one rank passed at once (a tree's broadcast over 50 Mbit/s: 16.8 ms, now
//! 13.0). Less, and a link of 1 Gbit/s runs dry while the task rests or waits for a core that computes (with 260 us
//! G fell from 1.57 to 1.34). Without a limit, 8 bytes during 32 MiB to the same peer take 145 ms at 100 Mbit/s (tbf,
//! BBR); with it 5. What is left are packets of 64 KiB in the system's own queues: 0.5 ms each at 1 Gbit/s.
//!
//! Long messages of one tag leave one after the other, those of several tags in turns of four fragments; small ones pass
//! them all. A long message opens when its turn comes, so of many posted at once the first is there first, and can be
//! passed on. (First fragments of all once went before the rest of any: a chain's broadcast of 512 KiB in 64 segments among
//! four ranks then took 148 ms over 50 Mbit/s instead of 94.) Only if a small message of their tag follows, they are
//! opened before it, since receivers match a tag's messages in order.
//!
//! Small writes (up to 512 bytes) that follow each other without a pause are gathered from the fourth on: up to 64 leave
//! in one call, with the next call that is no small write, or with the task, which is told. One that is followed by a
//! wait or a computation leaves within its own call. 8-byte messages one way: 7 times the rate of one raw write each.
//!
//! A connection within a host begins with the system's congestion control, and changes to `reno` once it has carried a
//! mebibyte at more than 10 Gbit/s. BBR, the default of many systems, paces: over loopback that costs half of the
//! bandwidth, and there is nothing to congest. Links between hosts, and shaped ones, keep the system's default: on a
//! shaped loopback `reno` would save a computing core 2 % (BBR's timers), but 8 bytes beside a long message would
//! wait 3 ms at 1 Gbit/s instead of 1.1.
//!
//! In deferred mode (`LATHIDE_OVERLAP=off`) the gate stays closed unless a future waits, and `initwrite` sends nothing:
//! bytes move only inside a wait.
//!
//! The ways were compared, each built in turn, by `cargo bench --bench p2p` on two cores, Linux 6.18, loopback, 8
//! bytes, one way, against blocking raw TCP in the same run: without polling 0.88 of it, with polling 0.15 (4.6 us);
//! with another program on one core, so that both ranks share the other, polling without yielding took 2.05, not
//! polling 1.36, polling with yielding 1.23.
//!
//! # What is observed
//!
//! Each of these threads tells the **observer** where its time goes, and under the lock the core counts what passes over
//! each link ([`super::observing`]). Events for a timeline go through a bounded channel to a thread that writes them;
//! when it is full they are dropped and counted. Nothing that is observed changes who drives.
//!
//! # Why nothing deadlocks that need not
//!
//! A peer sends payload only into a place the receiver has reserved: a posted read, or the link's *window* for
//! unexpected data (64 MiB by default; each message costs its bytes and 256 more, which is what the receiver's tables take for it; all
//! windows of a node share its budget, 512 MiB by default). So every socket can always be
//! read, every write ends, and before a link is written it is read (Strumpen 3.1.3). A message beyond the window
//! sends an *envelope*, and waits for a *grant*, which a matching read gives. Envelopes are bounded too; a sender
//! with more says that it *holds* messages, and then every read that meets nothing *wants* its message by tag. So a
//! program that completes when each wait may block until its partner has started completes here in bounded memory.
//!
//! # When nothing moves
//!
//! A node *waits* if a thread has been in a call of lathide's for a second, if a future is pending, or if the program
//! keeps asking (`test`, `wait_timeout`) in vain. If no byte has moved meanwhile for three seconds (`LATHIDE_DEADLOCK`), the
//! task tells the rendezvous once a second what is outstanding.
//!
//! A job is *ended* only if that is certain to last. Two things must hold for a set of ranks. First, nothing in their
//! processes can act: every thread, also one that has never called lathide, either waits in a call without a deadline or
//! sleeps until another thread of its process wakes it (a futex without a timeout in memory that no other process shares:
//! a mutex, a channel, `join`, `park`), and has not run between two looks at it (`/proc/self/task`); no operator runs; no
//! engine has anything to send. Second, no byte is under way among these ranks, by the counts of both ends, nor from one
//! that has finished, and none waits for a rank outside the set. Then they get [`crate::Error::Deadlock`], some
//! five seconds after the last byte, with who waits for whom; a launcher says that once for all, and the ranks' errors
//! point there. Jobs of single-threaded programs, of threads that all wait, or of futures on an executor that parks its
//! thread are decided so.
//!
//! All else is *reported*: where a thread computes, sleeps for a time or waits for a file, where a tokio runtime waits
//! for its own sockets, where the program polls, nobody can know what it will do. After ten seconds the launcher
//! (without one rank 0, through `tracing` or on standard error) says who waits for whom, at most twice a minute. `lathide run
//! --timeout` says the same of every rank before it ends the job.
//!
//! # When a message does not fit its read
//!
//! Both sides get [`crate::Error::Mismatch`]: the read, and the write if its handle has not been waited for. A write that
//! was over by then (small messages are, at once) fails no other call: [`crate::Node::check`] returns its error, or
//! finalize does. The reader refuses a message when it meets its read, and refusals leave before the confirmation of the
//! writer's goodbye. So a writer that finalizes at once still hears of all its messages that met their reads before that
//! goodbye was heard; of one that is read later, only the reader knows.
//!
//! # When a rank is lost
//!
//! A connection that ends without goodbye makes its peer a suspect. For 300 ms the rendezvous may say who was lost
//! first, since the victims of a failure end too; then what was seen stands. Every operation of every rank fails
//! with [`crate::Error::PeerLost`] naming that rank, and so does every later call. What had come by then on the links
//! counts first: news by way of the rendezvous may overtake it. Bytes on an encrypted link that the peer has not sealed
//! are nobody's loss, but [`crate::Error::Tampered`].
//!
//! # Invariants
//!
//! - Each module stands above all that it imports, and no files import each other in a circle (`tests/it/ladder` reads
//!   the sources and has the order).
//! - Pure modules (ids, error, config, wire, engine, model, collective schedules) name no socket, clock, thread or
//!   runtime, nor do the files that they import; only `runtime/slice` is `unsafe` (`tests/it/ladder`).
//! - Only `runtime/bin` prints or exits (but for a standstill without a launcher; `tests/it/tidy.rs`).
//! - Every operation completes exactly once: with data, an error, or abandoned (`engine::sim`, 27 500 seeded runs).
//! - No allocation trusts a length a peer declared; every number from the wire is checked before use.
//! - The task never blocks. It runs code of the program's in two places: the operators of collectives, without the lock, in
//!   slices of a millisecond or one element, a panic of which fails the collective; and the wakers of futures that wait.
//! - Order holds per (peer, tag); nothing is promised across tags or peers.
