//! Jobs that other starters than `lathide run` start: Open MPI, MPICH, and processes that only look so.
//!
//! Every job has a home of its own, where rank 0 leaves the invitation. Without the starters the tests say that they are
//! skipped, and fail if `LATHIDE_MPI_REQUIRED=1`.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::examples::example;
use crate::process::{Finished, run};

/// A home directory; dropped, it is gone.
pub(crate) struct Home(pub(crate) PathBuf);

impl Home {
    pub(crate) fn new() -> Home {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("lathide-home-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Home(path)
    }

    fn jobs(&self) -> PathBuf {
        self.0.join(".cache/lathide/jobs")
    }

    /// What lies in the directory of invitations.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.jobs()).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program with nothing of any starter in its environment.
fn bare(program: &Path, home: &Home) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &home.0).env("LATHIDE_JOIN", "30");
    command
}

const STENCIL: [&str; 6] = ["--rows", "60", "--columns", "12", "--steps", "4"];

fn stencil(home: &Home, variables: &[(&str, String)]) -> Command {
    let mut command = bare(&example("stencil"), home);
    command.args(STENCIL).envs(variables.iter().map(|(name, value)| (name, value)));
    command
}

/// Runs the commands at the same time.
fn all(commands: Vec<Command>) -> Vec<Finished> {
    let started = commands.into_iter().map(|mut command| thread::spawn(move || run(&mut command)));
    let started: Vec<_> = started.collect();
    started.into_iter().map(|thread| thread.join().expect("every rank ends")).collect()
}

type Variables = Vec<(&'static str, String)>;

fn slurm(rank: u32, size: u32) -> Variables {
    let text = |text: &str| text.to_owned();
    vec![
        ("SLURM_PROCID", rank.to_string()),
        ("SLURM_STEP_NUM_TASKS", size.to_string()),
        ("SLURM_STEP_NUM_NODES", text("1")),
        ("SLURM_STEP_NODELIST", text("no-such-host")),
        ("SLURM_JOB_ID", text("4711")),
        ("SLURM_STEP_ID", text("2")),
    ]
}

/// As [`slurm`], on several hosts: rank 0 listens on all its addresses.
fn slurm_wide(rank: u32, size: u32) -> Variables {
    [slurm(rank, size), vec![("SLURM_STEP_NUM_NODES", "2".to_owned())]].concat()
}

fn open_mpi(rank: u32, size: u32) -> Variables {
    vec![
        ("OMPI_COMM_WORLD_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", size.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", size.to_string()),
        ("PMIX_NAMESPACE", "2120876033".to_owned()),
    ]
}

fn hydra(rank: u32, size: u32) -> Variables {
    vec![
        ("PMI_RANK", rank.to_string()),
        ("PMI_SIZE", size.to_string()),
        ("PMI_FD", (6 + rank).to_string()),
        ("MPI_LOCALNRANKS", size.to_string()),
    ]
}

fn torch(rank: u32, size: u32) -> Variables {
    let text = |text: &str| text.to_owned();
    vec![
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", size.to_string()),
        ("LOCAL_WORLD_SIZE", size.to_string()),
        ("MASTER_ADDR", text("127.0.0.1")),
        ("MASTER_PORT", text("1")),
        ("TORCHELASTIC_RUN_ID", text("none")),
    ]
}

fn succeeded(home: &Home, ended: Vec<Finished>) {
    let said: String = ended.into_iter().map(|one| one.succeeded().stdout).collect();
    assert!(said.contains("on 4 ranks") && said.contains("correct to the bit"), "{said}");
    assert_eq!(home.left(), Vec::<PathBuf>::new(), "nothing is left");
}

#[test]
fn ranks_of_every_starter_become_a_job() {
    for variables in [slurm, slurm_wide, open_mpi, hydra, torch] {
        let home = Home::new();
        let commands = (0..4).map(|rank| stencil(&home, &variables(rank, 4))).collect();
        succeeded(&home, all(commands));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home.jobs()), 0o700);
    }
}

#[test]
fn wrappers_do_not_hide_the_starter() {
    let home = Home::new();
    let program = example("stencil");
    let command = |rank| {
        let mut command = bare(Path::new("sh"), &home);
        let script = "\"$@\" && \"$@\"; exit $?";
        command.args(["-c", script, "sh"]).arg(&program).args(STENCIL).envs(hydra(rank, 4));
        command
    };
    succeeded(&home, all((0..4).map(command).collect()));
}

/// Starts a rank that never finds its job, and returns where it looked and what it said.
fn lonely(home: &Home, variables: Variables) -> (PathBuf, String) {
    let ended = run(stencil(home, &variables).env("LATHIDE_JOIN", "0.3")).failed(1);
    let path = ended.stderr.split_whitespace().find(|word| word.contains("lathide/jobs/"));
    (path.unwrap_or_else(|| panic!("no path in {}", ended.stderr)).into(), ended.stderr)
}

