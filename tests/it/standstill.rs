//! Jobs that stand still: what can never go on is ended with who waits for whom, what may go on is left alone, and what
//! cannot be decided is reported.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use lathide::{Error, Node, Operator, Rank, Result, Test, WaitSet};

use crate::spmd::programs::{block_on, join, say};
use crate::spmd::{Ended, Job, STARTS, Start};

/// Ranks look twice a second and take half a second for a standstill.
const SOON: (&str, &str) = ("LATHIDE_DEADLOCK", "0.5");
/// Longer than what takes soon to be decided.
const LATE: Duration = Duration::from_secs(5);

/// What a rank does; see the tests.
pub(crate) fn program(kind: &str) -> Result<()> {
    let node = join()?;
    let result = act(&node, kind);
    match &result {
        Ok(()) => say("went-on", kind),
        Err(Error::Deadlock { report }) => say("deadlock", report),
        Err(error) => say("failed", error),
    }
    result?;
    node.finalize()
}

fn act(node: &Node, kind: &str) -> Result<()> {
    let (rank, size) = (node.rank().0, node.size());
    let (left, right) = (node.rank().on_ring(-1, size), node.rank().on_ring(1, size));
    let read = |tag: u32| node.initread(left, tag, vec![0u8; 8]);
    let write = |tag: u32| node.initwrite(right, tag, vec![1u8; 8])?.wait().map(drop);
    match kind {
        "reads" => read(4)?.wait().map(drop),
        "joins" => thread::scope(|scope| scope.spawn(|| read(4)?.wait().map(drop)).join().unwrap()),
        "joins-thread" => {
            let handle = read(4)?;
            thread::spawn(move || handle.wait().map(drop)).join().unwrap()
        }
        "idle-thread" => {
            let (clone, (end, ended)) = (node.clone(), channel::<()>());
            let idle = thread::spawn(move || {
                clone.report();
                let _ = ended.recv();
            });
            let result = read(4)?.wait().map(drop);
            drop(end);
            idle.join().unwrap();
            result
        }
        "awaits" => block_on(read(4)?).map(drop),
        "any" => node.initread_any(4, vec![0u8; 8])?.wait().map(drop),
        "any-in-set" => {
            let mut set = WaitSet::new();
            set.insert((), node.initread_any_vec::<u8>(4, 8)?);
            set.insert((), node.initread_any_vec::<u8>(5, 8)?);
            set.wait().map_or(Ok(()), |(_, done)| done.into::<(Rank, Vec<u8>)>().map(drop))
        }
        "any-finished" if rank == 0 => node.initread_any(4, vec![0u8; 8])?.wait().map(drop),
        "any-finished" => Ok(()),
        "writes-beyond" => node.initwrite(right, 9, vec![0u8; 256 << 20])?.wait().map(drop),
        "finalizes-unread" => node.initwrite(right, 9, vec![0u8; 256 << 20]).map(drop),
        "wrong-tag" if rank == 0 => {
            write(1)?;
            read(3)?.wait().map(drop)
        }
        "wrong-tag" => read(2)?.wait().map(drop),
        "barrier" if rank == 0 => node.barrier(),
        "barrier" => read(2)?.wait().map(drop),
        // What may go on.
        "any-late" if rank == 0 => node.initread_any(4, vec![0u8; 8])?.wait().map(drop),
        "any-late" if rank + 1 < size => Ok(()),
        "any-late" => {
            let began = Instant::now();
            while began.elapsed() < LATE {}
            node.initwrite(0, 4, vec![1u8; 8])?.wait().map(drop)
        }
        "late-thread" => {
            let clone = node.clone();
            let late = thread::spawn(move || {
                let began = Instant::now();
                while began.elapsed() < LATE {}
                clone.initwrite(right, 4, vec![1u8; 8])?.wait().map(drop)
            });
            read(4)?.wait()?;
            late.join().unwrap()
        }
        "late-sleeper" => {
            let clone = node.clone();
            let late = thread::spawn(move || {
                clone.report();
                thread::sleep(LATE);
                clone.initwrite(right, 4, vec![1u8; 8])?.wait().map(drop)
            });
            read(4)?.wait()?;
            late.join().unwrap()
        }
        "pipe" => {
            let clone = node.clone();
            let late = thread::spawn(move || {
                let seconds = LATE.as_secs().to_string();
                let mut child = Command::new("sleep").arg(seconds).stdout(Stdio::piped()).spawn().unwrap();
                let _ = child.stdout.take().unwrap().read_to_end(&mut Vec::new());
                child.wait().unwrap();
                clone.initwrite(right, 4, vec![1u8; 8])?.wait().map(drop)
            });
            read(4)?.wait()?;
            late.join().unwrap()
        }
        "operator" => {
            let slow = Operator::new("slow", true, |left: u64, right: u64| {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(1) {}
                left + right
            });
            let sum = node.allreduce(&slow, vec![1u64; LATE.as_millis() as usize])?;
            assert!(sum.iter().all(|&sum| sum == u64::from(size)));
            Ok(())
        }
        "timeouts-then-writes" => {
            let mut handle = read(4)?;
            let began = Instant::now();
            let mut is_written = false;
            loop {
                match handle.wait_timeout(Duration::from_millis(100)) {
                    Ok(_) if is_written => return Ok(()),
                    Ok(_) => return write(4),
                    Err((Error::Timeout { .. }, Some(back))) => handle = back,
                    Err((error, _)) => return Err(error),
                }
                if began.elapsed() > LATE && !std::mem::replace(&mut is_written, true) {
                    write(4)?;
                }
            }
        }
        // What cannot be decided.
        "polls" => {
            let mut handle = read(4)?;
            loop {
                match handle.test()? {
                    Test::Ready(_) => return Ok(()),
                    Test::Pending(back) => handle = back,
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        "timeouts" => {
            let mut handle = read(4)?;
            while let Err((Error::Timeout { .. }, Some(back))) = handle.wait_timeout(Duration::from_millis(50)) {
                handle = back;
            }
            Ok(())
        }
        "tokio" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(read(4)?).map(drop)
        }
        "sleeper" => {
            let clone = node.clone();
            thread::spawn(move || {
                clone.report();
                thread::sleep(Duration::from_secs(3600));
            });
            read(4)?.wait().map(drop)
        }
        _ => panic!("no program is called {kind:?}"),
    }
}

fn run(start: Start, size: u32, kind: &str, more: &[(&str, &str)]) -> Ended {
    Job::start(start, size, &format!("stands {kind}"), &[&[SOON], more].concat()).end()
}

/// Runs all at once: they wait most of the time.
fn all(kinds: &[(&'static str, u32)], more: &'static [(&str, &str)], check: fn(&str, u32, &Ended)) {
    let jobs = kinds.iter().flat_map(|&(kind, size)| STARTS.iter().map(move |&start| (kind, size, start)));
    let threads: Vec<_> = jobs
        .map(|(kind, size, start)| {
            thread::spawn(move || {
                let ended = run(start, size, kind, more);
                check(kind, size, &ended);
                println!("{kind}, {size} ranks, {start:?}: as it should be");
            })
        })
        .collect();
    let failed = threads.into_iter().map(thread::JoinHandle::join).filter(std::result::Result::is_err).count();
    assert_eq!(failed, 0, "see above");
}

#[test]
fn what_can_never_go_on_is_ended_with_who_waits_for_whom() {
    let kinds = [
        ("reads", 1),
        ("reads", 3),
        ("joins", 2),
        ("joins-thread", 2),
        ("idle-thread", 2),
        ("awaits", 1),
        ("awaits", 2),
        ("any", 1),
        ("any", 3),
        ("any-in-set", 2),
        ("any-finished", 3),
        ("writes-beyond", 2),
        ("finalizes-unread", 2),
        ("finalizes-unread", 3),
        ("wrong-tag", 2),
        ("barrier", 2),
    ];
    all(&kinds, &[], |kind, size, ended| {
        let stuck = if kind == "any-finished" { 1 } else { size };
        for rank in 0..stuck {
            // Under a launcher the ranks' errors point to what it says.
            let told = if kind == "finalizes-unread" { "went-on" } else { "deadlock" };
            let report = format!("{}\n{}", ended.of(rank, told).rest, ended.errors.join("\n"));
            let parts: &[&str] = match kind {
                "writes-beyond" => &["initwrite to rank 1, tag 9, 268435456 bytes", "call initread", "LATHIDE_WINDOW"],
                // What finalize returns.
                "finalizes-unread" => &["deadlock", "initwrite to rank 1, tag 9, 268435456 bytes", "call initread"],
                "wrong-tag" => {
                    &["rank 1 has a message of tag 1 from rank 0", "message of tag 1 lies unread: use one tag"]
                }
                "barrier" => &["rank 0 waits in barrier", "rank 0 is in barrier, which rank 1 has not called"],
                "any" | "any-in-set" | "any-finished" => {
                    &["waits for any rank: initread_any, tag 4", "what to change: "]
                }
                _ => &["initread from rank", "tag 4", "what to change: "],
            };
            for part in parts {
                assert!(report.contains(part), "{kind}: {part:?} is not in {report:?}");
            }
        }
    });
}

/// The same without progress while a rank computes, and with every read in a call of its own.
#[test]
fn what_can_never_go_on_is_ended_in_deferred_mode_too() {
    all(&[("reads", 2), ("awaits", 2), ("barrier", 2)], &[("LATHIDE_OVERLAP", "off")], |_, size, ended| {
        (0..size).for_each(|rank| _ = ended.of(rank, "deadlock"));
    });
}

/// Whoever could still act is waited for: a thread that has never called, one that sleeps, one that waits for another
/// process, an operator, the program between two waits.
#[test]
fn what_may_go_on_is_left_alone() {
    let kinds = [
        ("any-late", 3),
        ("late-thread", 1),
        ("late-thread", 2),
        ("late-sleeper", 2),
        ("pipe", 2),
        ("operator", 2),
        ("timeouts-then-writes", 1),
        ("timeouts-then-writes", 2),
    ];
    all(&kinds, &[], |kind, size, ended| {
        for rank in 0..size {
            ended.of(rank, "went-on");
        }
        assert!(ended.statuses.iter().all(|status| status.success()), "{kind}: {ended}");
        assert!(ended.errors.iter().all(|errors| !errors.contains("deadlock")), "{kind}: {ended}");
    });
}

/// After ten seconds the launcher, or without one rank 0, says who waits for whom; nobody is ended.
#[test]
fn what_cannot_be_decided_is_reported() {
    let threads: Vec<_> = ["polls", "timeouts", "tokio", "sleeper"]
        .into_iter()
        .flat_map(|kind| STARTS.iter().map(move |&start| (kind, start)))
        .map(|(kind, start)| {
            thread::spawn(move || {
                // It is said once. A rank that a busy machine keeps from polling for a second is taken for one that computes.
                let said = || {
                    let mut job = Job::start(start, 2, &format!("stands {kind}"), &[SOON]);
                    job.until(2, "up");
                    job.until_error("no message has moved for 1")
                };
                let mut tries = (0..3).map(|_| said()).inspect(|text| println!("{kind}, {start:?}: {text}"));
                let text = tries.find(|text| text.contains("is not certain")).expect("it is not certain");
                for rank in 0..2 {
                    let line =
                        format!("rank {rank} waits for rank {}: initread from rank {}, tag 4", 1 - rank, 1 - rank);
                    assert!(text.contains(&line), "{kind}, {start:?}: {line:?} is not in {text}");
                }
            })
        })
        .collect();
    let failed = threads.into_iter().map(thread::JoinHandle::join).filter(std::result::Result::is_err).count();
    assert_eq!(failed, 0, "see above");
}

/// A job whose time is over says what each rank waits for before it is ended, however it waits.
#[test]
fn a_job_whose_time_is_over_says_what_its_ranks_wait_for() {
    for (kind, words) in [("polls", "rank 1 waits for rank 0: initread from rank 0, tag 4"), ("late-thread", "tag 4")] {
        // Two seconds of a busy machine may be too short to join and to answer.
        let is_said = ["2", "15"].into_iter().any(|seconds| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
            command
                .args(["run", "-n", "2", "--timeout", seconds])
                .arg(crate::spmd::this())
                .args(crate::spmd::ARGUMENTS);
            let ended = Job::of(crate::spmd::prepared(command, &format!("stands {kind}"), &[])).end();
            assert_eq!(ended.statuses[0].code(), Some(124), "{ended}");
            println!("after {seconds} s: {}", ended.errors[0]);
            ["what each rank waits for:", words].iter().all(|part| ended.errors[0].contains(part))
        });
        assert!(is_said, "{words:?} is not said, see above");
    }
}
