//! The life of a lab: makes the hosts, runs the command, passes signals on, takes everything away.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use lathide::launcher::quantity::WHOLE;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use parking_lot::Mutex;

use super::address::name;
use super::cable::Cable;
use super::control::{self, Control, Request, Status, ask};
use super::enter::show;
use super::host::Host;
use super::names::Names;
use super::namespace::{self, LabError};
use super::switch::Switch;
use super::wire::Wire;
use crate::launch::failed::{Failed, system};
use crate::launch::service::Service;
use crate::launch::warden::Warden;

/// The variable that tells programs within a lab its directory.
pub(crate) const DIRECTORY_VARIABLE: &str = "LATHIDE_LAB";
/// The variable that tells them the names of its hosts, separated by commas.
pub(crate) const HOSTS_VARIABLE: &str = "LATHIDE_LAB_HOSTS";
/// The variable that tells them the emulated link that stands in for the lab, where there could be none.
pub(crate) const RELAY_VARIABLE: &str = "LATHIDE_LAB_RELAY";

/// A virtual network, and a command that runs on its first host.
#[derive(clap::Args)]
#[group(args = ["hosts"])]
pub(crate) struct Lab {
    /// Number of hosts: host0, host1, and on
    #[arg(long, value_name = "N", value_parser = |text: &str| WHOLE.within("1", "250").one::<u32>(text))]
    pub hosts: u32,
    /// Each host's, to the switch.
    #[command(flatten)]
    pub cable: Cable,
    /// One medium for all hosts, on which one packet at a time passes
    #[arg(long)]
    pub shared: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub command: Vec<OsString>,
}

impl Lab {
    /// Makes the network, runs the command to its end, and leaves nothing behind. The calling process must have a single
    /// thread; it stays in the lab's user namespace, the signals that are passed on to the command stay blocked, and a
    /// thread goes on answering requests.
    ///
    /// # Errors
    /// [`LabError`] if the network cannot be made or the command not be started.
    pub(crate) fn run(&self, stdout: Stdio) -> Result<Status, LabError> {
        self.check()?;
        let starter = std::env::current_exe().map_err(system("the lathide program cannot be found"))?;
        let directory = directory();
        // First of all, so that whatever comes is taken away whenever this process is killed.
        let mut warden = Warden::start(&starter, "lab", &directory)?;
        DirBuilder::new().mode(0o700).create(&directory).map_err(system(directory.display()))?;
        namespace::enter_own()?;
        let names = Names::new(&directory, self.hosts as usize);
        let hosts = Host::make_all(self.hosts, &self.cable)?;
        for host in &hosts {
            let told = host.network.metadata().and_then(|network| warden.tell(network.ino()));
            told.map_err(system("the lab's warden has gone"))?;
        }
        // Only now, and before there are threads: where there can be no lab, the caller goes on without.
        let signals = signals().map_err(system("signals cannot be received"))?;
        let (control, service) = network(self, &directory, hosts, names)?;
        let mut command = start(self, stdout, &starter, &directory)?;
        let exit = attend(&mut command, &signals).map_err(system("the lab's command cannot be watched"))?;
        // What the command has left behind would otherwise still use the network.
        drop(warden);
        drop(service);
        let status = exit.code().unwrap_or_else(|| 128 + exit.signal().unwrap_or(0));
        Ok(Status { exit_status: Some(u8::try_from(status).unwrap_or(u8::MAX)), ..control.status() })
    }

    fn check(&self) -> Result<(), Failed> {
        if self.shared && self.cable.rate.is_none() {
            return Err(Failed::usage("a shared medium needs a rate to share: --rate 10mbit, for example"));
        }
        // One that has ended may still be in a shell's environment.
        let around = std::env::var_os(DIRECTORY_VARIABLE).filter(|lab| ask(Path::new(lab), &Request::Status).is_ok());
        around.map_or(Ok(()), |lab| {
            Err(Failed::usage(format!("this is within a lab already ({}); end it first", lab.display())))
        })
    }
}

/// The place of the lab's directory, which nobody else has.
fn directory() -> PathBuf {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    own.unwrap_or_else(std::env::temp_dir).join(format!("lathide-lab-{:016x}", fastrand::u64(..)))
}

/// Starts the threads between the hosts: the switch, and what answers requests.
fn network(lab: &Lab, directory: &Path, hosts: Vec<Host>, names: Names) -> Result<(Arc<Control>, Service), Failed> {
    let switch = Switch::new(hosts.len(), lab.cable, lab.shared, fastrand::u64(..));
    show(directory, &hosts).map_err(system(directory.display()))?;
    let (hosts, switch) = (Arc::new(hosts), Arc::new(Mutex::new(switch)));
    let what = "the lab's switch ends, its hosts are cut off";
    let service = Wire::new(hosts.clone(), switch.clone()).and_then(|wire| Service::start("lab-switch", what, wire));
    let service = service.map_err(system("the lab's switch cannot be started"))?;
    let listener = UnixListener::bind(directory.join(control::SOCKET));
    let listener = listener.map_err(system(format!("a socket in {}", directory.display())))?;
    let control = Arc::new(Control { hosts, switch, names });
    let answering = control.clone();
    let thread = thread::Builder::new().name("lab-control".into()).spawn(move || answering.serve(&listener));
    thread.map_err(system("the lab's threads cannot be started"))?;
    Ok((control, service))
}

/// Starts the command on the first host, tied to this thread's life.
fn start(lab: &Lab, stdout: Stdio, starter: &Path, directory: &Path) -> Result<Child, Failed> {
    let hosts: Vec<String> = (0..lab.hosts as usize).map(name).collect();
    let mut command = Command::new(starter);
    command.arg(START).arg(std::process::id().to_string());
    command.arg(starter).arg(IN_HOST).arg(name(0)).args(&lab.command).stdout(stdout);
    command.env(DIRECTORY_VARIABLE, directory).env(HOSTS_VARIABLE, hosts.join(","));
    // A program inherits what its parent blocks. Meanwhile a signal ends this process, and so the lab.
    let mut spawn = || -> io::Result<Child> {
        awaited().thread_unblock()?;
        let command = command.spawn();
        awaited().thread_block()?;
        command
    };
    spawn().map_err(system("the lab's command cannot be started"))
}

/// The signals that are passed on to the command, and the one that tells of its end.
fn awaited() -> SigSet {
    use Signal::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    [SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2].into_iter().collect()
}

/// Blocks the signals, in this thread and those it will start, so that they can be read.
fn signals() -> io::Result<SignalFd> {
    awaited().thread_block()?;
    Ok(SignalFd::with_flags(&awaited(), SfdFlags::SFD_CLOEXEC)?)
}

/// Waits for the command's end, and passes signals on.
fn attend(command: &mut Child, signals: &SignalFd) -> io::Result<ExitStatus> {
    let process = Pid::from_raw(command.id() as i32);
    loop {
        if let Some(status) = command.try_wait()? {
            return Ok(status);
        }
        let Some(signal) = signals.read_signal()? else { continue };
        // What the terminal sends comes to the command too, which is in the same process group.
        if signal.ssi_code == SENT_BY_KERNEL {
            continue;
        }
        let named = Signal::try_from(signal.ssi_signo as i32).ok().filter(|signal| *signal != Signal::SIGCHLD);
        if let Some(signal) = named {
            // It may have ended just now; its number is still its own.
            let _ = kill(process, signal);
        }
    }
}

/// The hidden commands of the `lathide` program.
const START: &str = "__start";
const IN_HOST: &str = "__in-host";
/// `si_code` of a signal that no process has sent.
const SENT_BY_KERNEL: i32 = 128;
