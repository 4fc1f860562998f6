//! Jobs over two "hosts" with a real ssh server between them: this machine as `localhost`, and as 127.0.0.2.
//!
//! Without OpenSSH's server the tests say that they are skipped, and fail if `LATHIDE_SSH_REQUIRED=1`.

mod resume;
pub(crate) mod server;
mod start;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use server::{Server, alive, marker, until};

/// `lathide run` on `localhost` and behind the server, under a watchdog that also ends what it has started.
fn launcher(server: &Server, args: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "90", env!("CARGO_BIN_EXE_lathide"), "run"]);
    command.args(["--agent", env!("CARGO_BIN_EXE_lathide")]).args(args);
    command.env("LATHIDE_SSH", server.ssh());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
    took: Duration,
}

fn finished(child: Child) -> Ran {
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    Ran { status: output.status.code().unwrap_or(-1), stdout, stderr, took: start.elapsed() }
}

fn run(server: &Server, args: &[&str]) -> Ran {
    finished(launcher(server, args).spawn().unwrap())
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort();
    lines
}

/// Starts a job whose ranks say `ready`, and waits until all have.
fn started(server: &Server, ranks: usize, args: &[&str]) -> Child {
    let mut child = launcher(server, args).spawn().unwrap();
    let stdout = child.stdout.as_mut().unwrap();
    let (mut text, mut byte) = (String::new(), [0]);
    while text.matches("ready").count() < ranks {
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "ended after {text}");
        text.push(char::from(byte[0]));
    }
    child
}

/// The launcher itself: the watchdog's only child.
fn launcher_of(watchdog: &Child) -> Pid {
    let children = format!("/proc/{0}/task/{0}/children", watchdog.id());
    let child = std::fs::read_to_string(children).unwrap();
    Pid::from_raw(child.trim().parse().unwrap()).unwrap()
}

#[test]
fn ranks_of_two_hosts_become_a_job() {
    let Some(server) = Server::start() else { return };
    let program = std::env::current_exe().unwrap();
    let trace = server.path("trace.json");
    let mut args = vec!["--hosts", "127.0.0.2:2,localhost", "-x", "LATHIDE_TEST_PROGRAM=ring", "--json", "--report"];
    args.extend(["--trace", trace.to_str().unwrap(), program.to_str().unwrap()]);
    let ran = run(&server, &[&args[..], &["--exact", "jobs::node", "--nocapture", "--quiet"]].concat());
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["reports"].as_array().unwrap().len(), 3, "{json}");
    for (rank, host) in [(0, "127.0.0.2"), (1, "127.0.0.2"), (2, "localhost")] {
        assert_eq!(json["ranks"][rank]["host"], host);
        assert!(json["ranks"][rank]["left_s"].is_number(), "rank {rank} said no goodbye: {json}");
    }
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    for rank in 0..3 {
        assert!(events.iter().any(|event| event["pid"] == rank), "no event of rank {rank}");
    }
}

#[test]
fn the_program_is_sent_to_a_host_that_has_none() {
    let Some(server) = Server::start() else { return };
    let mut sizes = Vec::new();
    for _ in 0..2 {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "90", env!("CARGO_BIN_EXE_lathide"), "run", "--hosts", "127.0.0.2:2"]);
        command.args(["sh", "-c", "echo $LATHIDE_RANK of $LATHIDE_SIZE"]).env("LATHIDE_SSH", server.ssh());
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = finished(command.spawn().unwrap());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        assert_eq!(sorted(&ran.stdout), ["[0@127.0.0.2] 0 of 2", "[1@127.0.0.2] 1 of 2"]);
        let cache = std::fs::read_dir(server.path("cache/lathide")).unwrap().flatten();
        sizes.push(cache.map(|entry| entry.metadata().unwrap().modified().unwrap()).collect::<Vec<_>>());
    }
    assert_eq!(sizes[0].len(), 1, "one copy, and no half ones");
    assert_eq!(sizes[0], sizes[1], "it is sent once");
}

