//! The README's commands, as they stand there: every line of a `console` block is run here, with short settings where it
//! takes long, or is named with the test that runs it. A command that the README has and this file does not is a failure,
//! and so is one that this file has and the README does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::examples::example;

/// The workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const README: &str = include_str!("../../README.md");
/// A second package is built, and its dependencies, perhaps beside other builds.
const WATCHDOG: Duration = Duration::from_secs(900);

/// What is done about a command.
enum How {
    /// Run in the clone: these words instead, or the README's own.
    InClone(&'static str),
    /// Run wherever the commands before it have led, in their order.
    Next(&'static str),
    /// It needs what a test has to bring; this one does.
    By(&'static str),
}
use How::{By, InClone, Next};

/// In the README's order. `lathide` is the program of these tests; an empty text is the README's command.
const COMMANDS: &[(&str, How)] = &[
    ("cargo run --release -- gain", InClone("lathide gain --gamma 1 --repeats 1 --rows 20000 --quiet")),
    ("cargo test", By("main.rs")),
    // What it installs is what the others run as `lathide`.
    ("cargo install --path runtime/cli", Next("lathide --version")),
    ("cargo new halo && cd halo", Next("cargo new --offline --vcs none halo && cd halo")),
    ("cargo add lathide --path ..", Next("cargo add --offline lathide --path .. && cp ../Cargo.lock . && $PROGRAM")),
    (
        "cargo run --release",
        Next("cargo run --offline && mkdir -p target && ln -sfn $CARGO_TARGET_DIR/debug target/release"),
    ),
    ("lathide run -n 4 target/release/halo", Next("")),
    ("lathide run -n 2 --link wan target/release/halo", Next("")),
    ("cargo build --release --examples", InClone("test -x $EXAMPLES/stencil")),
    (
        "lathide run -n 2 --report --trace trace.json --link lan target/release/examples/stencil --rows 100000 --columns 64",
        InClone(
            "lathide run -n 2 --report --trace $SCRATCH/trace.json --link lan $EXAMPLES/stencil --rows 1000 --columns 8",
        ),
    ),
    ("lathide link", InClone("lathide link --seconds 1 --repeats 1 --bytes 8,64KiB --quiet")),
    (
        "lathide collectives --link delay=0.2ms,rate=100mbit --ranks 4,8 --operations broadcast,allreduce",
        InClone(
            "lathide collectives --link delay=0.2ms,rate=100mbit --ranks 4 --operations broadcast --seconds 1 --quiet",
        ),
    ),
    ("lathide predict decomposition --n 1024 --t-s 35e-6 --t-w 0.23e-6 --procs 16", InClone("")),
    ("lathide lab --hosts 4 --shared --rate 10mbit --host-rate 6.5mbit --delay 0.1ms -- bash", By("lab/network.rs")),
    (
        "lathide study --hosts host0,host1,host2,host3 -n 4 --contention none --sweep n=16..128*2 -- target/release/examples/decomposition --version {version} --n {n} --iterations 10",
        InClone(
            "lathide study -q --contention none --seconds 3 --repeats 1 -n 4 --sweep n=16,32 -- $EXAMPLES/decomposition --version {version} --n {n} --iterations 2",
        ),
    ),
    (
        "lathide study --hosts host0,host1,host2,host3 --sweep ranks=2,3,4 --sweep pt=2,3,4 --classes grid -- target/release/examples/cavity --version {version} --pt {pt} --n 64 --cycles 4",
        InClone(
            "lathide study -q --seconds 3 --repeats 1 --sweep ranks=2,3 --sweep pt=2,3 --classes grid -- $EXAMPLES/cavity --version {version} --pt {pt} --n 16 --cycles 2",
        ),
    ),
    (
        "lathide study --hosts host0,host1,host2,host3 -n 4 --contention none --sweep words=1,10,100,1000 -- target/release/examples/multigrid --version {version} --message-words {words} --n 64 --cycles 2",
        InClone(
            "lathide study -q --seconds 3 --repeats 1 -n 4 --sweep words=1,10 -- $EXAMPLES/multigrid --version {version} --message-words {words} --n 32 --cycles 2",
        ),
    ),
    (
        "lathide study --hosts host0,host1,host2,host3 -n 4 --contention none --sweep n=60..480*2 -- target/release/examples/laplace --version {version} --decomposition blocks --n {n} --iterations 50",
        InClone(
            "lathide study -q --seconds 3 --repeats 1 -n 4 --sweep n=60,90 -- $EXAMPLES/laplace --version {version} --decomposition blocks --n {n} --iterations 5",
        ),
    ),
    (
        "lathide study --link wan --sweep ranks=2,4,8 -- target/release/examples/krylov --version {version} --algorithm pipelined --n 64 --iterations 20",
        InClone(
            "lathide study -q --seconds 3 --repeats 1 --link delay=1ms,rate=100mbit --sweep ranks=2,3 -- $EXAMPLES/krylov --version {version} --algorithm pipelined --n 32 --iterations 4",
        ),
    ),
    (
        "lathide gain --halo 1..64*2 --link wan",
        InClone("lathide gain --halo 1,2 --link delay=1ms,rate=100mbit --repeats 1 --quiet"),
    ),
    ("lathide doctor --hosts a,b,user@c ./stencil", By("ssh.rs")),
    (
        "lathide run --hosts a:4,b:4 ./stencil",
        InClone("lathide run --hosts localhost:4 $EXAMPLES/stencil --rows 100 --columns 8"),
    ),
    ("lathide gain --hosts a,b", By("ssh.rs")),
    ("salloc -n 16 lathide run ./stencil", By("slurm.rs")),
    ("srun -n 4 ./stencil; mpirun -n 4 ./stencil", By("foreign.rs")),
    ("lathide lab --hosts 2 --delay 25ms --rate 50mbit -- bash", By("lab/commands.rs")),
    ("lathide run --hosts host0,host1 ./stencil", By("lab/jobs.rs")),
    ("lathide lab cut host1", By("lab/commands.rs")),
    ("lathide lab move host1 10.76.0.77", By("lab/moves.rs")),
];

/// The commands of the `console` blocks, without their comments.
fn commands() -> Vec<String> {
    let blocks = README.split("```console\n").skip(1).map(|block| block.split("```").next().unwrap_or_default());
    let lines = blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ "));
    lines.map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned()).collect()
}

/// The README's first program.
fn program() -> &'static str {
    let (_, program) = README.split_once("```rust\n").expect("a program");
    program.split_once("```").expect("its end").0
}

#[test]
fn every_command_is_run_by_a_test() {
    let known: Vec<&str> = COMMANDS.iter().map(|(command, _)| *command).collect();
    assert_eq!(commands(), known, "each command of the README stands in this file, in the same order");
    let tests = Path::new(ROOT).join("tests/it");
    for (command, how) in COMMANDS {
        if let By(file) = how {
            assert!(tests.join(file).is_file(), "{command}: no test {file}");
        }
    }
}

/// A directory with the clone in it, as `lathide`: a directory of its own whose entries are those of the sources, so that
/// what is made beside it is outside of any workspace. Removed with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("lathide-readme-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let clone = path.join("lathide");
        fs::create_dir_all(&clone).expect("a directory");
        for entry in ["Cargo.toml", "Cargo.lock", "README.md", "runtime", "examples", "tests", "benches"] {
            let source = Path::new(ROOT).join(entry);
            std::os::unix::fs::symlink(source, clone.join(entry)).expect("a link to the sources");
        }
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A shell with `lathide` in its path, in the clone.
fn shell(scratch: &Scratch, script: &str) -> Command {
    let mut command = Command::new("sh");
    // As typed one after the other: what fails ends it, and is shown.
    command.args(["-exc", script]).current_dir(scratch.0.join("lathide"));
    let own = Path::new(env!("CARGO_BIN_EXE_lathide")).parent().expect("a directory");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(own.to_owned()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(paths).expect("a path"));
    // What cargo says to a test is not meant for the cargo that this one starts.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_") && !matches!(&*name, "CARGO_HOME" | "CARGO_BUILD_JOBS") {
            command.env_remove(&*name);
        }
    }
    command
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0");
    // Kept from run to run, so that only the first one builds the dependencies.
    command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme"));
    command.env("EXAMPLES", example("ring").parent().expect("a directory")).env("SCRATCH", &scratch.0);
    command.env("PROGRAM", format!("cp {}/program.rs src/main.rs", scratch.0.display()));
    command.stdin(Stdio::null());
    command
}

