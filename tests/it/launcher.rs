//! `lathide run`, from outside: processes, exit statuses, output, signals, and what is left behind.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Nothing here takes this long, except on a machine that is stuck.
const WATCHDOG: Duration = Duration::from_secs(60);

fn lathide(args: &[&str]) -> Command {
    let mut command = crate::support::lathide();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for a started launcher, but not for ever.
fn finish(mut child: Child) -> Output {
    fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    }
    let (stdout, stderr) = (reader(child.stdout.take().unwrap()), reader(child.stderr.take().unwrap()));
    let deadline = Instant::now() + WATCHDOG;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("the launcher hangs");
        }
        thread::sleep(Duration::from_millis(2));
    };
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
    took: Duration,
}

fn run(args: &[&str]) -> Ran {
    let start = Instant::now();
    ran(lathide(args).spawn().unwrap(), start)
}

fn ran(child: Child, start: Instant) -> Ran {
    let output = finish(child);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        status: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        took: start.elapsed(),
    }
}

fn shell(ranks: u32, script: &str) -> Ran {
    run(&["run", "-n", &ranks.to_string(), "sh", "-c", script])
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort();
    lines
}

/// An argument of `sleep` that no other process has: so its processes can be counted.
fn marker() -> String {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    format!("{}.{:03}", 1_000_000 + std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed))
}

/// The living processes one of whose arguments is `marker` or names it.
fn alive(marker: &str) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let named = |number: &u32| {
        let arguments = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        arguments.split(|&byte| byte == 0).any(|argument| argument == marker.as_bytes())
    };
    numbers.filter(named).collect()
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WATCHDOG;
    while !condition() {
        assert!(Instant::now() < deadline, "never came: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Starts a job of `ranks` shells, each of which says `ready`, and waits until all have.
fn started(ranks: u32, script: &str) -> Child {
    let mut child = lathide(&["run", "-n", &ranks.to_string(), "sh", "-c", script]).spawn().unwrap();
    until_said(&mut child, "ready", ranks as usize);
    child
}

/// Reads what a job says until it has said `word` so often.
fn until_said(child: &mut Child, word: &str, count: usize) {
    let stdout = child.stdout.as_mut().unwrap();
    let (mut text, mut byte) = (String::new(), [0]);
    while text.matches(word).count() < count {
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "ended after {text}");
        text.push(char::from(byte[0]));
    }
}

#[test]
fn any_program_can_be_a_rank_and_knows_its_place() {
    let ran = shell(3, "echo $LATHIDE_RANK of $LATHIDE_SIZE; test -r /proc/self/fd/$LATHIDE_KEY_FD");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(sorted(&ran.stdout), ["[0] 0 of 3", "[1] 1 of 3", "[2] 2 of 3"]);
    let ran = shell(24, "echo $LATHIDE_RANK");
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 24), "more ranks than cores");
}

#[test]
fn the_key_is_neither_argument_nor_variable() {
    let script = "od -An -v -tx1 /proc/self/fd/$LATHIDE_KEY_FD | tr -d ' \\n'; echo; \
                  cat /proc/self/environ /proc/$PPID/environ /proc/self/cmdline /proc/$PPID/cmdline | \
                  od -An -v -tx1 | tr -d ' \\n'; echo; env";
    let ran = run(&["run", "-n", "1", "--tag", "never", "sh", "-c", script]);
    let mut lines = ran.stdout.lines();
    let (key, seen) = (lines.next().unwrap(), lines.next().unwrap());
    assert_eq!(key.len(), 64);
    let as_text: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(!seen.contains(key) && !seen.contains(&as_text), "the key leaks");
    assert!(!ran.stdout[65..].contains(key), "the key is in a variable");
}

