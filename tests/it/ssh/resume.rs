//! Connections to agents that break while a job runs: the job goes on, and nothing of what it says is lost or comes twice.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use super::server::{Server, alive, descendants, marker, name, send, until};
use super::{Ran, finished, launcher, launcher_of, started};

/// Ranks that say so many lines each. A status other than 0 would end the others.
const LINES: u32 = 400;

/// A job under way, and what it says.
struct Job {
    child: Child,
    said: Receiver<Vec<u8>>,
    text: String,
}

impl Job {
    /// On `localhost` and behind the server.
    fn start(server: &Server, variables: &[(&str, &str)], args: &[&str]) -> Job {
        let mut command = launcher(server, args);
        let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, said) = sync_channel(1000);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Job { child, said, text: String::new() }
    }

    fn counting(server: &Server, variables: &[(&str, &str)]) -> Job {
        let script =
            format!("i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo line $i; sleep 0.005; done; echo last >&2");
        Job::start(server, variables, &["--hosts", "localhost,127.0.0.2:2", "sh", "-c", &script])
    }

    /// Waits until `text` was said.
    fn wait_for(&mut self, text: &str) {
        until(text, || {
            while let Ok(piece) = self.said.try_recv() {
                self.text += &String::from_utf8(piece).unwrap();
            }
            self.text.contains(text)
        });
    }

    /// The processes that are the ways to the agents.
    fn ways(&self) -> Vec<u32> {
        let all = descendants(launcher_of(&self.child).as_raw_nonzero().get() as u32);
        all.into_iter().filter(|process| name(*process) == "ssh").collect()
    }

    fn finish(mut self) -> Ran {
        let said: Vec<u8> = self.said.into_iter().flatten().collect();
        self.text += &String::from_utf8(said).unwrap();
        Ran { stdout: self.text, ..finished(self.child) }
    }
}

/// Every line of every rank, once and in its order.
fn assert_counted(ran: &Ran) {
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    for label in ["[0@localhost]", "[1@127.0.0.2]", "[2@127.0.0.2]"] {
        let lines = ran.stdout.lines().filter_map(|line| line.strip_prefix(label));
        let expected: Vec<String> = (1..=LINES).map(|number| format!(" line {number}")).collect();
        assert_eq!(lines.collect::<Vec<_>>(), expected, "of {label}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("was lost"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("] last\n").count(), 3, "{}", ran.stderr);
}

fn nothing_is_left(server: &Server) {
    until("agents have left nothing", || server.left().is_empty());
}

#[test]
fn a_connection_that_breaks_again_and_again_is_only_a_delay() {
    let Some(server) = Server::start() else { return };
    let mut job = Job::counting(&server, &[]);
    let mut cuts = 0;
    for number in (10..LINES).step_by(60) {
        job.wait_for(&format!("[1@127.0.0.2] line {number}\n"));
        if cuts % 2 == 0 {
            job.ways().into_iter().for_each(|way| send(way, Signal::KILL));
        } else {
            server.signal_sessions(Signal::KILL);
        }
        cuts += 1;
    }
    assert_counted(&job.finish());
    nothing_is_left(&server);
    println!("{cuts} cuts");
}

#[test]
fn input_and_output_come_once_over_a_connection_that_breaks() {
    let Some(server) = Server::start() else { return };
    let args = ["--hosts", "127.0.0.2", "--tag", "never", "sh", "-c", "echo ready >&2; cat"];
    let mut command = launcher(&server, &args);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let input: Vec<u8> = (0..8_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sent = input.clone();
    let writer = thread::spawn(move || stdin.write_all(&sent).unwrap());
    let (mut output, mut buffer, mut cuts) = (Vec::<u8>::new(), vec![0; 64 << 10], 0);
    while let Ok(count @ 1..) = stdout.read(&mut buffer) {
        output.extend(&buffer[..count]);
        if output.len() / 1_000_000 > cuts {
            cuts += 1;
            server.signal_sessions(Signal::KILL);
        }
    }
    writer.join().unwrap();
    let ran = finished(child);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(output == input, "{} bytes instead of {}", output.len(), input.len());
    println!("{cuts} cuts");
}

#[test]
fn a_connection_that_stands_still_is_replaced() {
    let Some(server) = Server::start() else { return };
    let mut job = Job::counting(&server, &[("LATHIDE_KEEPALIVE", "1s")]);
    job.wait_for("[1@127.0.0.2] line 20\n");
    // Nothing comes from there, as from behind a network that is cut; nobody continues them.
    server.signal_sessions(Signal::STOP);
    let ran = job.finish();
    server.signal_sessions(Signal::KILL);
    assert_counted(&ran);
    nothing_is_left(&server);
}

#[test]
fn a_way_that_is_stopped_goes_on() {
    let Some(server) = Server::start() else { return };
    let mut job = Job::counting(&server, &[]);
    job.wait_for("[1@127.0.0.2] line 20\n");
    let ways = job.ways();
    assert_eq!(ways.len(), 1);
    send(ways[0], Signal::STOP);
    thread::sleep(Duration::from_secs(3));
    send(ways[0], Signal::CONT);
    assert_counted(&job.finish());
}

#[test]
fn ranks_may_end_while_the_connection_is_cut() {
    let Some(server) = Server::start() else { return };
    let go = server.path("go");
    let script = format!("echo before; read line < {}; echo after; exit 4", go.display());
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    let mut job = Job::start(&server, &[], &["--hosts", "127.0.0.2", "--tag", "never", "sh", "-c", &script]);
    job.wait_for("before");
    // Nobody comes in until the rank has ended.
    server.signal_listener(Signal::STOP);
    server.signal_sessions(Signal::KILL);
    std::fs::write(&go, "go\n").unwrap();
    thread::sleep(Duration::from_secs(1));
    server.signal_listener(Signal::CONT);
    let ran = job.finish();
    assert_eq!((ran.status, ran.stdout.as_str()), (4, "before\nafter\n"), "{}", ran.stderr);
    nothing_is_left(&server);
}

#[test]
fn an_agent_that_was_killed_is_not_waited_for() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("echo ready; sleep {mark}; :");
    let child = started(&server, 3, &["--hosts", "localhost,127.0.0.2:2", "sh", "-c", &script]);
    server.kill_agents();
    let ran = finished(child);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    for part in ["host 127.0.0.2 was lost with ranks 1 and 2", "its agent is no more"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // Half a minute is what a cut may take.
    assert!(ran.took < Duration::from_secs(25), "{:?}", ran.took);
    until("its ranks have ended", || alive(&mark).is_empty());
    nothing_is_left(&server);
}

#[test]
fn a_host_that_does_not_come_back_in_time_is_lost() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("echo ready; sleep {mark}; :");
    let args = ["--hosts", "localhost,127.0.0.2:2", "sh", "-c", &script];
    let mut job = Job::start(&server, &[("LATHIDE_RESUME", "5s")], &args);
    job.wait_for("[1@127.0.0.2] ready");
    server.signal_listener(Signal::KILL);
    job.ways().into_iter().for_each(|way| send(way, Signal::KILL));
    let ran = job.finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    for part in ["host 127.0.0.2 was lost with ranks 1 and 2", "not reached again within 5 s", "Connection refused"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    until("its ranks have ended", || alive(&mark).is_empty());
    nothing_is_left(&server);
}

#[test]
fn without_resumption_a_broken_connection_is_the_end() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("echo ready; sleep {mark}; :");
    let args = ["--hosts", "localhost,127.0.0.2:2", "sh", "-c", &script];
    let mut job = Job::start(&server, &[("LATHIDE_RESUME", "off")], &args);
    job.wait_for("[1@127.0.0.2] ready");
    job.wait_for("[2@127.0.0.2] ready");
    assert!(server.left().is_empty(), "nobody waits anywhere");
    server.signal_sessions(Signal::KILL);
    let ran = job.finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("host 127.0.0.2 was lost with ranks 1 and 2"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("no more") && !ran.stderr.contains("again"), "{}", ran.stderr);
    until("its ranks have ended", || alive(&mark).is_empty());
}

#[test]
fn a_launcher_killed_with_or_without_its_ways_leaves_nothing() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("setsid sleep {mark} & sleep {mark} & echo ready; while :; do echo more; sleep 0.01; done");
    for with_ways in [false, true] {
        let args = ["--hosts", "localhost,127.0.0.2", "sh", "-c", &script];
        let mut job = Job::start(&server, &[], &args);
        job.wait_for("[1@127.0.0.2] ready");
        let (launcher, ways) = (launcher_of(&job.child), job.ways());
        let wills: Vec<u32> = descendants(launcher.as_raw_nonzero().get() as u32);
        kill_process(launcher, Signal::KILL).unwrap();
        if with_ways {
            wills.iter().chain(&ways).for_each(|process| send(*process, Signal::KILL));
        }
        let _ = job.finish();
        until("all ranks are gone", || alive(&mark).is_empty());
        until("no way is left", || ways.iter().all(|way| name(*way) != "ssh"));
        nothing_is_left(&server);
    }
}

