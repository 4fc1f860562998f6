//! The command line of `lathide lab`, exit statuses, and what the command within sees.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use super::super::process::run;
use super::{is_possible, lathide};

#[track_caller]
fn refused(args: &[&str], says: &str) {
    let done = run(&mut lathide(args)).failed(2);
    assert!(done.stderr.contains(says), "{args:?}: {}", done.stderr);
}

#[test]
fn nonsense_is_refused() {
    refused(&["--", "true"], "--hosts");
    refused(&["--hosts", "2"], "COMMAND");
    refused(&["--hosts", "0", "--", "true"], "from 1 to 250");
    refused(&["--hosts", "251", "--", "true"], "from 1 to 250");
    refused(&["--hosts", "2", "--delay", "25m", "--", "true"], "us, ms, s, min or h");
    refused(&["--hosts", "2", "--rate", "0mbit", "--", "true"], "rate");
    refused(&["--hosts", "2", "--loss", "100%", "--", "true"], "cut a host's cable");
    refused(&["--hosts", "2", "--loss=-0.1", "--", "true"], "0.1% or 0.001");
    refused(&["--hosts", "2", "--queue", "0", "--", "true"], "64KiB");
    refused(&["--hosts", "2", "--shared", "--", "true"], "--rate 10mbit");
    refused(&["cut", "host1"], "LATHIDE_LAB is not set");
    refused(&["change", "host1"], "--rate");
    let gone = run(lathide(&["status"]).env("LATHIDE_LAB", "/nowhere")).failed(125);
    assert!(gone.stderr.contains("has it ended?"), "{}", gone.stderr);
}

#[test]
fn the_status_is_the_commands() {
    if !is_possible() {
        return;
    }
    run(&mut lathide(&["--hosts", "1", "--", "sh", "-c", "exit 7"])).failed(7);
    run(&mut lathide(&["--hosts", "1", "--", "sh", "-c", "kill -9 $$"])).failed(137);
    let missing = run(&mut lathide(&["--hosts", "1", "--", "./no-such-program"])).failed(127);
    assert!(missing.stderr.contains("no-such-program"), "{}", missing.stderr);
    run(&mut lathide(&["--hosts", "1", "--", "/"])).failed(126);
    let own = env!("CARGO_BIN_EXE_lathide");
    let within = run(&mut lathide(&["--hosts", "1", "--", own, "lab", "--hosts", "1", "--", "true"])).failed(2);
    assert!(within.stderr.contains("within a lab already"), "{}", within.stderr);
    // One that has ended is in nobody's way.
    run(lathide(&["--hosts", "1", "--", "true"]).env("LATHIDE_LAB", "/nowhere")).succeeded();
}

/// Where the limit of namespaces is reached, as in a container without rights.
#[test]
fn where_there_can_be_no_lab_a_relay_stands_in() {
    if !is_possible() {
        return;
    }
    let own = env!("CARGO_BIN_EXE_lathide");
    let job = format!(
        "{own} run --json --tag never --hosts host0:1,host1:2 sh -c 'echo rank=$LATHIDE_RANK'; echo relay=$LATHIDE_LAB_RELAY"
    );
    let lab = format!(
        "echo 1 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_net_namespaces
        {own} lab --hosts 2 --json -- echo never; echo with_json=$?
        exec {own} lab --hosts 2 --delay 2ms --rate 50mbit -- sh -c \"$1\""
    );
    let done = run(Command::new("unshare")
        .args(["--user", "--map-root-user", "--net"])
        .args(["sh", "-c"])
        .arg(format!("ip link set lo up; {lab}"))
        .args(["sh", &job]))
    .succeeded();
    assert!(done.stderr.contains("there can be no lab here"), "{}", done.stderr);
    assert!(done.stderr.contains("emulated link delay=2ms,rate=50mbit"), "{}", done.stderr);
    assert!(done.stdout.contains("relay=delay=2ms,rate=50mbit"), "{}", done.stdout);
    // Who wants a lab's counts cannot have them from a relay.
    assert!(done.stdout.contains("with_json=125") && !done.stdout.contains("never"), "{}", done.stdout);
    assert!(["rank=0", "rank=1", "rank=2"].iter().all(|rank| done.stderr.contains(rank)), "{}", done.stderr);
    assert!(done.stdout.contains("delay=2ms,rate=50mbit"), "{}", done.stdout);
}

