//! Jobs on hosts without IPv4.
//!
//! Where the system allows no namespaces, or has no `ip` to set them up, some are skipped, unless LATHIDE_LAB_REQUIRED=1.

use std::net::{Ipv6Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::examples::example;
use crate::process::{Finished, run};
use crate::support::KEY;

pub(crate) const LATHIDE: &str = env!("CARGO_BIN_EXE_lathide");

/// A folder of one test, removed with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lathide-{name}-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path).expect("a folder");
        Folder(path)
    }

    pub(crate) fn write(&self, name: &str, text: &[u8], mode: u32) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("its owner");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A shell script in a network of its own; `$1` is lathide, `$2` the example `ring`, then come `args`.
pub(crate) fn alone(setup: &str, script: &str, args: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    let script = format!("exec 2>&1\nset -e\n{setup}\n{script}");
    command.args(["--user", "--map-root-user", "--net", "--mount", "--kill-child", "sh", "-c", &script, "sh", LATHIDE]);
    command.arg(example("ring")).args(args).env_remove("LATHIDE_LAB").env_remove("SSH_CONNECTION");
    command
}

/// Whether this machine can do that. Says so if not.
#[track_caller]
pub(crate) fn is_possible() -> bool {
    static POSSIBLE: OnceLock<Result<(), String>> = OnceLock::new();
    let possible = POSSIBLE.get_or_init(|| {
        let tried = run(&mut alone(ONLY_IPV6, "true", &[]));
        if tried.status == Some(0) { Ok(()) } else { Err(format!("no namespace without IPv4: {tried:?}")) }
    });
    let Err(why) = possible else { return true };
    assert!(std::env::var_os("LATHIDE_LAB_REQUIRED").is_none_or(|value| value != "1"), "{why}");
    eprintln!("skipped: {why}");
    false
}

/// Loopback without IPv4, with addresses of three hosts.
const ONLY_IPV6: &str = "ip link set lo up; ip addr del 127.0.0.1/8 dev lo
    for host in 1 3 4; do ip addr add fd00::$host/128 dev lo nodad; done
    if ip -4 addr show | grep -q inet; then exit 9; fi";

pub(crate) fn rings(finished: &Finished, times: usize) {
    assert_eq!(finished.status, Some(0), "{}", finished.stdout);
    assert_eq!(finished.stdout.matches("the token came back").count(), times, "{}", finished.stdout);
}

#[test]
fn two_processes_meet_at_an_ipv6_address() {
    let Ok(free) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        eprintln!("skipped: this machine has no IPv6");
        return;
    };
    let root = free.local_addr().expect("bound").to_string();
    assert!(root.starts_with("[::1]:"), "{root}");
    drop(free);
    let folder = Folder::new("meeting-6");
    let key = folder.write("key", &KEY, 0o600);
    let rank = |rank: &str| {
        let mut command = Command::new(example("ring"));
        command.env("LATHIDE_SIZE", "2").env("LATHIDE_RANK", rank).env("LATHIDE_ROOT", &root);
        command.env("LATHIDE_KEY_FILE", &key).stdin(Stdio::null());
        command
    };
    let other = std::thread::spawn({
        let mut other = rank("1");
        move || run(&mut other)
    });
    rings(&run(&mut rank("0")), 1);
    other.join().expect("it ran").succeeded();
}

#[test]
fn a_local_job_needs_no_ipv4() {
    if !is_possible() {
        return;
    }
    let script = "$1 run -n 2 $2; $1 run -n 2 --link delay=1ms $2; $1 run --hosts localhost:2 $2
        $1 link --link delay=0.1ms --seconds 2 --quiet --json >/dev/null; $1 doctor --hosts localhost --quiet";
    rings(&run(&mut alone(ONLY_IPV6, script, &[])), 3);
}

#[test]
fn addresses_that_are_given_may_be_ipv6() {
    if !is_possible() {
        return;
    }
    let folder = Folder::new("given-6");
    let key = folder.write("key", &KEY, 0o600);
    let script = "export LATHIDE_SIZE=2 LATHIDE_KEY_FILE=$3 LATHIDE_ROOT=[fd00::1]:7000 LATHIDE_PORTS=7001-7002
        LATHIDE_RANK=0 LATHIDE_ADVERTISE=fd00::3 $2 & LATHIDE_RANK=1 LATHIDE_INTERFACE=fd00::/16 $2; wait $!";
    rings(&run(&mut alone(ONLY_IPV6, script, &[&key])), 1);
}

/// What stands for ssh: it goes to no other host, but says that the session came and arrived over IPv6.
const SSH: &str = "#!/bin/sh
while [ \"$1\" != -- ]; do shift; done
echo \"$2\" >>\"${0%/*}/called\"
export SSH_CONNECTION='fd00::1 5000 fd00::3 22'
exec sh -c \"$3\"
";

#[test]
fn hosts_may_have_only_ipv6() {
    if !is_possible() {
        return;
    }
    let folder = Folder::new("hosts-6");
    let ssh = folder.write("ssh", SSH.as_bytes(), 0o700);
    let file = folder.write("hosts", b"user@[fd00::3] addr=fd00::3\n[fd00::4]:1 addr=[fd00::4]\n", 0o600);
    let script = "run='timeout 60 $1 run --agent $1'; export LATHIDE_SSH=$3
        eval $run --hosts user@[fd00::3],[fd00::4] $2; eval $run --hosts $4 --advertise fd00::1 $2
        eval $run --hosts localhost,[fd00::4] --net fd00::/8 --ports 7000-7003 $2; sort -u ${3%ssh}called";
    let finished = run(&mut alone(ONLY_IPV6, script, &[&ssh, &file]));
    rings(&finished, 3);
    assert!(finished.stdout.ends_with("fd00::4\nuser@fd00::3\n"), "{}", finished.stdout);
}
