//! A link that the kernel shapes: a network namespace of our own, whose loopback has a token bucket for each direction.
//!
//! No privileges are needed where user namespaces are allowed. Both ranks are at 127.0.0.1; what tells the directions
//! apart is the source port: Linux gives odd ports to those who listen and even ones to those who connect. The
//! bucket holds a packet of 64 KiB with its headers, so that segments need not be cut in software; with more, a message
//! after a pause would pass faster than the link.

use std::process::Command;

/// Makes the link at `$1`, then runs the rest.
const SHAPE: &str = "set -e; rate=$1; shift
ip link set lo up mtu 1500
tc qdisc add dev lo root handle 1: htb default 1
for class in 1 2; do
    tc class add dev lo parent 1: classid 1:$class htb rate 100gbit quantum 200000
    tc qdisc add dev lo parent 1:$class tbf rate $rate burst 70k limit 1mb
done
tc filter add dev lo parent 1: protocol ip u32 match ip sport 1 1 flowid 1:2
exec \"$@\"";

/// Runs what is added to it on a link of this rate, as tc understands it.
pub(crate) fn within(rate: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", SHAPE, "sh", rate]);
    command
}

/// Whether this system lets us shape.
pub(crate) fn is_allowed(rate: &str) -> bool {
    within(rate).arg("true").output().is_ok_and(|output| output.status.success())
}
