//! Who is measured, how it is built, and how it is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::job;
use super::ranks::{CORES, PLACE};
use super::section::{Cell, Placement, Section};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Lathide,
    OpenMpi,
    /// Open MPI that gives the core away while it waits.
    OpenMpiYielding,
    Mpich,
    ZeroMq,
    Raw,
    RawPolled,
}
use Kind::{Lathide, Mpich, OpenMpi, OpenMpiYielding, Raw, RawPolled, ZeroMq};

impl Kind {
    pub(crate) const ALL: [Kind; 7] = [Lathide, OpenMpi, OpenMpiYielding, Mpich, ZeroMq, Raw, RawPolled];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Lathide => "lathide",
            OpenMpi => "Open MPI",
            OpenMpiYielding => "Open MPI yielding",
            Mpich => "MPICH",
            ZeroMq => "ZeroMQ",
            Raw => "raw",
            RawPolled => "raw polled",
        }
    }

    /// Whether it is one of those that lathide is to be compared with.
    pub(crate) fn is_peer(self) -> bool {
        matches!(self, OpenMpi | OpenMpiYielding | Mpich | ZeroMq)
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
    /// Builds it into `folder`; says why not if it cannot be had here. `places` names folders to look for an MPI in.
    pub(crate) fn build(kind: Kind, folder: &Path) -> Result<Self, String> {
        let own = || std::env::current_exe().map_err(|error| error.to_string());
        let made = |program, launcher, transport| Ok(Self { kind, program, launcher, transport });
        match kind {
            Lathide => made(own()?, PathBuf::new(), format!("lathide {}", env!("CARGO_PKG_VERSION"))),
            Raw => made(own()?, PathBuf::new(), "std::net, blocking, TCP_NODELAY".into()),
            RawPolled => made(own()?, PathBuf::new(), "std::net, nonblocking in a loop, TCP_NODELAY".into()),
            ZeroMq => {
                let program = compile("cc", "zmq.c", &folder.join("zmq"), &["-lzmq"])?;
                made(
                    program,
                    PathBuf::new(),
                    "ZeroMQ, a PAIR socket each, tcp://, one thread for input and output".into(),
                )
            }
            OpenMpi | OpenMpiYielding => {
                let launcher = found("mpirun.openmpi")?;
                let version = first_line(&launcher, "--version")?;
                let program = folder.join("openmpi");
                if !program.exists() {
                    compile("mpicc.openmpi", "mpi.c", &program, &[])?;
                }
                let yields = if kind == OpenMpiYielding { ", mpi_yield_when_idle 1" } else { "" };
                made(program, launcher, format!("{version}, pml ob1, btl tcp,self on lo{yields}"))
            }
            Mpich => {
                let launcher = found("mpiexec.hydra")?;
                let device = Command::new("mpichversion").output().map_err(|error| format!("mpichversion: {error}"))?;
                let text = String::from_utf8_lossy(&device.stdout).into_owned();
                let word =
                    |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("?").trim().to_owned();
                let (version, device) = (word("MPICH Version:"), word("MPICH Device:"));
                let program = compile("mpicc.mpich", "mpi.c", &folder.join("mpich"), &[])?;
                let settings = MPICH.map(|(name, value)| format!("{name}={value}")).join(" ");
                made(
                    program,
                    launcher,
                    format!("MPICH {version} {device}, {settings} UCX_NET_DEVICES=lo FI_PROVIDER=tcp"),
                )
            }
        }
    }

    /// Whether it has a part in a section.
    pub(crate) fn joins(&self, section: &Section) -> bool {
        match self.kind {
            // Where every rank has a core, it only makes Open MPI slower.
            OpenMpiYielding => section.is_crowded(),
            ZeroMq | Raw | RawPolled => section.kinds.contains(&self.kind),
            _ => true,
        }
    }

    /// Whether it has a way to do this.
    fn does(&self, cell: &Cell) -> bool {
        // A write of raw TCP is not posted, it is done.
        !(matches!(self.kind, Raw | RawPolled) && cell.kind == "posted")
    }

    /// The processes of one turn.
    fn commands(&self, section: &Section, plan: &[String]) -> Vec<Command> {
        let cores = section.placement.cores();
        let seconds = section.limit().as_secs().to_string();
        let mut commands = self.launched(section, &seconds, plan);
        for command in &mut commands {
            command.env_remove(CORES).env("RUST_BACKTRACE", "0");
            if let Some(cores) = &cores {
                command.env(CORES, cores);
            }
        }
        commands
    }

    fn launched(&self, section: &Section, seconds: &str, plan: &[String]) -> Vec<Command> {
        let ranks = section.ranks.to_string();
        if self.kind.is_own() || self.kind == ZeroMq {
            let address = free_address();
            return (0..section.ranks).map(|rank| self.process(rank, section.ranks, &address, seconds, plan)).collect();
        }
        let mut command = Command::new(&self.launcher);
        command.args(["-n", &ranks]);
        if self.kind == Mpich {
            command.envs(MPICH).env("UCX_NET_DEVICES", "lo").env("FI_PROVIDER", "tcp").env("FI_TCP_IFACE", "lo");
        } else {
            let yields = if self.kind == OpenMpiYielding { "1" } else { "0" };
            command.args(OPEN_MPI).args(["--mca", "btl_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", yields]);
        }
        command.arg(&self.program).arg(seconds).args(plan);
        vec![command]
    }

    fn process(&self, rank: u32, size: u32, address: &str, seconds: &str, plan: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(seconds);
        let name = match self.kind {
            ZeroMq => {
                command.args([rank.to_string(), format!("tcp://{address}")]).args(plan);
                return command;
            }
            Raw => "raw",
            RawPolled => "polled",
            _ => "lathide",
        };
        command.args(plan).env(PLACE, format!("{name} {rank} {size} {address}"));
        command
    }

    /// One turn: rank 0's values of every cell.
    pub(crate) fn turn(&self, section: &Section, scale: f64, folder: &Path) -> Result<Vec<(String, Vec<f64>)>, String> {
        let plan: Vec<String> =
            section.cells.iter().filter(|cell| self.does(cell)).map(|cell| cell.plan(scale)).collect();
        let text = job::run(self.commands(section, &plan), folder, section.limit())?;
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
        let cores = super::section::cores();
        match self {
            Placement::Free => None,
            Placement::Bound => Some(cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",")),
            Placement::OneCore => cores.first().map(|core| format!("{core},{core}")),
        }
    }
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

fn first_line(program: &Path, argument: &str) -> Result<String, String> {
    let output =
        Command::new(program).arg(argument).output().map_err(|error| format!("{}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or("?").to_owned())
}

/// Compiles one of this bench's sources.
fn compile(compiler: &str, source: &str, program: &Path, more: &[&str]) -> Result<PathBuf, String> {
    let compiler = found(compiler)?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(source);
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-w", "-o"]).arg(program).arg(source).args(more);
    let output = command.output().map_err(|error| format!("{}: {error}", compiler.display()))?;
    match output.status.success() {
        true => Ok(program.to_owned()),
        false => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let line = text.lines().find(|line| line.contains("error")).or(text.lines().last()).unwrap_or("?");
            Err(format!("{}: {}", compiler.display(), line.trim()))
        }
    }
}