#[test]
fn arguments_input_and_output_arrive_intact() {
    let Some(server) = Server::start() else { return };
    let (odd, lines) = ("it's \"odd\" $HOME `id` \\ é !", "one\ntwo");
    let script = "printf '%s|%s|%s\\n' \"$1\" \"$2\" \"$X\"; cat; printf end";
    let args = ["--hosts", "127.0.0.2", "-x", "X=a  b", "--tag", "never", "sh", "-c", script, "sh", odd, lines];
    let mut child = launcher(&server, &args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sent = input.clone();
    let writer = thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = [format!("{odd}|{lines}|a  b\n").as_bytes(), &input, b"end"].concat();
    assert!(output.stdout == expected, "{} bytes instead of {}", output.stdout.len(), expected.len());
}

#[test]
fn a_failing_rank_is_named_with_its_host_and_the_rest_ends() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("[ $LATHIDE_RANK = 1 ] && {{ echo trouble >&2; exit 9; }}; sleep {mark}");
    let ran = run(&server, &["--hosts", "localhost,127.0.0.2:2", "sh", "-c", &script]);
    assert_eq!(ran.status, 9, "{}", ran.stderr);
    for part in ["[1@127.0.0.2] trouble", "rank 1 on 127.0.0.2 failed first: it ended with status 9"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("trouble").count(), 1, "not again at the end: {}", ran.stderr);
    assert!(alive(&mark).is_empty());
}

#[test]
fn signals_reach_every_host() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("trap 'echo got it; exit 5' TERM; sleep {mark} & echo ready; wait");
    let child = started(&server, 2, &["--hosts", "localhost,127.0.0.2", "sh", "-c", &script]);
    kill_process(launcher_of(&child), Signal::TERM).unwrap();
    let ran = finished(child);
    assert_eq!((ran.status, ran.stdout.matches("got it").count()), (143, 2), "{}{}", ran.stdout, ran.stderr);
    assert!(alive(&mark).is_empty());
}

#[test]
fn what_is_wrong_with_a_host_is_said_in_the_words_of_ssh() {
    let Some(server) = Server::start() else { return };
    let (unknown, wrong_key) = (server.ssh_with("known_none", "user"), server.ssh_with("known", "stranger"));
    let nobody = server.ssh().replace(&server.port().to_string(), "1");
    let there = server.ssh();
    for (ssh, program, status, parts) in [
        (&unknown, "true", 125, ["127.0.0.2: ", "Host key verification failed"]),
        (&wrong_key, "true", 125, ["127.0.0.2: ", "Permission denied"]),
        (&nobody, "true", 125, ["127.0.0.2: ", "Connection refused"]),
        (&there, "/no/such/program", 127, ["127.0.0.2: /no/such/program: program not found", "same path"]),
        (&there, "/etc/passwd", 126, ["127.0.0.2: ", "cannot be executed"]),
    ] {
        let ran = finished(
            launcher(&server, &["--hosts", "localhost,127.0.0.2", program]).env("LATHIDE_SSH", ssh).spawn().unwrap(),
        );
        assert_eq!(ran.status, status, "{}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
        // Ten seconds are promised; a busy machine may take longer.
        assert!(ran.took < Duration::from_secs(30), "{:?}", ran.took);
    }
}

#[test]
fn a_host_that_dies_ends_the_job_and_is_named() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("echo ready; sleep {mark}; :");
    let child = started(&server, 3, &["--hosts", "localhost,127.0.0.2:2", "sh", "-c", &script]);
    server.kill_host();
    let ran = finished(child);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("host 127.0.0.2 was lost with ranks 1 and 2"), "{}", ran.stderr);
    assert!(ran.stderr.contains("was lost with its host"), "{}", ran.stderr);
    assert!(ran.took < Duration::from_secs(30), "{:?}", ran.took);
    until("its ranks have ended", || alive(&mark).is_empty());
}

#[test]
fn a_killed_launcher_leaves_nothing_on_any_host() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    // Each rank has a child, and one that has gone into a session of its own.
    let script = format!("setsid sleep {mark} & sleep {mark} & echo ready; wait");
    let mut child = started(&server, 2, &["--hosts", "localhost,127.0.0.2", "sh", "-c", &script]);
    until("four sleep", || alive(&mark).len() == 4);
    kill_process(launcher_of(&child), Signal::KILL).unwrap();
    let _ = child.wait();
    let start = Instant::now();
    until("all are gone", || alive(&mark).is_empty());
    println!("gone after {:?}", start.elapsed());
}

