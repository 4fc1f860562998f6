//! Jobs in a Slurm of the test's own: munged, slurmctld and slurmd with a configuration in a directory, on ports of their
//! own. One node, this machine, with four processors whatever it has.
//!
//! Without Slurm, or without root, the test says that it is skipped, and fails if `LATHIDE_SLURM_REQUIRED=1`.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::examples::example;
use crate::foreign::{Home, installed};
use crate::process::{Finished, run};

/// Nothing here takes this long, except on a machine that is stuck.
const WATCHDOG: Duration = Duration::from_secs(60);
const STENCIL: [&str; 6] = ["--rows", "60", "--columns", "12", "--steps", "4"];

/// The daemons; dropped, they are gone with all their files.
struct Slurm {
    daemons: Vec<Child>,
    home: Home,
}

impl Slurm {
    fn start() -> Option<Slurm> {
        const REQUIRED: &str = "LATHIDE_SLURM_REQUIRED";
        for (program, package) in
            [("munged", "munge"), ("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("srun", "slurm-client")]
        {
            if !installed(program, package, REQUIRED) {
                return None;
            }
        }
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var(REQUIRED).as_deref() != Ok("1"), "slurmd needs root, and Slurm is required");
            eprintln!("skipped: slurmd needs root");
            return None;
        }
        let mut slurm = Slurm { daemons: Vec::new(), home: Home::new() };
        slurm.configure();
        let path = |name: &str| slurm.home.0.join(name).display().to_string();
        let munged = ["key-file", "socket", "pid-file", "log-file", "seed-file"];
        let munged = munged.map(|name| format!("--{name}={}", path(name)));
        slurm.daemon("/usr/sbin/munged", &[&["--foreground".to_owned(), "--force".to_owned()][..], &munged].concat());
        slurm.until("munged listens", |slurm| slurm.home.0.join("socket").exists());
        slurm.daemon("/usr/sbin/slurmctld", &["-D".to_owned()]);
        slurm.daemon("/usr/sbin/slurmd", &["-D".to_owned()]);
        slurm.until("the node is idle", |slurm| {
            run(slurm.command("sinfo").args(["-h", "-o", "%T"])).stdout.contains("idle")
        });
        Some(slurm)
    }

    fn configure(&self) {
        let directory = &self.home.0;
        std::fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        for name in ["state", "spool"] {
            std::fs::create_dir(directory.join(name)).unwrap();
        }
        let key = directory.join("key-file");
        std::fs::write(&key, [b'k'; 128]).unwrap();
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = name.trim().split('.').next().unwrap();
        let port = || crate::support::free_root().rsplit(':').next().unwrap().to_owned();
        let (control, node, here) = (port(), port(), directory.display());
        let settings = format!(
            "ClusterName=lathide\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={control}\nSlurmdPort={node}\n\
             AuthType=auth/munge\nAuthInfo=socket={here}/socket\nCredType=cred/munge\nSlurmUser=root\nSlurmdUser=root\n\
             StateSaveLocation={here}/state\nSlurmdSpoolDir={here}/spool\nSlurmctldPidFile={here}/slurmctld.pid\n\
             SlurmdPidFile={here}/slurmd.pid\nSlurmctldLogFile={here}/slurmctld.log\nSlurmdLogFile={here}/slurmd.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\n\
             SlurmdParameters=config_overrides\nMpiDefault=none\nReturnToService=2\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN\nPartitionName=all Nodes=ALL Default=YES State=UP\n"
        );
        std::fs::write(directory.join("slurm.conf"), settings).unwrap();
    }