/// Runs a shell to its end, with its output in a file.
#[track_caller]
fn succeeds(scratch: &Scratch, script: &str) -> String {
    let output = scratch.0.join("output");
    let file = || fs::OpenOptions::new().create(true).append(true).open(&output).expect("a file");
    let mut child = shell(scratch, script).stdout(file()).stderr(file()).spawn().expect("sh");
    let end = Instant::now() + WATCHDOG;
    let text = || fs::read_to_string(&output).unwrap_or_default();
    let status = loop {
        if let Some(status) = child.try_wait().expect("our child") {
            break status;
        }
        if Instant::now() > end {
            _ = child.kill();
            _ = child.wait();
            panic!("{script} does not end:\n{}", text());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let text = text();
    _ = fs::remove_file(&output);
    assert!(status.success(), "{script}: {status}\n{text}");
    text
}

#[test]
fn the_commands_do_as_they_say() {
    let scratch = Scratch::new();
    fs::write(scratch.0.join("program.rs"), program()).expect("a file");
    let mut session = String::new();
    for (command, how) in COMMANDS {
        match how {
            InClone(other) => drop(succeeds(&scratch, if other.is_empty() { command } else { other })),
            Next(other) => session += &format!("{}\n", if other.is_empty() { command } else { other }),
            By(_) => {}
        }
    }
    let manifest = || fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("the clone's manifest");
    let before = manifest();
    let said = succeeds(&scratch, &session);
    assert_eq!(manifest(), before, "the new program is no member of the clone's workspace");
    for line in
        ["rank 0 of 1 heard from rank 0", "[3] rank 3 of 4 heard from rank 2", "[1] rank 1 of 2 heard from rank 0"]
    {
        assert!(said.contains(line), "{line:?} is not in\n{said}");
    }
}

/// What the README shows of an answer is what is answered.
#[test]
fn the_answer_shown_is_the_answer() {
    let scratch = Scratch::new();
    let (command, shown) = README
        .split("```console\n$ lathide predict")
        .nth(1)
        .expect("a prediction")
        .split_once("...\n")
        .expect("an answer");
    let said = succeeds(&scratch, &format!("lathide predict{command}"));
    for line in shown.split("```").next().unwrap_or_default().lines() {
        assert!(said.contains(line), "{line:?} is not in\n{said}");
    }
}