#[test]
fn exit_statuses() {
    let directory = std::env::temp_dir().join(format!("lathide-launcher-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_string()
    };
    let plain = file("plain", "x", 0o644);
    let no_interpreter = file("script", "#!/nowhere/interpreter\n", 0o755);
    let folder = directory.to_str().unwrap();
    for (args, status, part) in [
        (&["-n", "1", "true"][..], 0, ""),
        (&["-n", "2", "false"], 1, "failed first: it ended with status 1"),
        (&["-n", "1", "sh", "-c", "exit 42"], 42, "rank 0 failed: it ended with status 42"),
        (&["-n", "1", "sh", "-c", "kill -9 $$"], 137, "rank 0 was killed by signal 9 (SIGKILL)"),
        (&["-n", "1", "no-such-program-here"], 127, "no-such-program-here: program not found"),
        (&["-n", "2", "./no/such/path"], 127, "program not found"),
        (&["-n", "2", &plain], 126, "no permission to be executed"),
        (&["-n", "2", folder], 126, "it is a directory"),
        (&["-n", "1", &no_interpreter], 127, "cannot be executed"),
        (&["-n", "0", "true"], 2, "a whole number from 1 to 65536"),
        (&["-n", "many", "true"], 2, "invalid value"),
        (&["true"], 2, "--ranks"),
        (&["-n", "2"], 2, "PROGRAM"),
        (&["-n", "2", "--link", "delay=fast", "true"], 2, "--link"),
        (&["-n", "2", "--timeout", "0", "true"], 2, "a time from 1ns to 8784h"),
        (&["-n", "2", "-x", "=v", "true"], 2, "needs a name"),
        (&["-n", "2", "--wdir", "/nowhere", "true"], 125, "/nowhere"),
    ] {
        let ran = run(&[&["run"], args].concat());
        assert_eq!(ran.status, status, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn variables_and_directory_reach_the_ranks() {
    let mut command =
        lathide(&["run", "-n", "1", "-x", "A=1 2", "-x", "HERE", "--wdir", "/", "sh", "-c", "echo $A $HERE $PWD"]);
    let ran = ran(command.env("HERE", "yes").spawn().unwrap(), Instant::now());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "[0] 1 2 yes /\n"));
}

#[test]
fn lines_of_many_ranks_stay_whole() {
    let long = "x".repeat(3000);
    let script = format!("for i in $(seq 50); do echo $LATHIDE_RANK {long} $LATHIDE_RANK; done; printf end");
    let ran = shell(16, &script);
    assert_eq!(ran.status, 0);
    let mut counts = [[0; 2]; 16];
    for line in ran.stdout.lines() {
        let (tag, rest) = line.split_once(' ').unwrap();
        let rank: usize = tag.trim_matches(['[', ']']).parse().unwrap();
        let whole = rest == format!("{rank} {long} {rank}");
        assert!(whole || rest == "end", "{line}");
        counts[rank][usize::from(!whole)] += 1;
    }
    assert_eq!(counts, [[50, 1]; 16]);
}

#[test]
fn a_line_without_end_is_bounded_and_a_lone_rank_is_not_changed() {
    let script = "head -c 5000000 /dev/zero | tr '\\0' y";
    let ran = run(&["run", "-n", "1", "--tag", "never", "sh", "-c", script]);
    assert_eq!((ran.status, ran.stdout.len()), (0, 5_000_000));
    let ran = shell(2, script);
    let content: usize = ran.stdout.lines().map(|line| line.len() - "[0] ".len()).sum();
    assert_eq!((ran.status, content), (0, 10_000_000));
    assert!(ran.stdout.lines().all(|line| line.len() < 1_000_000));
}

#[test]
fn input_goes_to_rank_0_only() {
    let mut child = lathide(&["run", "-n", "3", "cat"]).stdin(Stdio::piped()).spawn().unwrap();
    let text: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let mut stdin = child.stdin.take().unwrap();
    let sent = text.clone();
    let writer = thread::spawn(move || stdin.write_all(sent.as_bytes()).unwrap());
    let ran = ran(child, Instant::now());
    writer.join().unwrap();
    let expected: String = text.lines().map(|line| format!("[0] {line}\n")).collect();
    assert_eq!((ran.status, ran.stdout == expected), (0, true));
}

#[test]
fn the_first_failing_rank_is_named_and_the_rest_ends() {
    let mark = marker();
    let script = format!(
        "if [ $LATHIDE_RANK = 2 ]; then for i in $(seq 30); do echo trouble $i >&2; done; exit 9; fi; sleep {mark}"
    );
    let ran = shell(4, &script);
    assert_eq!(ran.status, 9);
    assert!(ran.stderr.contains("rank 2 failed first: it ended with status 9"), "{}", ran.stderr);
    let (_, last) = ran.stderr.split_once("its last lines").unwrap();
    assert!(last.contains("  trouble 30") && last.contains("  trouble 11") && !last.contains("trouble 10"), "{last}");
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
    assert!(alive(&mark).is_empty());
}

#[test]
fn a_killed_rank_ends_a_job_that_heeds_no_signal() {
    let mark = marker();
    let script = format!(
        "trap '' TERM INT HUP; [ $LATHIDE_RANK = 1 ] && sleep 0.2 && kill -9 $$; echo up; sleep {mark}; sleep {mark}"
    );
    let ran = shell(4, &script);
    assert_eq!(ran.status, 137);
    assert!(ran.stderr.contains("rank 1 was killed by signal 9 (SIGKILL)"), "{}", ran.stderr);
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
    assert!(alive(&mark).is_empty());
}

#[test]
fn the_time_given_is_the_end() {
    let mark = marker();
    let ran = run(&["run", "-n", "2", "--timeout", "0.3", "sleep", &mark]);
    assert_eq!(ran.status, 124, "{}", ran.stderr);
    assert!(ran.stderr.contains("--timeout") && !ran.stderr.contains("failed"), "{}", ran.stderr);
    assert!(ran.took >= Duration::from_millis(300) && alive(&mark).is_empty());
}

#[test]
fn signals_reach_every_rank() {
    for (number, name, status) in [(Signal::INT, "INT", 130), (Signal::TERM, "TERM", 143), (Signal::HUP, "HUP", 129)] {
        // `wait` returns at once when a trapped signal comes; a foreground sleep would delay the trap.
        let mark = marker();
        let script = format!("trap 'echo got {name}; exit 5' {name}; sleep {mark} & echo ready; wait");
        let child = started(3, &script);
        signal(&child, number);
        let ran = ran(child, Instant::now());
        assert_eq!(ran.status, status, "{}", ran.stderr);
        assert_eq!(ran.stdout.matches(&format!("got {name}")).count(), 3, "{}", ran.stdout);
        assert!(alive(&mark).is_empty());
    }
    let child = started(2, "trap 'echo got 1; exit 0' USR1; sleep 1000 & echo ready; wait");
    signal(&child, Signal::USR1);
    let ran = ran(child, Instant::now());
    assert_eq!((ran.status, ran.stdout.matches("got 1").count()), (0, 2), "{}", ran.stderr);
}

#[test]
fn a_second_interrupt_kills() {
    let mark = marker();
    // A background job of a shell ignores the signal, too.
    let script = format!("trap 'echo first' INT; trap '' TERM; sleep {mark} & echo ready; while :; do wait; done");
    let mut child = started(2, &script);
    until("both sleep", || alive(&mark).len() >= 2);
    signal(&child, Signal::INT);
    // Two signals that the launcher has not seen yet are one.
    until_said(&mut child, "first", 2);
    let start = Instant::now();
    signal(&child, Signal::INT);
    let ran = ran(child, start);
    assert_eq!(ran.status, 130, "{}", ran.stderr);
    assert!(ran.took < Duration::from_secs(4), "it waited for ranks that do not heed: {:?}", ran.took);
    assert!(alive(&mark).is_empty());
}

#[test]
fn a_killed_launcher_leaves_nothing() {
    let mark = marker();
    // Each rank has a child, and one that has gone into a session of its own.
    let script = format!("setsid sleep {mark} & sleep {mark} & echo ready; wait");
    let mut child = started(3, &script);
    until("six sleep", || alive(&mark).len() == 6);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    until("all are gone", || alive(&mark).is_empty());
}

/// What `LATHIDE_JOIN` says holds for the rendezvous of the launcher as for the ranks, which would not hear who is missing.
#[test]
fn a_rank_that_does_not_join_is_named_when_the_time_given_is_over() {
    let stencil = crate::examples::example("stencil");
    let script = "[ $LATHIDE_RANK = 1 ] && exec sleep 100; exec \"$0\"";
    let mut command = lathide(&["run", "-n", "3", "sh", "-c", script, stencil.to_str().unwrap()]);
    let ran = ran(command.env("LATHIDE_JOIN", "2s").spawn().unwrap(), Instant::now());
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("rank 1 of 3 did not join within 2s"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("sent no table"), "{}", ran.stderr);
}

#[test]
fn what_ranks_leave_is_ended() {
    let mark = marker();
    let ran = shell(2, &format!("setsid sleep {mark} & sleep {mark} & exit 0"));
    assert_eq!(ran.status, 0);
    assert!(ran.took < Duration::from_secs(20), "left-overs hold the output open: {:?}", ran.took);
    assert!(alive(&mark).is_empty());
}

#[test]
fn a_reader_that_goes_ends_the_job() {
    let mut child = lathide(&["run", "-n", "2", "sh", "-c", "while echo y; do :; done"]).spawn().unwrap();
    let mut some = [0; 100];
    child.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
    let (read, stderr) = (child.stdout.take(), child.stderr.take());
    drop(read);
    let deadline = Instant::now() + WATCHDOG;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < deadline, "it goes on without a reader");
        thread::sleep(Duration::from_millis(5));
    };
    drop(stderr);
    assert_eq!(status.code(), Some(141));
}

