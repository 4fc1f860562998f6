//! Who is measured, how it is built, and how it is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::job;
use super::ranks::{CORES, PROGRAM, RANK, RATE};
use super::section::{Cell, Link, Placement, Section, cores};
use super::star;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Lathide,
    OpenMpi,
    /// Open MPI that gives the core away while it waits.
    OpenMpiYielding,
    /// Open MPI with a thread that moves bytes.
    OpenMpiThread,
    Mpich,
    /// MPICH with a thread that moves bytes.
    MpichThread,
    ZeroMq,
    Raw,
    RawPolled,
}
use Kind::{Lathide, Mpich, MpichThread, OpenMpi, OpenMpiThread, OpenMpiYielding, Raw, RawPolled, ZeroMq};

impl Kind {
    pub(crate) const ALL: [Kind; 9] =
        [Lathide, OpenMpi, OpenMpiYielding, OpenMpiThread, Mpich, MpichThread, ZeroMq, Raw, RawPolled];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Lathide => "lathide",
            OpenMpi => "Open MPI",
            OpenMpiYielding => "Open MPI yielding",
            OpenMpiThread => "Open MPI thread",
            Mpich => "MPICH",
            MpichThread => "MPICH thread",
            ZeroMq => "ZeroMQ",
            Raw => "raw",
            RawPolled => "raw polled",
        }
    }

    /// Whether it is one of those that lathide is to be compared with.
    pub(crate) fn is_peer(self) -> bool {
        !self.is_own()
    }

    /// Whether it has a part in a section.
    pub(crate) fn joins(self, section: &Section) -> bool {
        match self {
            // Where every rank has a core, it only makes Open MPI slower.
            OpenMpiYielding => section.is_crowded(),
            // Its thread waits in a loop: without a core of its own it takes that of the calculation.
            MpichThread => section.kinds.contains(&self) && cores().len() >= 2 * section.ranks as usize,
            OpenMpiThread | ZeroMq | Raw | RawPolled => section.kinds.contains(&self),
            _ => true,
        }
    }

    fn is_own(self) -> bool {
        matches!(self, Lathide | Raw | RawPolled)
    }
}

/// A contender that can be started here.
pub(crate) struct Contender {
    pub(crate) kind: Kind,
    program: PathBuf,
    launcher: PathBuf,
    /// Its version, and the settings that make it use TCP.
    pub(crate) transport: String,
}

/// TCP alone, over the loopback; no shared memory.
const OPEN_MPI: [&str; 11] = [
    "--mca",
    "pml",
    "ob1",
    "--mca",
    "btl",
    "tcp,self",
    "--allow-run-as-root",
    "--oversubscribe",
    "--bind-to",
    "none",
    "--quiet",
];
const MPICH: [(&str, &str); 2] = [("MPIR_CVAR_NOLOCAL", "1"), ("UCX_TLS", "tcp,self")];

impl Contender {
    /// Builds it into `folder`; says why not if it cannot be had here.
    pub(crate) fn build(kind: Kind, folder: &Path) -> Result<Self, String> {
        let made = |program: PathBuf, launcher, transport| Ok(Self { kind, program, launcher, transport });
        if kind.is_own() {
            let transport = match kind {
                Lathide => concat!("lathide ", env!("CARGO_PKG_VERSION"), ", the default configuration"),
                Raw => "std::net, blocking, TCP_NODELAY",
                _ => "std::net, nonblocking in a loop, TCP_NODELAY",
            };
            let this = std::env::current_exe().map_err(|error| error.to_string())?;
            return made(this, PathBuf::new(), transport.to_owned());
        }
        let (compiler, launcher, source, name) = match kind {
            ZeroMq => ("cc", "cc", "zmq.c", "zmq"),
            Mpich | MpichThread => ("mpicc.mpich", "mpiexec.hydra", "mpi.c", "mpich"),
            _ => ("mpicc.openmpi", "mpirun.openmpi", "mpi.c", "openmpi"),
        };
        let (launcher, program) = (found(launcher)?, folder.join(name));
        compile(compiler, source, &program, if kind == ZeroMq { &["-lzmq"] } else { &[] })?;
        let transport = match kind {
            ZeroMq => "ZeroMQ, a PAIR socket each, tcp://, one thread for input and output".to_owned(),
            Mpich | MpichThread => {
                let text = said("mpichversion", &[])?;
                let line =
                    |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("?").trim().to_owned();
                let settings = MPICH.map(|(name, value)| format!("{name}={value}")).join(" ");
                let more = if kind == MpichThread { " MPIR_CVAR_ASYNC_PROGRESS=1" } else { "" };
                format!("MPICH {}, {}, {settings}{more}", line("MPICH Version:"), line("MPICH Device:"))
            }
            _ => {
                let more = match kind {
                    OpenMpiYielding => ", mpi_yield_when_idle 1",
                    OpenMpiThread => ", btl_tcp_progress_thread 1",
                    _ => "",
                };
                let text = said("mpirun.openmpi", &["--version"])?;
                format!("{}, pml ob1, btl tcp,self{more}", text.lines().next().unwrap_or("?"))
            }
        };
        made(program, launcher, transport)
    }

    /// Whether it has a way to do this.
    fn does(&self, cell: &Cell) -> bool {
        match self.kind {
            // A write of raw TCP is not posted, it is done.
            Raw | RawPolled => cell.kind != "posted" && !cell.kind.starts_with("overlap-"),
            // What ZeroMQ writes is posted, always.
            ZeroMq => cell.kind != "rate",
            _ => true,
        }
    }

