//! Controllers: what a node learns of its links and cores while it runs, and does by it. Each has a default that is right without
//! them, and a bench that shows what it gains.
//!
//! | controller | learns | sets |
//! | --- | --- | --- |
//! | [`spin`] | how soon messages come | how long a waiting thread polls before it sleeps |
//! | [`poll_interval`] | how much comes in a pause | how often the task looks while a long message comes in and the program computes |
//! | [`batching`] | how quickly small writes follow each other | whether one waits for the next |
//! | [`notsent_lowat`] | the rate of a link | how much its socket holds that is not sent |
//! | [`pacing`] | whether a connection within a host is shaped | whether it is paced |

pub(super) mod batching;
pub(super) mod notsent_lowat;
pub(super) mod pacing;
pub(super) mod poll_interval;
pub(super) mod spin;