#[test]
fn a_rank_0_that_never_comes_is_said_with_what_to_do() {
    let home = Home::new();
    let (path, error) = lonely(&home, slurm(1, 4));
    for part in ["rank 1", "job 4711.2 of srun", "300ms", "it is not there", "LATHIDE_KEY_FILE", "lathide run"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(path.parent().unwrap(), home.jobs());
    // Rank 0 does not wait for ever either, and takes its invitation with it.
    let ended = run(stencil(&home, &slurm(0, 4)).env("LATHIDE_JOIN", "0.3")).failed(1);
    assert!(ended.stderr.contains("did not join"), "{ended:?}");
    assert_eq!(home.left(), Vec::<PathBuf>::new());
}

#[test]
fn what_is_left_over_or_not_private_is_refused_and_does_no_harm() {
    let home = Home::new();
    let (path, _) = lonely(&home, slurm(1, 4));
    // An invitation of a rank 0 that is dead: its port is closed.
    let stale = format!("{{\"key\":{:?},\"roots\":[\"127.0.0.1:1\"]}}", crate::support::KEY);
    let elsewhere = home.0.join("elsewhere");
    std::fs::write(&elsewhere, &stale).unwrap();
    let write = |mode: u32| {
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, &stale).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let link = || {
        let _ = std::fs::remove_file(&path);
        symlink(&elsewhere, &path).unwrap();
    };
    let states: [(&dyn Fn(), &str); 3] =
        [(&|| write(0o600), "127.0.0.1:1: "), (&|| write(0o644), "mode 644"), (&link, "symbolic link")];
    for (prepare, part) in states {
        prepare();
        let (_, error) = lonely(&home, slurm(1, 4));
        assert!(error.contains(part), "{part}: {error}");
        // With it in the way, and the others there first, the job comes to be.
        let others: Vec<Command> = (1..4).map(|rank| stencil(&home, &slurm(rank, 4))).collect();
        let others = thread::spawn(move || all(others));
        thread::sleep(std::time::Duration::from_millis(100));
        let first = run(&mut stencil(&home, &slurm(0, 4)));
        succeeded(&home, std::iter::once(first).chain(others.join().unwrap()).collect());
    }
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), stale);
}

#[test]
fn a_directory_that_others_may_enter_is_refused_at_once() {
    let home = Home::new();
    std::fs::create_dir_all(home.jobs()).unwrap();
    std::fs::set_permissions(home.jobs(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for rank in [0, 1] {
        let ended = run(&mut stencil(&home, &slurm(rank, 4))).failed(1);
        assert!(ended.stderr.contains("mode 755") && ended.stderr.contains("not safe"), "{ended:?}");
    }
    let ended = run(stencil(&home, &slurm(1, 4)).env_remove("HOME")).failed(1);
    assert!(ended.stderr.contains("HOME"), "{ended:?}");
}

#[test]
fn what_is_given_by_hand_goes_first() {
    let home = Home::new();
    let key = home.0.join("key");
    std::fs::write(&key, crate::support::KEY).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let root = crate::support::free_root();
    let by_hand = |rank| {
        let mut command = stencil(&home, &open_mpi(rank, 4));
        command.env("LATHIDE_KEY_FILE", &key).env("LATHIDE_ROOT", &root);
        command
    };
    succeeded(&home, all((0..4).map(by_hand).collect()));
    assert!(!home.jobs().exists(), "no invitation was needed");
    // The key alone: rank 0 leaves only its address.
    let key_only = |rank| {
        let mut command = stencil(&home, &open_mpi(rank, 4));
        command.env("LATHIDE_KEY_FILE", &key);
        command
    };
    succeeded(&home, all((0..4).map(key_only).collect()));
}

/// Whether a program is installed; fails if it must be.
pub(crate) fn installed(program: &str, package: &str, required: &str) -> bool {
    let directories = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let is_there = directories.iter().any(|directory| Path::new(directory).join(program).exists());
    if !is_there {
        assert!(std::env::var(required).as_deref() != Ok("1"), "there is no {program}, but it is required");
        eprintln!("skipped: {program} is not installed (apt-get install {package})");
    }
    is_there
}

#[test]
fn mpirun_of_open_mpi_and_of_mpich_start_jobs() {
    for (mpirun, package, options) in [
        ("mpirun.openmpi", "openmpi-bin", &["--allow-run-as-root", "--oversubscribe"][..]),
        ("mpiexec.hydra", "mpich", &[]),
    ] {
        if !installed(mpirun, package, "LATHIDE_MPI_REQUIRED") {
            continue;
        }
        let home = Home::new();
        let start = || {
            let mut command = bare(Path::new(mpirun), &home);
            command.env("TMPDIR", &home.0).args(options).args(["-n", "4"]);
            command
        };
        let ended = run(start().arg(example("stencil")).args(STENCIL));
        succeeded(&home, vec![ended]);
        // Two programs one after the other: the second must not meet the first.
        let ended = run(start().args(["sh", "-c", "\"$@\" && \"$@\"", "sh"]).arg(example("stencil")).args(STENCIL));
        assert_eq!(ended.stdout.matches("correct to the bit").count(), 2, "{ended:?}");
        succeeded(&home, vec![ended]);
    }
}
