//! Controllers: what a node learns of its links and cores while it runs, and does by it. Each has a default that is right without
//! it, and a case of `cargo bench --bench tuning` that shows what it gains: there one job does with it and one without
//! ([`Controller`](crate::controllers::Controller)).
//!
//! | controller | learns | sets | case of the bench |
//! | --- | --- | --- | --- |
//! | [`spin`] | how soon messages come | how long a waiting thread polls before it sleeps | `spin`: 8 B back and forth |
//! | [`poll_interval`] | how much comes in a pause | how often the task looks while a long message comes in and the program computes | `poll_interval`: a rank computes while it reads 8 MiB at 1 Gbit/s; processor time, overlap |
//! | [`batching`] | how quickly small writes follow each other | whether one waits for the next | `batching`: 10 000 writes of 8 B at once, or broadcasts in a row |
//! | [`notsent_lowat`] | the rate of a link | how much its socket holds that is not sent | `notsent_lowat/overlap`: a rank computes while it writes 1 MiB at 1 Gbit/s; `notsent_lowat/behind`: 8 B behind 1 MiB at 100 Mbit/s |
//! | [`pacing`] | how fast a connection within a host is, how close another host is | whether it is paced | `pacing`: 4 MiB one way over loopback under bbr; between hosts the bench `peers`, `--only shaped-collectives-8` |
//! | `engine/batch.rs` | whether a socket takes whatever it is given | how many fragments share a header | `fragment_batch`: 1 MiB one way; bandwidth, processor time |

pub(super) mod batching;
pub(super) mod notsent_lowat;
pub(super) mod pacing;
pub(super) mod poll_interval;
pub(super) mod spin;