    /// The processes of one turn.
    fn commands(&self, section: &Section, plan: &[String], folder: &Path) -> Vec<Command> {
        let is_own = self.kind.is_own() || self.kind == ZeroMq;
        let mut commands = match section.link {
            Link::Loopback if is_own => {
                let address = free_address();
                let one = |rank: u32| {
                    let mut command = self.program(&address, section, plan);
                    command.env(RANK, rank.to_string());
                    command
                };
                (0..section.ranks).map(one).collect()
            }
            Link::Loopback => vec![then(self.launcher("lo", section), &self.program("-", section, plan))],
            Link::Star(rate, _) | Link::Classes(rate) => {
                let has_classes = matches!(section.link, Link::Classes(_));
                let program = self.program(star::ADDRESS, section, plan);
                let mut launcher = Command::new("sh");
                launcher.args(["-c", star::EACH]).arg(folder).arg(section.ranks.to_string());
                let mut launcher = if is_own { launcher } else { self.launcher(star::INTERFACE, section) };
                launcher.args(["sh", "-c", star::INSIDE]).arg(folder);
                launcher
                    .env("PMIX_MCA_ptl_base_if_include", star::LAUNCHER)
                    .env("PMIX_MCA_ptl_base_remote_connections", "1");
                vec![then(star::network(section.ranks, (rate, has_classes), folder), &then(launcher, &program))]
            }
        };
        for command in &mut commands {
            command.env_remove(CORES).env("RUST_BACKTRACE", "0");
            if let Some(cores) = section.placement.cores() {
                command.env(CORES, cores);
            }
        }
        commands
    }

    /// What starts an MPI's ranks.
    fn launcher(&self, interface: &str, section: &Section) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(["-n", &section.ranks.to_string()]);
        match self.kind {
            Mpich | MpichThread => {
                command.envs(MPICH).env("UCX_NET_DEVICES", interface).env("FI_PROVIDER", "tcp");
                command.env("MPIR_CVAR_ASYNC_PROGRESS", if self.kind == MpichThread { "1" } else { "0" });
            }
            _ => {
                let yields = if self.kind == OpenMpiYielding { "1" } else { "0" };
                let thread = if self.kind == OpenMpiThread { "1" } else { "0" };
                command.args(OPEN_MPI).args(["--mca", "btl_tcp_if_include", interface]);
                command.args(["--mca", "mpi_yield_when_idle", yields, "--mca", "btl_tcp_progress_thread", thread]);
            }
        }
        command
    }

    /// A rank's program, which is told its rank by whoever starts it.
    fn program(&self, address: &str, section: &Section, plan: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(section.limit().as_secs().to_string()).arg(address).args(plan);
        let name = match self.kind {
            Lathide => "lathide",
            RawPolled => "polled",
            _ => "raw",
        };
        if matches!(self.kind, OpenMpiThread | MpichThread) {
            command.env("PEERS_THREADS", "1");
        }
        if self.kind.is_own() {
            command.env(PROGRAM, format!("{name} {}", section.ranks));
        }
        if let Link::Star(_, bytes_per_s) = section.link {
            command.env(RATE, bytes_per_s.to_string());
        }
        command
    }

    /// One turn: rank 0's values of every cell.
    pub(crate) fn turn(&self, section: &Section, scale: f64, folder: &Path) -> Result<Vec<(String, Vec<f64>)>, String> {
        let plan: Vec<String> =
            section.cells.iter().filter(|cell| self.does(cell)).map(|cell| cell.plan(scale)).collect();
        let text = job::run(self.commands(section, &plan, folder), folder, section.limit())?;
        let parse = |line: &str| {
            let mut words = line.split('\t');
            let name = words.next().filter(|name| name.contains(':'))?.to_owned();
            let values: Result<Vec<f64>, _> = words.map(str::parse).collect();
            values.ok().map(|values| (name, values))
        };
        let figures: Vec<_> = text.lines().filter_map(parse).collect();
        if figures.len() == plan.len() { Ok(figures) } else { Err(format!("it printed {text:?}")) }
    }
}

impl Placement {
    /// A core for each rank, as the programs read it.
    fn cores(self) -> Option<String> {
        let cores = cores();
        match self {
            Placement::Free => None,
            Placement::Bound => Some(cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",")),
            Placement::OneCore => cores.first().map(|core| format!("{core},{core}")),
        }
    }
}

/// `first` with another command's words and variables behind its own.
fn then(mut first: Command, second: &Command) -> Command {
    first.arg(second.get_program()).args(second.get_args());
    for (name, value) in second.get_envs() {
        if let Some(value) = value {
            first.env(name, value);
        }
    }
    first
}

fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.expect("a free port on loopback").to_string()
}

/// Where a program is, by `PATH`.
fn found(program: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).map(|folder| folder.join(program));
    all.into_iter().find(|file| file.is_file()).ok_or(format!("{program} is not installed"))
}

/// What a program prints.
fn said(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Sources, as they were when this bench was built.
const SOURCES: [(&str, &str); 3] =
    [("plan.h", include_str!("plan.h")), ("mpi.c", include_str!("mpi.c")), ("zmq.c", include_str!("zmq.c"))];

/// Compiles one of them, unless it has been.
fn compile(compiler: &str, source: &str, program: &Path, more: &[&str]) -> Result<(), String> {
    if program.exists() {
        return Ok(());
    }
    let compiler = found(compiler)?;
    let folder = program.parent().ok_or("a folder is missing")?;
    for (name, text) in SOURCES {
        std::fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-w", "-o"]).arg(program).arg(folder.join(source)).args(more);
    let output = command.output().map_err(|error| format!("{}: {error}", compiler.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("error")).or(text.lines().last()).unwrap_or("?");
    Err(format!("{}: {}", compiler.display(), line.trim()))
}