#[test]
fn a_launcher_that_is_interrupted_does_not_wait_for_a_cut_to_end() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("echo ready; sleep {mark}; :");
    let mut job = Job::start(&server, &[], &["--hosts", "localhost,127.0.0.2", "sh", "-c", &script]);
    job.wait_for("[1@127.0.0.2] ready");
    server.signal_listener(Signal::STOP);
    server.signal_sessions(Signal::KILL);
    let launcher = launcher_of(&job.child);
    kill_process(launcher, Signal::TERM).unwrap();
    thread::sleep(Duration::from_millis(300));
    let _ = kill_process(launcher, Signal::TERM);
    let ran = job.finish();
    server.signal_listener(Signal::CONT);
    assert_eq!(ran.status, 143, "{}", ran.stderr);
    assert!(ran.took < Duration::from_secs(25), "{:?}", ran.took);
    until("all ranks are gone", || alive(&mark).is_empty());
    nothing_is_left(&server);
}

/// What holds a launcher's will, for a way that is `sh -c script`. Returns that way, and the will's own process.
fn will(script: &str) -> (Child, Child) {
    let mut way = Command::new("sh");
    way.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    let mut way = way.spawn().unwrap();
    let mut will = Command::new(env!("CARGO_BIN_EXE_lathide"));
    will.arg("__will").arg(way.id().to_string()).stdin(Stdio::piped()).stdout(way.stdin.take().unwrap());
    let will = will.spawn().unwrap();
    (way, will)
}

#[test]
fn the_last_word_is_said_for_a_launcher_that_was_killed() {
    let (mut way, mut will) = will("cat");
    thread::sleep(Duration::from_millis(50));
    assert!(will.try_wait().unwrap().is_none(), "the launcher lives");
    // The end of its input is the end of the launcher.
    drop(will.stdin.take());
    assert!(will.wait().unwrap().success());
    let mut said = String::new();
    way.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "\nbye\n");
    // It took so long because `cat` waited for more.
    assert_eq!(way.wait().unwrap().signal(), Some(9), "a way that does not end is ended");
    let (mut way, mut will) = self::will("exit 7");
    assert_eq!(way.wait().unwrap().code(), Some(7));
    drop(will.stdin.take());
    assert!(will.wait().unwrap().success());
}
