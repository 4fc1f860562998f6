//! A switch with a rank at each port: a bridge, and a namespace for each rank.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::{Effort, rank};

/// Loss-based ones, where the collapse was seen, and the one that paces.
pub(super) const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];

/// Lets this process be alone in namespaces of its own, where it may make networks. What it starts ends with it.
const ALONE: [&str; 6] = ["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// One namespace per rank, each with its end of a cable to the bridge; the bucket is on the bridge's end towards rank 0.
/// `$1` ranks, `$2` rate, `$3` queue, `$4` congestion control; then the program.
const NETWORK: &str = r#"set -e; ranks=$1 rate=$2 queue=$3 control=$4; shift 4
own=$(readlink /proc/self/ns/net)
ip link add name br0 type bridge
ip link set br0 up
export LATHIDE_SIZE=$ranks LATHIDE_ROOT=10.9.0.1:27000
rank=0
while [ $rank -lt $ranks ]; do
    LATHIDE_RANK=$rank unshare --net sh -c '
        until ip link set eth0 up 2>/dev/null; do sleep 0.01; done
        ip link set lo up
        ip addr add 10.9.0.$((LATHIDE_RANK + 1))/24 dev eth0
        echo '$control' > /proc/sys/net/ipv4/tcp_congestion_control
        "$@"; status=$?
        # Its end of the cable takes the bucket along: what that has counted is asked for first.
        [ $LATHIDE_RANK != 0 ] || sleep 0.5
        exit $status' sh "$@" &
    pid=$!
    while [ "$(readlink /proc/$pid/ns/net)" = "$own" ]; do sleep 0.01; done
    ip link add name port$rank type veth peer name end$rank
    ip link set port$rank master br0 up
    ip link set end$rank netns $pid name eth0
    pids="${pids:+$pids }$pid"
    rank=$((rank + 1))
done
tc qdisc add dev port0 root tbf rate $rate burst 70k limit $queue
root=${pids%% *} others=${pids#* }
for pid in $others; do wait $pid; done
sleep 0.1
tc -s qdisc show dev port0 | sed -n 's/.*dropped \([0-9]*\).*/  dropped by the queue in all: \1/p'
wait $root"#;

/// Whether this system lets us make such a network.
pub(super) fn is_allowed() -> Result<(), String> {
    let tried =
        Command::new("unshare").args(ALONE).args(["ip", "link", "add", "name", "br0", "type", "bridge"]).output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("unshare: {error}")),
    }
}

/// Measures every gather under one congestion control, and prints what it was.
pub(super) fn measure(effort: &Effort, control: &str) -> Result<(), String> {
    let Effort { senders, rate, queue, repeats } = effort;
    let allowed = Command::new("unshare")
        .args(ALONE)
        .args(["sh", "-c", "echo $1 > /proc/sys/net/ipv4/tcp_congestion_control", "sh", control])
        .stderr(Stdio::null())
        .status();
    if !allowed.is_ok_and(|status| status.success()) {
        println!("{control}: this system does not let us choose it");
        return Ok(());
    }
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let key = KeyFile::new().map_err(|error| format!("the job's key: {error}"))?;
    println!("{control}, {senders} senders, {rate}, a queue of {queue}:");
    let mut command = Command::new("unshare");
    command.args(ALONE).args(["sh", "-c", NETWORK, "sh", &(senders + 1).to_string(), rate, queue, control]).arg(this);
    command
        .env(rank::IS_RANK, "1")
        .env(rank::REPEATS, repeats.to_string())
        .env(rank::QUEUE, bytes(queue)?.to_string())
        .env("LATHIDE_KEY_FILE", &key.0);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{control}: the ranks ended with {status}")),
        Err(error) => Err(format!("unshare: {error}")),
    }
}

/// As tc understands it: `128k`, `1mb`, `65536`.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        _ => 0,
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale)).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("--queue {text}: this is a number of bytes, such as 128k"))
}

/// The job's key, readable by its owner alone, for as long as it is needed.
struct KeyFile(std::path::PathBuf);

impl KeyFile {
    fn new() -> std::io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(std::io::Error::other)?;
        let path = std::env::temp_dir().join(format!("lathide-incast-{}", std::process::id()));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(&key)?;
        Ok(KeyFile(path))
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
