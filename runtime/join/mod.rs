//! Joining a job: everything between the start of a process and the moment when its links are open and authenticated, and what watches
//! over it until it leaves.
//!
//! | module | what |
//! | --- | --- |
//! | `environment`, `variables`, `foreign`, `invitation` | who this process is: from our launcher, from another's variables, or by a file |
//! | `interface`, `listening`, `discovery` | the addresses of this host, a port to listen on, and where the others meet |
//! | `rendezvous`, `coordinator`, `events`, `control` | the service that all ranks report to, its decisions, what reaches it, its messages |
//! | `rank_slot`, `failures` | what it knows of each rank, and who has gone in which order |
//! | `caller`, `answering`, `redial` | the line between a node and that service: both its ends, and calling again after a cut |
//! | `lines`, `framing`, `session` | one connection of such a line, its frames, and what outlives it (the latter two are pure) |
//! | `handshake`, `pending`, `descriptors` | connections that authenticate, and how many may not have yet |
//! | `mesh` | a link to each other rank |
//! | `loopback` | connections over a loopback that nobody shapes are not paced |
//! | `socket_buffer` | how large a link's buffers in the system are |
//! | `keepalive` | a host that is gone is noticed |
//! | `deadlock` | who waits for whom, and whether that can end (pure) |
//! | `cores` | whether each rank of a host has a core of its own (pure) |

mod answering;
pub(crate) mod caller;
pub(crate) mod control;
mod coordinator;
pub(crate) mod cores;
pub(crate) mod deadlock;
pub(crate) mod descriptors;
pub(crate) mod discovery;
pub(crate) mod environment;
pub(crate) mod events;
mod failures;
pub(crate) mod foreign;
pub(crate) mod framing;
pub(crate) mod handshake;
pub(crate) mod interface;
pub(crate) mod invitation;
pub(crate) mod keepalive;
pub(crate) mod lines;
pub(crate) mod listening;
pub(crate) mod loopback;
pub(crate) mod mesh;
mod pending;
mod rank_slot;
mod redial;
pub(crate) mod rejoin;
pub(crate) mod rendezvous;
mod session;
pub(crate) mod socket_buffer;
pub(crate) mod variables;
