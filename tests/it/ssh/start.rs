//! Connections to agents that break before their ranks are started.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::server::{Server, until};
use super::{Ran, finished, launcher, sorted};

const SCRIPT: [&str; 3] = ["sh", "-c", "echo $LATHIDE_RANK of $LATHIDE_SIZE"];

fn assert_ran(ran: &Ran, what: &str) {
    let expected = ["[0@localhost] 0 of 3", "[1@127.0.0.2] 1 of 3", "[2@127.0.0.2] 2 of 3"];
    assert_eq!((ran.status, sorted(&ran.stdout)), (0, expected.to_vec()), "{what}: {}", ran.stderr);
}

/// One agent is ready and waits, with the other one late.
#[test]
fn a_connection_may_break_between_an_agents_word_and_its_ranks_start() {
    let Some(server) = Server::start() else { return };
    // The first agent is there at once, and who comes back to it.
    let (agent, first, go) = (server.path("agent"), server.path("first"), server.path("go"));
    let script = format!(
        "#!/bin/sh\n[ $1 != __agent ] || mkdir {} 2>/dev/null || until [ -e {} ]; do sleep 0.01; done\nexec {} \"$@\"\n",
        first.display(),
        go.display(),
        env!("CARGO_BIN_EXE_lathide")
    );
    std::fs::write(&agent, script).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o700)).unwrap();
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let hosts = format!("127.0.0.2,{}@127.0.0.2", String::from_utf8(user).unwrap().trim());
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "90", env!("CARGO_BIN_EXE_lathide"), "run", "--hosts", &hosts, "--agent"]);
    command.arg(agent).args(SCRIPT).env("LATHIDE_SSH", server.ssh());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("an agent waits for its launcher to come back", || !server.left().is_empty());
    // It has said that it is ready, or is about to.
    thread::sleep(Duration::from_millis(300));
    server.cut_sessions_with("lathide");
    std::fs::write(go, "").unwrap();
    let ran = finished(child);
    let expected = ["[0@127.0.0.2] 0 of 2", "[1@127.0.0.2] 1 of 2"];
    assert_eq!((ran.status, sorted(&ran.stdout)), (0, expected.to_vec()), "{}", ran.stderr);
    until("agents have left nothing", || server.left().is_empty());
}

#[test]
fn a_connection_that_breaks_at_any_moment_of_the_start_is_a_delay() {
    let Some(server) = Server::start() else { return };
    for after_ms in (0..600).step_by(60) {
        let child = launcher(&server, &[&["--hosts", "localhost,127.0.0.2:2"][..], &SCRIPT].concat()).spawn().unwrap();
        thread::sleep(Duration::from_millis(after_ms));
        server.signal_sessions(Signal::KILL);
        let ran = finished(child);
        assert_ran(&ran, &format!("cut after {after_ms} ms"));
        println!("cut after {after_ms} ms: {:.1?}", ran.took);
    }
    until("agents have left nothing", || server.left().is_empty());
}
