//! Job control: a launcher that is stopped stops its ranks, on this host or through agents, and continues them; SIGQUIT.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lathide::Rank;
use rustix::process::{Pid, Signal, kill_process};

use crate::spmd::this;
use crate::support::lathide;

/// Chooses [`node`]'s program, and is the file that tells it to end.
const END: &str = "LATHIDE_TEST_END";
const WATCHDOG: Duration = Duration::from_secs(60);
/// Where the ranks are: the launcher's own, or those of an agent.
const PLACES: [&[&str]; 2] = [&["-n", "2"], &["--hosts", "localhost:2"]];

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WATCHDOG;
    while !condition() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A launcher, ended with its test, and the processes of its ranks.
struct Launched {
    child: Child,
    ranks: Vec<u32>,
    output: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Launched {
    /// Starts the job and waits until each of two ranks has said `ready` and its process number.
    fn start(options: &[&str], program: &[&str], set: impl FnOnce(&mut Command)) -> Self {
        let mut command = lathide();
        command.arg("run").args(options).args(program);
        set(&mut command);
        Launched::of(command)
    }

    /// The job that this command starts.
    fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("lathide");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let (sender, ready) = std::sync::mpsc::channel();
        let output = std::thread::spawn(move || {
            lines.by_ref().inspect(|line| drop(sender.send(line.clone()))).collect::<Vec<_>>()
        });
        let mut ranks = Vec::new();
        while ranks.len() < 2 {
            let line = ready.recv_timeout(WATCHDOG).expect("both ranks become ready");
            if let Some((_, number)) = line.split_once("ready ") {
                ranks.push(number.trim().parse().expect("a process"));
            }
        }
        Launched { child, ranks, output: Some(output) }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the launcher is there");
    }

    /// Whether the launcher and its ranks are stopped: all, none, or something between.
    fn stopped(&self) -> Option<bool> {
        let states: Vec<char> = self.ranks.iter().chain([&self.child.id()]).map(|&process| state(process)).collect();
        let count = states.iter().filter(|&&state| state == 'T').count();
        (count == 0 || count == states.len()).then_some(count > 0)
    }

    /// Its exit status and what it wrote.
    fn end(mut self) -> (Option<i32>, String) {
        let mut status = None;
        until("the launcher's end", || {
            status = self.child.try_wait().expect("our child");
            status.is_some()
        });
        let output = self.output.take().expect("it ends once").join().expect("the reader");
        (status.and_then(|status| status.code()), output.join("\n"))
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // Its ranks end with it, stopped or not.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// As the system shows it: `T` is stopped.
fn state(process: u32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('?')
}

/// A rank's program: a message goes to and fro until the file is there. Without the variable a test with nothing to do.
#[test]
fn node() {
    let Ok(end) = std::env::var(END) else { return };
    let node = lathide::init().unwrap();
    println!("ready {}", std::process::id());
    let (leads, other) = (node.rank() == 0, Rank(1 - node.rank().0));
    let mut rounds = 0_u64;
    loop {
        let is_last = u64::from(leads && std::path::Path::new(&end).exists());
        let said = if leads {
            node.initwrite(other, 1, vec![is_last]).unwrap().wait().unwrap();
            node.initread(other, 1, vec![0_u64]).unwrap().wait().unwrap()
        } else {
            let said = node.initread(other, 1, vec![0_u64]).unwrap().wait().unwrap();
            node.initwrite(other, 1, said).unwrap().wait().unwrap()
        };
        rounds += 1;
        if said[0] == 1 {
            println!("ended after {rounds} rounds");
            return node.finalize().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_stopped_job_goes_on_where_it_was() {
    for place in PLACES {
        let end = std::env::temp_dir().join(format!("lathide-stopping-{}-{}", std::process::id(), place.len()));
        let own = std::env::current_exe().expect("a path of this test");
        let own = own.to_str().expect("text");
        let program = [own, "--exact", "stopping::node", "--nocapture", "--quiet"];
        let set = |command: &mut Command| {
            // It is stopped for longer than a host may be silent.
            command.env(END, &end).env("LATHIDE_KEEPALIVE", "1").env("LATHIDE_DEADLOCK", "0.5");
        };
        let job = Launched::start(place, &program, set);
        for _ in 0..2 {
            job.signal(Signal::TSTP);
            until("all are stopped", || job.stopped() == Some(true));
            // Longer than the silence that a host may keep; they stay stopped.
            std::thread::sleep(Duration::from_millis(1500));
            assert_eq!(job.stopped(), Some(true));
            job.signal(Signal::CONT);
            until("all go on", || job.stopped() == Some(false));
        }
        std::fs::write(&end, "").expect("a file");
        let (status, output) = job.end();
        _ = std::fs::remove_file(&end);
        assert_eq!(status, Some(0), "{place:?}: {output}");
        assert_eq!(output.matches("ended after").count(), 2, "{place:?}: {output}");
    }
}

#[test]
fn quit_is_passed_on() {
    for place in PLACES {
        let script = "trap 'echo caught; exit 7' QUIT; sleep 1000 & echo ready $$; wait";
        let job = Launched::start(place, &["sh", "-c", script], |_| {});
        job.signal(Signal::QUIT);
        let (status, output) = job.end();
        assert_eq!((status, output.matches("caught").count()), (Some(131), 2), "{place:?}: {output}");
    }
}

/// A shell's background job, and one of nohup: what whoever starts it has ignored stays so, here and in the ranks.
#[test]
fn signals_that_are_ignored_stay_so_and_others_are_passed_on() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP INT QUIT; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_lathide"), "run", "-n", "2"]);
    shell.args(["sh", "-c", "echo ready $$; while :; do sleep 0.05; done"]);
    let job = Launched::of(shell);
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT] {
        job.signal(signal);
        job.ranks.iter().for_each(|&rank| {
            kill_process(Pid::from_raw(rank as i32).expect("a process"), signal).expect("it is there")
        });
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(job.ranks.iter().chain([&job.child.id()]).all(|&process| !matches!(state(process), 'Z' | '?')));
    job.signal(Signal::TERM);
    assert_eq!(job.end().0, Some(143));
}

/// The tests that send them, as a shell's background job runs them.
#[test]
fn these_tests_do_not_mind_who_ignores_signals() {
    for test in [
        "launcher::signals_reach_every_rank",
        "launcher::a_second_interrupt_kills",
        "link_command::nothing_is_left_of_a_run_that_is_interrupted",
        "stopping::quit_is_passed_on",
        "lab::ends::signals_reach_the_command",
        "gain::what_was_measured_before_an_interruption_is_shown",
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' HUP INT QUIT; exec \"$0\" \"$@\""]).arg(this()).args(["--exact", test]);
        let finished = crate::process::run(&mut shell).succeeded();
        assert!(finished.stdout.contains("1 passed"), "{test}: {finished:?}");
    }
}
