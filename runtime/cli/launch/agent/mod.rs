//! Jobs over several hosts: the launcher starts one agent on each, and the agent starts that host's ranks.
//!
//! An agent is the `lathide` program itself. It speaks lines of JSON on its standard input and output with the launcher, which
//! reaches it through `ssh`, `srun`, a virtual network, or directly on its own host. When its input ends, so does
//! everything it has started; but the end of an ssh connection without the launcher's last word is a cut, after which the
//! launcher comes back and both go on where they were.

mod addresses;
mod bootstrap;
mod bridge;
mod connection;
mod doctor;
mod errand;
mod examine;
mod exchange;
pub(super) mod fleet;
mod haven;
pub(super) mod hosts;
mod keep;
pub(super) mod lines;
mod messages;
mod private;
mod resumption;
mod serve;
mod session;
mod starter;
mod stay;
mod together;
mod will;

pub(crate) use bridge::resume;
pub(crate) use doctor::{Examination, Examined, LAUNCHER, Pair, diagnose};
pub(crate) use hosts::{Hosts, ReachOptions};
pub(crate) use messages::Facts;
pub(crate) use serve::serve;
pub(crate) use will::carry_out;

/// What launcher and agents tell each other, if it is that.
#[cfg(fuzzing)]
pub(crate) fn fuzz(line: &[u8]) {
    let orders = serde_json::from_slice::<messages::ToAgent>(line).ok().map(|said| serde_json::to_vec(&said));
    let answers = serde_json::from_slice::<messages::FromAgent>(line).ok().map(|said| serde_json::to_vec(&said));
    for said in [orders, answers].into_iter().flatten() {
        said.expect("what was read can be written");
    }
}