    /// A command with nothing in its environment but this Slurm.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", &self.home.0);
        command.env("SLURM_CONF", self.home.0.join("slurm.conf"));
        command
    }

    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let said = self.home.0.join(format!("{}.said", Path::new(program).file_name().unwrap().display()));
        let said = File::create(said).unwrap();
        let mut command = self.command(program);
        command.args(arguments).stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said);
        self.daemons.push(command.spawn().unwrap());
    }

    fn until(&self, what: &str, condition: impl Fn(&Slurm) -> bool) {
        let deadline = Instant::now() + WATCHDOG;
        while !condition(self) {
            if Instant::now() > deadline {
                let read = |name| std::fs::read_to_string(self.home.0.join(name)).unwrap_or_default();
                let said = ["munged.said", "slurmctld.said", "slurmd.said"].map(read);
                panic!("never came: {what}; {said:#?}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn run(&self, words: &[&str]) -> Finished {
        let mut command = self.command("timeout");
        run(command.args(["-s", "KILL", "90"]).args(words))
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The last that was started ends first: each needs those before it.
        for daemon in self.daemons.iter_mut().rev() {
            if let Some(process) = Pid::from_raw(daemon.id() as i32) {
                let _ = kill_process(process, Signal::TERM);
            }
            let deadline = Instant::now() + Duration::from_secs(10);
            while matches!(daemon.try_wait(), Ok(None)) {
                if Instant::now() > deadline {
                    let _ = daemon.kill();
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// What stands before srun: it keeps what the launcher says to the agent, in pieces as they come.
const SRUN: &str = "#!/bin/sh
tee -a \"${0%/*}/../heard\" | /usr/bin/srun \"$@\"
";

/// Everything that the launcher says through srun is passed over the network as it is: the key is not in it.
fn the_key_does_not_pass_through_srun(slurm: &Slurm) {
    use std::os::unix::fs::PermissionsExt;
    let (folder, heard) = (slurm.home.0.join("way"), slurm.home.0.join("heard"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("srun"), SRUN).unwrap();
    std::fs::set_permissions(folder.join("srun"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", folder.display());
    let show = "od -An -v -tu1 </proc/self/fd/$LATHIDE_KEY_FD";
    let mut command = slurm.command("timeout");
    command.args(["-s", "KILL", "90", "salloc", "-n", "1", env!("CARGO_BIN_EXE_lathide"), "run", "--tag", "never"]);
    let ended = run(command.args(["sh", "-c", show]).env("PATH", path)).succeeded();
    let key: Vec<u8> = ended.stdout.split_whitespace().map(|byte| byte.parse().expect("a byte")).collect();
    assert_eq!(key.len(), 32, "{ended:?}");
    let heard = std::fs::read(heard).unwrap();
    let text = String::from_utf8_lossy(&heard);
    assert!(text.contains("Prepare") && text.contains("Left"), "srun was not listened to: {text}");
    let decimal = key.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let hexadecimal = key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(!text.contains(&decimal) && !text.contains(&hexadecimal), "{text}");
    assert!(!heard.windows(32).any(|window| window == key));
    assert_eq!(slurm.home.left(), Vec::<std::path::PathBuf>::new(), "the key's file is gone");
}

#[test]
fn programs_run_in_slurm() {
    let Some(slurm) = Slurm::start() else { return };
    let (program, lathide) = (example("stencil").display().to_string(), env!("CARGO_BIN_EXE_lathide"));
    let stencil = [&[program.as_str()][..], &STENCIL].concat();
    let is_done = |ended: Finished, ranks: u32| {
        let ended = ended.succeeded();
        assert!(ended.stdout.contains(&format!("on {ranks} ranks")), "{ended:?}");
        assert!(ended.stdout.contains("correct to the bit"), "{ended:?}");
        assert_eq!(slurm.home.left(), Vec::<std::path::PathBuf>::new(), "no invitation is left");
    };
    is_done(slurm.run(&[&["srun", "-n", "4"][..], &stencil].concat()), 4);
    is_done(slurm.run(&[&["srun", "-n", "2", "--mpi=pmi2"][..], &stencil].concat()), 2);
    is_done(slurm.run(&[&["salloc", "-n", "4", lathide, "run"][..], &stencil].concat()), 4);
    is_done(slurm.run(&[&["salloc", "-n", "4", lathide, "run", "-n", "3"][..], &stencil].concat()), 3);
    // Wrong arguments end every rank with 1; a shell that fails alone, with its own status.
    slurm.run(&["srun", "-n", "2", &program, "--version", "i4"]).failed(1);
    slurm.run(&["srun", "-n", "2", "sh", "-c", "exit $((SLURM_PROCID * 7))"]).failed(7);
    the_key_does_not_pass_through_srun(&slurm);
    let script = "[ $LATHIDE_RANK = 1 ] && exit 9; sleep 30";
    let ended = slurm.run(&["salloc", "-n", "2", lathide, "run", "sh", "-c", script]).failed(9);
    assert!(ended.stderr.contains("rank 1") && ended.stderr.contains("status 9"), "{ended:?}");
}
