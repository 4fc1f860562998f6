//! An ssh server of the test's own: its keys, its port on 127.0.0.2, its users.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::free_address;

/// Nothing here takes this long, except on a machine that is stuck.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A running server; dropped, it is gone with its directory.
pub(crate) struct Server {
    child: Child,
    port: u16,
    directory: PathBuf,
}

impl Server {
    /// Starts one, if OpenSSH's server is installed.
    pub(crate) fn start() -> Option<Server> {
        let program =
            ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let Some(program) = program else {
            assert!(
                std::env::var("LATHIDE_SSH_REQUIRED").as_deref() != Ok("1"),
                "there is no sshd, but it is required"
            );
            eprintln!("skipped: sshd is not installed (apt-get install openssh-server)");
            return None;
        };
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("lathide-ssh-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        for key in ["host", "user", "stranger"] {
            let key = directory.join(key);
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key).status();
            assert!(made.unwrap().success());
        }
        if rustix::process::geteuid().is_root() {
            // Where it wants to be alone, as root; packages make it when the service starts.
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let port = free_address(Ipv4Addr::new(127, 0, 0, 2)).port();
        let shown = directory.display();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.2\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/user.pub\n\
             StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             SetEnv XDG_CACHE_HOME={shown}/cache TMPDIR={shown}/tmp\nMaxStartups 100\n"
        );
        std::fs::create_dir(directory.join("tmp")).unwrap();
        std::fs::write(directory.join("settings"), settings).unwrap();
        let host_key = std::fs::read_to_string(directory.join("host.pub")).unwrap();
        std::fs::write(directory.join("known"), format!("[127.0.0.2]:{port} {host_key}")).unwrap();
        let mut command = Command::new(program);
        command.arg("-D").arg("-f").arg(directory.join("settings")).arg("-E").arg(directory.join("log"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Server { child, port, directory };
        until("the server listens", || std::net::TcpStream::connect(("127.0.0.2", port)).is_ok());
        Some(server)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The command that reaches it.
    pub(crate) fn ssh(&self) -> String {
        self.ssh_with("known", "user")
    }

    /// The command with other files: what is known of hosts, and who one is.
    pub(super) fn ssh_with(&self, known: &str, user: &str) -> String {
        let (directory, port) = (self.directory.display(), self.port);
        format!(
            "ssh -F none -o IdentitiesOnly=yes -o GlobalKnownHostsFile=none -o UserKnownHostsFile={directory}/{known} \
             -i {directory}/{user} -p {port}"
        )
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Sends a signal to the server's end of every session. Killed, they cut the connections.
    pub(super) fn signal_sessions(&self, signal: Signal) {
        for session in descendants(self.child.id()).into_iter().filter(|process| name(*process).starts_with("sshd")) {
            send(session, signal);
        }
    }

    /// Kills the server's end of the sessions in which a process of this name runs.
    pub(super) fn cut_sessions_with(&self, program: &str) {
        let sessions =
            children(self.child.id()).into_iter().map(|session| [vec![session], descendants(session)].concat());
        for session in sessions.filter(|all| all.iter().any(|process| name(*process) == program)) {
            let ends = session.into_iter().filter(|process| name(*process).starts_with("sshd"));
            ends.for_each(|end| send(end, Signal::KILL));
        }
    }

    /// Sends a signal to the server itself, which lets nobody in any more when it is stopped or killed.
    pub(super) fn signal_listener(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Kills the agents alone.
    pub(super) fn kill_agents(&self) {
        for agent in descendants(self.child.id()).into_iter().filter(|process| is_agent(*process)) {
            send(agent, Signal::KILL);
        }
    }

    /// Kills every process of every session, as the death of its host would.
    pub(super) fn kill_host(&self) {
        let all = descendants(self.child.id());
        // So that none acts on the death of another.
        all.iter().for_each(|process| send(*process, Signal::STOP));
        descendants(self.child.id()).into_iter().for_each(|process| send(process, Signal::KILL));
    }

    /// What agents have left on the disk.
    pub(super) fn left(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.path("tmp")).unwrap().flatten().map(|entry| entry.path()).collect()
    }
}

pub(super) fn name(process: u32) -> String {
    std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default().trim_end().to_owned()
}

fn is_agent(process: u32) -> bool {
    let arguments = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    arguments.split(|&byte| byte == 0).any(|argument| argument == b"__agent")
}

/// A process that has ended meanwhile needs no signal.
pub(super) fn send(process: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(process as i32).unwrap(), signal);
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn children(process: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

pub(super) fn descendants(process: u32) -> Vec<u32> {
    children(process).into_iter().flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// An argument of `sleep` that no other process has: so its processes can be counted.
pub(super) fn marker() -> String {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    format!("{}.{:03}", 2_000_000 + std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed))
}

/// The living processes one of whose arguments is `marker`.
pub(super) fn alive(marker: &str) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let named = |number: &u32| {
        let arguments = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        arguments.split(|&byte| byte == 0).any(|argument| argument == marker.as_bytes())
    };
    numbers.filter(named).collect()
}

pub(super) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WATCHDOG;
    while !condition() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
