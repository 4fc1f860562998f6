//! Windows: one-sided communication, how it is carried out, and what it costs.
//!
//! A window ([`Node::window`](crate::Node::window)) is a vector of each rank that every rank reads and writes by
//! [`Window`](crate::Window)'s calls. The rank whose part it is calls nothing for that. Its kernel thread answers while the
//! program computes, which MPI over plain TCP does not: there, a target makes progress inside its own calls only.
//!
//! | here | MPI |
//! | --- | --- |
//! | [`Node::window`](crate::Node::window), [`Window::into_inner`](crate::Window::into_inner) | `MPI_Win_create`, `MPI_Win_free` |
//! | [`Window::get`](crate::Window::get), [`Window::put`](crate::Window::put) | `MPI_Rget`, `MPI_Rput` |
//! | [`Window::accumulate`](crate::Window::accumulate) | `MPI_Raccumulate` |
//! | [`Window::fetch_update`](crate::Window::fetch_update) | `MPI_Fetch_and_op` |
//! | [`Window::compare_exchange`](crate::Window::compare_exchange) | `MPI_Compare_and_swap` |
//! | [`Window::flush`](crate::Window::flush) | `MPI_Win_flush` |
//! | [`Window::fence`](crate::Window::fence) | `MPI_Win_fence` |
//! | [`Window::read`](crate::Window::read), [`Window::write`](crate::Window::write) | `MPI_Win_lock` of the own rank |
//!
//! # A task counter
//!
//! Ranks take numbers of tasks from a counter that rank 0 has. Rank 0 computes as they do:
//!
//! ```
//! use lathide::Update;
//! let node = lathide::init()?;
//! let counter = node.window(if node.rank() == 0 { vec![0u64] } else { vec![] })?;
//! let mut sum = 0;
//! loop {
//!     let task = counter.fetch_update(0, 0, 1, Update::Sum)?.wait()?;
//!     if task >= 100 {
//!         break;
//!     }
//!     sum += task * task;                          // the task
//! }
//! let sum = node.allreduce(&lathide::Operator::sum(), vec![sum])?;
//! assert_eq!(sum, [328_350]);
//! counter.into_inner()?;
//! node.finalize()?;
//! # Ok::<_, lathide::Error>(())
//! ```
//!
//! # How it is carried out
//!
//! An operation is a request to its target. Operands of at most 512 bytes travel with it; longer ones follow in messages of
//! at most 256 KiB, and so does what it brings back. The target carries out the requests of one rank in their order, and
//! holds at most 64 of them and 1 MiB of operands of each rank; what waits beyond that waits at its sender, under the same
//! credit as messages that nobody reads ([wire format](super::wire_format)). Replies to one rank take as much. So a window's
//! operations need little memory beside the window, however long they are.
//!
//! A `put` is not answered. Its handle is complete when its buffer has left, and [`Window::flush`](crate::Window::flush) is
//! the round trip that tells that it is there. A `get` is one round trip.
//!
//! While the program is in [`Window::read`](crate::Window::read) or [`Window::write`](crate::Window::write), requests that
//! need the memory wait, and so do later ones of the same ranks. The kernel thread does not wait with them: other messages,
//! collectives and other ranks' requests go on. Whoever leaves the closure carries out what has waited.
//!
//! With `LATHIDE_OVERLAP=off` bytes move only inside waits, and so does all this: a target answers while one of its threads
//! waits in any call, or tests a handle.
//!
//! A deadlock is found with windows as without them. A rank that waits for a `get` or a flush waits for its target. That is
//! answered at once, unless the program there has the memory; so a rank that computes with it is waited for, and one that
//! waits for the first rank while it has the memory is a deadlock.