#[test]
fn json_is_alone_on_standard_output() {
    let ran = run(&["run", "--json", "--grace", "30", "-n", "2", "sh", "-c", "echo out; exit $LATHIDE_RANK"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.status, json["exit_status"].as_i64(), json["size"].as_i64()), (1, Some(1), Some(2)));
    assert_eq!((json["first_failure"]["rank"].as_i64(), json["ranks"][0]["status"].as_i64()), (Some(1), Some(0)));
    assert_eq!(ran.stderr.matches("] out").count(), 2);
}

#[test]
fn help_has_an_example() {
    let ran = run(&["run", "--help"]);
    assert!(ran.status == 0 && ran.stdout.contains("lathide run -n 4"), "{}", ran.stdout);
    assert!(!run(&["--help"]).stdout.contains("__start"), "hidden commands are shown");
}

#[test]
fn what_the_library_says_is_shown_as_rust_log_selects() {
    // Both ranks say something to the rendezvous that is no handshake.
    let program = "exec 3<>/dev/tcp/${LATHIDE_ROOT%:*}/${LATHIDE_ROOT##*:}; echo this is no handshake >&3; cat <&3 2>/dev/null; true";
    let run = |selection: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
        crate::process::run(command.env("RUST_LOG", selection).args(["run", "-n", "2", "bash", "-c", program]))
    };
    for (selection, is_shown) in [("", false), ("lathide=info", false), ("lathide=debug", true), ("debug", true)] {
        let finished = run(selection);
        assert_eq!(
            finished.stderr.contains("a connection was not authenticated"),
            is_shown,
            "{selection}: {finished:?}"
        );
    }
    let wrong = run("lathide=loud");
    assert!(wrong.stderr.contains("RUST_LOG=lathide=loud"), "{wrong:?}");
}