#[test]
fn a_relay_that_makes_no_sense_is_refused() {
    let done = run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "--hosts", "host0", "true"])
        .env_remove("LATHIDE_LAB")
        .envs([("LATHIDE_LAB_RELAY", "delay=soon"), ("LATHIDE_LAB_HOSTS", "host0,host1")]))
    .failed(2);
    assert!(done.stderr.contains("LATHIDE_LAB_RELAY=delay=soon"), "{}", done.stderr);
}

#[test]
fn a_running_lab_is_changed() {
    if !is_possible() {
        return;
    }
    let script = "set -e; l=$1
        $l lab change host1 --rate 3mbit --queue 100k; $l lab change --delay 2ms; $l lab cut host0
        $l lab status --json; $l lab mend host0; $l lab status
        ! $l lab cut host2 2>/dev/null; echo $LATHIDE_LAB_HOSTS; stat -c %a $LATHIDE_LAB";
    let lathide_program = env!("CARGO_BIN_EXE_lathide");
    let done = run(&mut lathide(&["--hosts", "2", "--quiet", "--", "sh", "-c", script, "sh", lathide_program]));
    let text = done.succeeded().stdout;
    let status: serde_json::Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let host = |number: usize, what: &str| status["hosts"][number][what].clone();
    assert_eq!((host(0, "is_cut"), host(1, "is_cut")), (true.into(), false.into()), "{text}");
    assert_eq!((host(0, "delay_s"), host(1, "delay_s")), (0.002.into(), 0.002.into()));
    assert_eq!((host(0, "rate_bits_per_s"), host(1, "rate_bits_per_s")), (().into(), 3_000_000.into()));
    assert_eq!(host(1, "queue_bytes"), 102_400);
    assert!(text.contains("host1 10.76.0.2: delay=2ms,rate=3mbit;"), "{text}");
    assert!(text.ends_with("host0,host1\n700\n"), "{text}");
}

#[test]
fn files_are_this_users_and_ranks_run() {
    if !is_possible() {
        return;
    }
    let file = std::env::temp_dir().join(format!("lathide-lab-file-{}", std::process::id()));
    let lathide_program = env!("CARGO_BIN_EXE_lathide");
    let script = "id -u > $2; $1 run -n 2 --tag never -- sh -c 'echo rank $LATHIDE_RANK'";
    let mut command = lathide(&["--hosts", "1", "--quiet", "--", "sh", "-c", script, "sh", lathide_program]);
    let done = run(command.arg(&file)).succeeded();
    let (owner, said) = (fs::metadata(&file).expect("it was written").uid(), fs::read_to_string(&file).expect("text"));
    fs::remove_file(&file).expect("it is ours");
    let own = run(Command::new("id").arg("-u")).succeeded().stdout;
    assert_eq!((said, owner.to_string()), (own.clone(), own.trim().to_owned()));
    let mut ranks: Vec<&str> = done.stdout.lines().collect();
    ranks.sort_unstable();
    assert_eq!(ranks, ["rank 0", "rank 1"]);
}

#[test]
fn another_shell_reaches_the_lab() {
    if !is_possible() {
        return;
    }
    // The command within says where the lab is and stays until its input ends.
    let mut command = lathide(&["--hosts", "2", "--quiet", "--", "sh", "-c", "echo $LATHIDE_LAB; cat"]);
    let (mut lab, directory) = super::ends::started(&mut command);
    let there = run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["__in-host", "host1", "sh", "-c", "pwd; cat /proc/net/fib_trie"])
        .env("LATHIDE_LAB", &directory))
    .succeeded();
    let here = std::env::current_dir().expect("a directory").display().to_string();
    assert_eq!(there.stdout.lines().next(), Some(here.as_str()));
    assert!(there.stdout.contains("10.76.0.2") && !there.stdout.contains("10.76.0.1\n"), "{}", there.stdout);
    let nobody = run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["__in-host", "host2", "true"])
        .env("LATHIDE_LAB", &directory))
    .failed(2);
    assert!(nobody.stderr.contains("host0 to host1"), "{}", nobody.stderr);
    drop(lab.stdin.take());
    super::ends::ended(&mut lab);
}