#[test]
fn what_ranks_leave_on_a_host_is_ended() {
    let Some(server) = Server::start() else { return };
    let mark = marker();
    let script = format!("setsid sleep {mark} & sleep {mark} & exit 0");
    let ran = run(&server, &["--hosts", "127.0.0.2:2", "sh", "-c", &script]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(alive(&mark).is_empty());
}

#[test]
fn the_key_is_in_no_argument_and_no_variable() {
    let Some(server) = Server::start() else { return };
    // Every process of this user, among them the launcher, ssh, the server's session and the agent.
    let script = "key=$(od -An -v -tx1 /proc/self/fd/$LATHIDE_KEY_FD | tr -d ' \\n'); echo ${#key}; \
                  for file in /proc/[0-9]*/cmdline /proc/[0-9]*/environ; do \
                  od -An -v -tx1 $file 2>/dev/null | tr -d ' \\n' | grep -q $key && echo found in $file; \
                  tr '\\0' ' ' <$file 2>/dev/null | grep -v 'grep -q' | grep -q \"^$key\\|[ =]$key\" && echo text in $file; \
                  done; exit 0";
    let ran = run(&server, &["--hosts", "127.0.0.2", "sh", "-c", script]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "[0@127.0.0.2] 64\n"), "{}", ran.stderr);
}

#[test]
fn hosts_are_read_from_a_file_and_wrap_round() {
    let Some(server) = Server::start() else { return };
    let file = server.path("hosts.txt");
    std::fs::write(&file, "# two\nlocalhost slots=1\n127.0.0.2:2\n").unwrap();
    let file = file.to_str().unwrap();
    let ran =
        run(&server, &["--hostfile", file, "-n", "4", "sh", "-c", "echo $LATHIDE_LOCAL_RANK of $LATHIDE_LOCAL_SIZE"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let expected = ["[0@localhost] 0 of 2", "[1@127.0.0.2] 0 of 2", "[2@127.0.0.2] 1 of 2", "[3@localhost] 1 of 2"];
    assert_eq!(sorted(&ran.stdout), expected);
    assert_eq!(ran.stderr.matches("4 ranks have 3 slots").count(), 1, "{}", ran.stderr);
    std::fs::write(file, "localhost slots=1\n127.0.0.2 solts=2\n").unwrap();
    let ran = run(&server, &["--hostfile", file, "true"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("line 2, column 11: solts: no such setting"), "{}", ran.stderr);
}

#[test]
fn ports_and_addresses_are_as_they_are_told() {
    let Some(server) = Server::start() else { return };
    let hosts = ["--hosts", "localhost,127.0.0.2", "--net", "127.0.0.0/8"];
    // A range of this test's own, so that others take none of it.
    let first = 40_000 + std::process::id() % 10_000;
    let range = format!("{first}-{}", first + 9);
    let ran = run(&server, &[&hosts[..], &["--ports", &range, "sh", "-c", "echo port ${LATHIDE_ROOT##*:}"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for line in ran.stdout.lines() {
        let port: u32 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((first..first + 10).contains(&port), "{line}");
    }
    let ran =
        run(&server, &["--hosts", "localhost,127.0.0.2", "--advertise", "127.0.0.9", "sh", "-c", "echo $LATHIDE_ROOT"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout.matches(" 127.0.0.9:").count(), 2, "both hosts come by the same address: {}", ran.stdout);
}

#[test]
fn a_link_between_hosts_is_measured() {
    let Some(server) = Server::start() else { return };
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "90", env!("CARGO_BIN_EXE_lathide"), "link", "--hosts", "localhost,127.0.0.2"]);
    command.args([
        "--agent",
        env!("CARGO_BIN_EXE_lathide"),
        "--bytes",
        "8",
        "--repeats",
        "1",
        "--seconds",
        "1",
        "--json",
    ]);
    command.env("LATHIDE_SSH", server.ssh()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finished(command.spawn().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(json["link"]["how"].as_str().unwrap().contains("hosts localhost,127.0.0.2"), "{json}");
    assert!(json["latency"][0]["lathide_s"].as_f64().is_some_and(|time_s| time_s > 0.0), "{json}");
}

#[test]
fn the_doctor_looks_for_the_program_where_a_job_does() {
    let Some(server) = Server::start() else { return };
    let directory = server.path("work");
    std::fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink("/bin/true", directory.join("tool")).unwrap();
    for (program, status, said) in [("./tool", 0, "this machine"), ("./none", 1, "lacks the program: ./none")] {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "90", env!("CARGO_BIN_EXE_lathide"), "doctor", "--hosts", "localhost,127.0.0.2"]);
        command.args(["--agent", env!("CARGO_BIN_EXE_lathide"), program]).current_dir(&directory);
        command.env("LATHIDE_SSH", server.ssh()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = finished(command.spawn().unwrap());
        assert_eq!(ran.status, status, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(said), "{}", ran.stdout);
    }
}
