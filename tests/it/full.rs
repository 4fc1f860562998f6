//! Results that find no room: which file and why is said, before a job starts where that can be known; nothing is left.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::process::{Finished, run};

/// How the system says that a disk is full.
const NO_ROOM: &str = "No space left on device";

fn lathide(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    command.args(arguments);
    command
}

/// Runs a shell's `script` with the program as `$LATHIDE`.
fn shell(script: &str) -> Finished {
    run(Command::new("sh").args(["-c", script]).env("LATHIDE", env!("CARGO_BIN_EXE_lathide")))
}

/// No panic, and not without a word.
#[track_caller]
fn is_said(finished: &Finished, words: &[&str]) {
    for word in words {
        assert!(finished.stderr.contains(word), "{word:?} is not in {finished:?}");
    }
    assert!(!finished.stderr.contains("panicked"), "{finished:?}");
}

#[test]
fn output_that_finds_no_room_ends_the_job_with_a_word() {
    for script in [
        "$LATHIDE run -n 2 sh -c 'while echo y; do :; done' > /dev/full",
        "$LATHIDE run -n 1 sh -c 'echo one line; exec sleep 1000' > /dev/full",
    ] {
        let finished = shell(script).failed(125);
        is_said(&finished, &["lathide: the job was ended: what its ranks write cannot be passed on", NO_ROOM]);
    }
    let finished = shell("$LATHIDE run -n 2 --json true > /dev/full").failed(125);
    is_said(&finished, &["lathide: the result cannot be written", NO_ROOM]);
    // A job that has failed keeps its status.
    shell("$LATHIDE run -n 2 --json sh -c 'exit 9' > /dev/full").failed(9);
}

#[test]
fn answers_that_find_no_room_say_so() {
    for command in [
        "predict gain --gamma-h 10 --gamma-s 2..40 --omega 0.2",
        "predict logp --json",
        "gain --gamma 1 --rows 1000 --repeats 1 --quiet",
    ] {
        let finished = shell(&format!("$LATHIDE {command} > /dev/full"));
        assert_ne!(finished.status, Some(0), "{command}: {finished:?}");
        is_said(&finished, &["cannot be written", NO_ROOM]);
    }
}

/// There is nobody to tell, but the status is what it is.
#[test]
fn a_standard_error_that_takes_nothing_changes_no_status() {
    shell("$LATHIDE run -n 2 sh -c 'exit 7' 2> /dev/full").failed(7);
    shell("$LATHIDE run -n 2 no-such-program 2> /dev/full").failed(127);
    shell("$LATHIDE run -n 2 --link lan true 2> /dev/full").succeeded();
    shell("$LATHIDE report no-such-file 2> /dev/full").failed(1);
}

#[test]
fn devices_are_written_but_no_timeline_is_made_beside_them() {
    let finished = run(&mut lathide(&["run", "-n", "1", "--trace", "/dev/full", "sh", "-c", "echo up"])).failed(125);
    is_said(&finished, &["the timeline /dev/full cannot be written", "no regular file"]);
    assert!(!finished.stdout.contains("up"), "{finished:?}");
    let finished = run(&mut lathide(&["run", "-n", "1", "--report=/dev/full", "true"])).failed(125);
    is_said(&finished, &["the reports cannot be written to /dev/full", NO_ROOM]);
    run(&mut lathide(&["run", "-n", "1", "--report=/dev/null", "true"])).succeeded();
}

#[test]
fn files_that_cannot_be_made_are_named_before_the_job_starts() {
    for (option, said) in [
        ("--trace=/no/such/place/t.json", "the timeline /no/such/place/t.json cannot be written: No such file"),
        ("--trace=/", "the timeline / cannot be written"),
        ("--report=/no/such/place/r.json", "the reports cannot be written to /no/such/place/r.json: No such file"),
        ("--report=/", "the reports cannot be written to /"),
    ] {
        let finished = run(&mut lathide(&["run", "-n", "2", option, "sh", "-c", "echo up"])).failed(125);
        is_said(&finished, &[said]);
        assert!(!finished.stdout.contains("up"), "{option}: {finished:?}");
    }
}

/// A directory of its own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let name = format!("lathide-full-{}-{}", std::process::id(), FOLDERS.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// Runs `script` with a file system of `size` at `$DIR`, where that can be had, and shows at its end what it holds.
    fn on_small_disk(&self, size: &str, script: &str) -> Option<Finished> {
        let all = format!(
            "mount -t tmpfs -o size={size} none \"$DIR\" && ({script}); status=$?; ls -A \"$DIR\"; exit $status"
        );
        let probe = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
        if !probe.is_ok_and(|status| status.success()) {
            eprintln!("skipped: there can be no file system of a test's own here");
            return None;
        }
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &all]).env("DIR", &self.0);
        Some(run(command.env("LATHIDE", env!("CARGO_BIN_EXE_lathide"))))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_full_disk_is_found_before_the_job_starts_and_nothing_is_left() {
    let folder = Folder::new();
    for (option, said) in [("--trace", "the timeline"), ("--report", "the reports cannot be written to")] {
        let script = format!("head -c 1m /dev/zero > $DIR/fill; $LATHIDE run -n 2 {option}=$DIR/out sh -c 'echo up'");
        let Some(finished) = folder.on_small_disk("128k", &script) else { return };
        is_said(&finished.failed(125), &[said, &format!("{}/out", folder.0.display()), NO_ROOM]);
        let Some(finished) = folder.on_small_disk("128k", &script) else { return };
        assert_eq!(finished.stdout, "fill\n", "{option}: {finished:?}");
    }
}

#[test]
fn a_disk_that_fills_up_meanwhile_is_named_and_nothing_is_left() {
    let folder = Folder::new();
    let ours = folder.0.display();
    let fill = "sh -c 'head -c 1m /dev/zero > $DIR/fill'";
    let script = format!("$LATHIDE run -n 1 --quiet --report=$DIR/out {fill}; test $? = 1 && echo kept");
    let Some(finished) = folder.on_small_disk("256k", &script) else { return };
    is_said(&finished, &[&format!("the reports cannot be written to {ours}/out"), NO_ROOM]);
    assert_eq!(finished.stdout, "kept\nfill\n", "{finished:?}");
    let saved = "echo '{}' > $DIR/in; head -c 1m /dev/zero > $DIR/fill;";
    let script = format!("{saved} $LATHIDE report $DIR/in -o $DIR/page.html");
    let Some(finished) = folder.on_small_disk("256k", &script) else { return };
    assert_eq!(finished.stdout, "fill\nin\n", "{finished:?}");
    assert_eq!(finished.status, Some(1), "{finished:?}");
}

/// What was there stays until it can be replaced.
#[test]
fn a_result_that_finds_no_room_takes_no_earlier_one_away() {
    let folder = Folder::new();
    let file = folder.0.join("reports.json");
    File::create(&file).and_then(|mut file| std::io::Write::write_all(&mut file, b"earlier")).expect("a file");
    let option = format!("--report={}", file.display());
    run(&mut lathide(&["run", "-n", "1", "--quiet", &option, "true"])).succeeded();
    assert_eq!(std::fs::read_to_string(&file).expect("the reports").trim(), "[]");
    assert_eq!(std::fs::read_dir(&folder.0).expect("the folder").count(), 1);
}
