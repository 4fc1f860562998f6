//! Links that the kernel shapes: a network namespace of our own, whose loopback has a token bucket for each direction.
//!
//! No privileges are needed where user namespaces are allowed. Both ranks are at 127.0.0.1; what tells the directions
//! apart is the source port: Linux gives odd ports to those who listen and even ones to those who connect. The
//! bucket holds two packets of 64 KiB, so that segments need not be cut in software.

use std::process::Command;

use serde_json::Value;

use super::{LATHIDE, json_of};

/// A rate, for the kernel and for the emulated link that stands in.
pub(super) struct Rate {
    pub(super) tbf: &'static str,
    pub(super) emulated: &'static str,
}

/// Makes the link at `$1`, then runs the rest.
const SHAPE: &str = "set -e; rate=$1; shift
ip link set lo up mtu 1500
tc qdisc add dev lo root handle 1: htb default 1
for class in 1 2; do
    tc class add dev lo parent 1: classid 1:$class htb rate 100gbit quantum 200000
    tc qdisc add dev lo parent 1:$class tbf rate $rate burst 128k limit 1mb
done
tc filter add dev lo parent 1: protocol ip u32 match ip sport 1 1 flowid 1:2
exec \"$@\"";

fn within(rate: &Rate) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", SHAPE, "sh", rate.tbf]);
    command
}

/// Whether this system lets us shape.
fn is_allowed(rate: &Rate) -> bool {
    within(rate).arg("true").output().is_ok_and(|output| output.status.success())
}

/// `lathide link` on a link of this rate, on all cores or on `core`; and how the link was made.
pub(super) fn link(rate: &Rate, core: Option<&str>, arguments: &[&str]) -> Result<(Value, &'static str), String> {
    measure(rate, core, "link", arguments)
}

/// `lathide gain` on a link of this rate; and how the link was made.
pub(super) fn gain(rate: &Rate, arguments: &[&str]) -> Result<(Value, &'static str), String> {
    measure(rate, None, "gain", arguments)
}

fn measure(rate: &Rate, core: Option<&str>, what: &str, arguments: &[&str]) -> Result<(Value, &'static str), String> {
    let (mut command, link, how) = match is_allowed(rate) {
        true => (within(rate), "loopback", "tbf"),
        false => (Command::new("env"), rate.emulated, "emulated"),
    };
    if let Some(core) = core {
        command.args(["taskset", "--cpu-list", core]);
    }
    command.args([LATHIDE, what, "--json", "--link", link]).args(arguments);
    json_of(&mut command).map(|json| (json, how))
}
