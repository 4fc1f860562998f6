//! Connections to agents that break before their ranks are started.

use std::os::unix::fs::PermissionsExt;
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

/// One agent is ready and waits, with the other ones late.
#[test]
fn a_connection_may_break_between_an_agents_word_and_its_ranks_start() {
    let Some(server) = Server::start() else { return };
    // Over ssh the agent is there at once.
    let (late, go) = (server.path("late"), server.path("go"));
    let script = format!(
        "#!/bin/sh\n[ -n \"$SSH_CONNECTION\" ] || until [ -e {} ]; do sleep 0.01; done\nexec {} \"$@\"\n",
        go.display(),
        env!("CARGO_BIN_EXE_lathide")
    );
    std::fs::write(&late, script).unwrap();
    std::fs::set_permissions(&late, std::fs::Permissions::from_mode(0o700)).unwrap();
    let args = ["--hosts", "localhost,127.0.0.2:2", "--agent", late.to_str().unwrap()];
    let mut command = launcher(&server, &[&args[..], &SCRIPT].concat());
    let child = command.env_remove("SSH_CONNECTION").spawn().unwrap();
    until("the agent waits for its launcher to come back", || !server.left().is_empty());
    // It has said that it is ready, or is about to.
    thread::sleep(Duration::from_millis(300));
    server.signal_sessions(Signal::KILL);
    std::fs::write(go, "").unwrap();
    assert_ran(&finished(child), "cut between");
    until("agents have left nothing", || server.left().is_empty());
}

#[test]
fn a_connection_that_breaks_at_any_moment_of_the_start_is_a_delay_or_named() {
    let Some(server) = Server::start() else { return };
    let mut delays = 0;
    for after_ms in (0..600).step_by(60) {
        let child = launcher(&server, &[&["--hosts", "localhost,127.0.0.2:2"][..], &SCRIPT].concat()).spawn().unwrap();
        thread::sleep(Duration::from_millis(after_ms));
        server.signal_sessions(Signal::KILL);
        let ran = finished(child);
        if ran.status == 0 {
            assert_ran(&ran, &format!("cut after {after_ms} ms"));
            delays += 1;
        } else {
            // ssh itself had not come through yet.
            assert!(ran.status == 125 && ran.stderr.contains("127.0.0.2: "), "{after_ms} ms: {}", ran.stderr);
        }
        println!("cut after {after_ms} ms: {} in {:.1?} {}", ran.status, ran.took, ran.stderr.trim_end());
    }
    assert!(delays > 0, "no connection was ever there");
    until("agents have left nothing", || server.left().is_empty());
}
