//! A switch with a rank at each port, on this machine: a namespace for each rank, with one link to a bridge that passes so many bits
//! per second each way. No privileges are needed where user namespaces are allowed.

use std::path::Path;
use std::process::Command;

/// Lets a process be alone in namespaces of its own, where it may make networks. What it starts ends with it.
const ALONE: [&str; 6] = ["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Makes the network of `$1` ranks at rate `$2`, says in the folder `$4` where each rank's namespace is, and runs the rest. The
/// bucket holds a packet of 64 KiB with its headers, so that segments need not be cut in software. If `$3` is `classes`, each
/// device has one for what is expedited (DSCP 46), with 100 Mbit/s for itself, and one for the rest with 900.
const NETWORK: &str = r#"set -e; ranks=$1 rate=$2 classes=$3 folder=$4; shift 4
shape() {
    if [ "$classes" = classes ]; then
        echo "tc qdisc add dev $1 root handle 1: htb default 20
        tc class add dev $1 parent 1: classid 1:1 htb rate $rate ceil $rate burst 70k cburst 70k
        tc class add dev $1 parent 1:1 classid 1:10 htb rate 100mbit ceil $rate prio 0
        tc class add dev $1 parent 1:1 classid 1:20 htb rate 900mbit ceil $rate prio 1
        tc filter add dev $1 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10"
    else
        echo "tc qdisc add dev $1 root tbf rate $rate burst 70k limit 1mb"
    fi
}
ip link set lo up
ip link add name br0 type bridge
ip link set br0 up
ip addr add 10.9.0.254/24 dev br0
own=$(readlink /proc/self/ns/net)
rank=0
while [ $rank -lt $ranks ]; do
    unshare --net sleep 1000 &
    pid=$!
    while [ "$(readlink /proc/$pid/ns/net)" = "$own" ]; do sleep 0.01; done
    ip link add name port$rank type veth peer name end$rank
    ip link set port$rank master br0 up
    ip link set end$rank netns $pid name eth0
    shape port$rank | sh -e
    nsenter --net=/proc/$pid/ns/net sh -ec "
        ip link set lo up
        ip link set eth0 up
        ip addr add 10.9.0.$((rank + 1))/24 dev eth0
        $(shape eth0)"
    echo $pid > "$folder/namespace$rank"
    rank=$((rank + 1))
done
"$@""#;

/// Runs the rest in the namespace of its rank, which a launcher or this bench says; `$0` is the folder.
pub(crate) const INSIDE: &str = r#"rank=${PEERS_RANK:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
exec nsenter --net=/proc/$(cat "$0/namespace$rank")/ns/net "$@""#;

/// Starts `$1` ranks of the rest, and waits for them all; only rank 0 prints. `$0` is the folder.
pub(crate) const EACH: &str = r#"ranks=$1 rank=1; shift
while [ $rank -lt $ranks ]; do
    PEERS_RANK=$rank "$@" > "$0/other" &
    pids="$pids $!"
    rank=$((rank + 1))
done
PEERS_RANK=0 "$@" || exit
for pid in $pids; do wait $pid || exit; done"#;

/// Where rank 0 can be reached.
pub(crate) const ADDRESS: &str = "10.9.0.1:27000";
/// What an MPI's ranks reach their launcher by, and each other.
pub(crate) const LAUNCHER: &str = "br0";
pub(crate) const INTERFACE: &str = "eth0";

/// Runs what is added to it in such a network, whose links have this rate, and classes or not.
pub(crate) fn network(ranks: u32, (rate, has_classes): (&str, bool), folder: &Path) -> Command {
    let mut command = Command::new("unshare");
    let classes = if has_classes { "classes" } else { "" };
    command.args(ALONE).args(["sh", "-c", NETWORK, "sh", &ranks.to_string(), rate, classes]).arg(folder);
    command
}

/// Says why not if this system does not let us make one.
pub(crate) fn check(folder: &Path) -> Result<(), String> {
    match network(1, ("1gbit", true), folder).arg("true").output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " / ")),
        Err(error) => Err(format!("unshare: {error}")),
    }
}
