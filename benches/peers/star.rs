//! A switch with a rank at each port, on this machine: a namespace for each rank, with one link to a bridge that passes so many bits
//! per second each way. No privileges are needed where user namespaces are allowed.

use std::path::Path;
use std::process::Command;

/// Lets a process be alone in namespaces of its own, where it may make networks. What it starts ends with it.
const ALONE: [&str; 6] = ["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Makes the network of `$1` ranks at rate `$2`, says in the folder `$3` where each rank's namespace is, and runs the rest. The
/// bucket holds a packet of 64 KiB with its headers, so that segments need not be cut in software.
const NETWORK: &str = r#"set -e; ranks=$1 rate=$2 folder=$3; shift 3
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
    tc qdisc add dev port$rank root tbf rate $rate burst 70k limit 1mb
    nsenter --net=/proc/$pid/ns/net sh -ec "
        ip link set lo up
        ip link set eth0 up
        ip addr add 10.9.0.$((rank + 1))/24 dev eth0
        tc qdisc add dev eth0 root tbf rate $rate burst 70k limit 1mb"
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

/// Runs what is added to it in such a network.
pub(crate) fn network(ranks: u32, rate: &str, folder: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(ALONE).args(["sh", "-c", NETWORK, "sh", &ranks.to_string(), rate]).arg(folder);
    command
}

/// Says why not if this system does not let us make one.
pub(crate) fn check(folder: &Path) -> Result<(), String> {
    match network(1, "1gbit", folder).arg("true").output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " / ")),
        Err(error) => Err(format!("unshare: {error}")),
    }
}
