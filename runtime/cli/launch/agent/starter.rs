//! The command that starts an agent on a host.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::bootstrap::Image;
use super::hosts::Hosts;
use crate::launch::failed::{Failed, system};
use crate::launch::hosts::Host;
use lathide::launcher::environment;
use lathide::launcher::{KEEPALIVE, RESUME};

/// The hidden command of the `lathide` program that is an agent.
const AGENT: &str = "__agent";
/// The one that leads to an agent that runs already.
const AGENT_RESUME: &str = "__agent-resume";
/// What `ssh` gets beside the user's own configuration. Before them come the user's options, of which the first counts.
///
/// Nobody can answer questions: several hosts would ask at once, and only the launcher may read the terminal. So ssh must
/// not ask, but fail and say why.
const SSH_OPTIONS: [&str; 3] = ["BatchMode=yes", "ClearAllForwardings=yes", "ServerAliveCountMax=3"];
/// How long ssh may take to reach a host, in seconds. One that was reached before is tried for less at first: what went
/// while the network was cut is lost, and only another try goes through as soon as it can.
const CONNECT_S: u64 = 8;
const CONNECT_AGAIN_S: u64 = 2;
/// What `srun` gets; the last one is the host.
const SRUN_OPTIONS: [&str; 7] =
    ["--nodes=1", "--ntasks=1", "--overlap", "--cpu-bind=none", "--mpi=none", "--quiet", "--nodelist"];

/// How a host is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// It is this one.
    Here,
    /// It is in the virtual network of `lathide lab` around this process.
    Lab,
    Ssh,
    Srun,
}

impl Reach {
    pub(super) fn of(host: &Host, srun: bool) -> Self {
        let lab = std::env::var("LATHIDE_LAB").ok().and_then(|_| std::env::var("LATHIDE_LAB_HOSTS").ok());
        if lab.is_some_and(|hosts| hosts.split(',').any(|name| name.trim() == host.name)) {
            return Reach::Lab;
        }
        if srun {
            return Reach::Srun;
        }
        let own = rustix::system::uname();
        let own = own.nodename().to_string_lossy();
        let short = own.split('.').next().unwrap_or_default();
        let names = ["localhost", "127.0.0.1", "::1", &own, short];
        let is_plain = host.user.is_none() && host.port.is_none();
        if is_plain && names.contains(&host.name.as_str()) { Reach::Here } else { Reach::Ssh }
    }
}

/// This program, as it comes to the hosts.
pub(super) struct Program {
    own: PathBuf,
    /// What is sent, if any host needs it.
    pub(super) image: Option<Image>,
}

impl Program {
    /// # Errors
    /// If it cannot be found, or not be read though it must be sent.
    pub(super) fn of(hosts: &Hosts) -> Result<Self, Failed> {
        let own = std::env::current_exe().map_err(system("the lathide program cannot be found"))?;
        let is_over_ssh = |(host, _): &(Host, _)| Reach::of(host, hosts.srun) == Reach::Ssh;
        let is_sent = hosts.reach.agent.is_none() && hosts.places.iter().any(is_over_ssh);
        let unread = || format!("{} cannot be read, to be sent to the hosts", own.display());
        let image = is_sent.then(|| Image::read(&own)).transpose().map_err(system(unread()))?;
        Ok(Program { own, image })
    }
}

/// The command that starts an agent, with three pipes.
pub(super) fn command(hosts: &Hosts, host: &Host, Program { own, image }: &Program) -> Command {
    let agent = hosts.reach.agent.as_deref().unwrap_or(own.as_os_str());
    let reach = Reach::of(host, hosts.srun);
    if reach == Reach::Ssh {
        // What ssh gets, the login shell there takes apart again.
        let line = match image {
            Some(image) => shell_words::join(["sh", "-c", &image.script()]),
            None => shell_words::join(["exec", &agent.to_string_lossy(), AGENT]),
        };
        return piped(over_ssh(&hosts.ssh, host, CONNECT_S, &line));
    }
    let mut command = Command::new(if reach == Reach::Srun { OsStr::new("srun") } else { own.as_os_str() });
    match reach {
        Reach::Lab => _ = command.arg("__in-host").arg(&host.name).arg(agent),
        Reach::Srun => _ = command.args(SRUN_OPTIONS).arg(&host.name).arg(agent),
        Reach::Here | Reach::Ssh => {}
    }
    command.arg(AGENT);
    piped(command)
}

/// The way back over ssh to an agent that runs already.
pub(super) struct WayBack {
    ssh: Vec<String>,
    host: Host,
    line: String,
    /// How long it is looked for.
    pub(super) patience: Duration,
}

impl WayBack {
    /// To the agent on `host`, if its connection may be made again.
    pub(super) fn to(hosts: &Hosts, host: &Host, own: &Program) -> Option<Self> {
        let patience = Some(Reach::of(host, hosts.srun)).filter(|reach| *reach == Reach::Ssh).and_then(|_| resume())?;
        let agent = hosts.reach.agent.as_deref().unwrap_or(own.own.as_os_str());
        let line = match &own.image {
            Some(image) => shell_words::join(["sh", "-c", &image.resume_script()]),
            None => shell_words::join(["exec", &agent.to_string_lossy(), AGENT_RESUME]),
        };
        Some(WayBack { ssh: hosts.ssh.clone(), host: host.clone(), line, patience })
    }

    /// The command that goes there, with three pipes, for the `attempt`th time.
    pub(super) fn command(&self, attempt: u64) -> Command {
        piped(over_ssh(&self.ssh, &self.host, (CONNECT_AGAIN_S + attempt).min(CONNECT_S), &self.line))
    }

    /// How long an agent may wait for the launcher, which may notice a cut later than it.
    pub(super) fn agents_patience(&self) -> Duration {
        self.patience + keepalive().map_or(Duration::ZERO, |keepalive| ALIVE_TIMES * alive_interval(keepalive, true))
    }
}

/// `line`, executed on `host`.
fn over_ssh(ssh: &[String], host: &Host, connect_s: u64, line: &str) -> Command {
    let mut command = Command::new(ssh.first().map_or("ssh", String::as_str));
    let connect = format!("ConnectTimeout={connect_s}");
    command.args(ssh.iter().skip(1)).args(["-T", "-o", &alive_option(keepalive(), resume().is_some())]);
    command.args(SSH_OPTIONS.iter().chain([&connect.as_str()]).flat_map(|option| ["-o", option]));
    if let Some(port) = host.port {
        command.arg("-p").arg(port.to_string());
    }
    command.arg("--").arg(host.destination()).arg(line);
    command
}

fn piped(mut command: Command) -> Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The terminal's Ctrl-C is for the launcher alone.
    command.process_group(0);
    command
}

/// How long ranks with the launcher's environment wait for a host. What is wrong there they say themselves.
fn keepalive() -> Option<Duration> {
    environment::keepalive(&|name| std::env::var(name).ok()).unwrap_or(Some(KEEPALIVE))
}

/// The same for a connection that was cut.
fn resume() -> Option<Duration> {
    environment::resume(&|name| std::env::var(name).ok()).unwrap_or(Some(RESUME))
}

/// After so many intervals without a word from the host, ssh ends: three questions remain without an answer.
const ALIVE_TIMES: u32 = 4;

/// After how many seconds without a message ssh asks the host for one; after three more such times without, it ends.
///
/// A connection that can be made again ends soon after `keepalive`: another one goes through as soon as the network does,
/// while the old one tries only after up to twice as long as the cut. One that cannot ends late enough for a cut that is
/// mended within `keepalive`.
fn alive_option(keepalive: Option<Duration>, can_resume: bool) -> String {
    let interval = keepalive.map_or(Duration::ZERO, |keepalive| alive_interval(keepalive, can_resume));
    format!("ServerAliveInterval={}", interval.as_secs())
}

/// In whole seconds, as ssh has it.
fn alive_interval(keepalive: Duration, can_resume: bool) -> Duration {
    let part = if can_resume { 4.0 } else { 2.0 };
    Duration::from_secs((keepalive.as_secs_f64() / part).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::agent::ReachOptions;
    use crate::launch::hosts::parse_list;

    #[test]
    fn ssh_gets_the_users_options_first_and_one_command() {
        let host = Host { port: Some(2222), ..parse_list("me@b").unwrap().remove(0) };
        let hosts = Hosts {
            places: vec![(host.clone(), vec![0])],
            ssh: ["ssh", "-i", "my key"].map(String::from).to_vec(),
            reach: ReachOptions { agent: Some("/opt/my tools/lathide".into()), ..ReachOptions::default() },
            ..Hosts::default()
        };
        let command = command(&hosts, &host, &Program { own: "/own".into(), image: None });
        let args: Vec<_> = command.as_std().get_args().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(args[..2], ["-i", "my key"]);
        assert_eq!(args[args.len() - 5..], ["-p", "2222", "--", "me@b", "exec '/opt/my tools/lathide' __agent"]);
        assert!(args.contains(&"BatchMode=yes") && args.contains(&"ConnectTimeout=8"));
        let back = WayBack::to(&hosts, &host, &Program { own: "/own".into(), image: None }).expect("over ssh");
        let command = back.command(3);
        let args: Vec<_> = command.as_std().get_args().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(args[args.len() - 1], "exec '/opt/my tools/lathide' __agent-resume");
        assert!(args.contains(&"ConnectTimeout=5"));
    }

    #[test]
    fn this_host_is_recognised_by_its_names_only() {
        let reach = |text: &str| Reach::of(&parse_list(text).unwrap()[0], false);
        assert_eq!(reach("localhost"), Reach::Here);
        assert_eq!(reach("[::1]"), Reach::Here);
        assert_eq!(reach(&rustix::system::uname().nodename().to_string_lossy()), Reach::Here);
        assert_eq!(reach("me@localhost"), Reach::Ssh);
        assert_eq!(reach("127.0.0.2"), Reach::Ssh);
    }

    #[test]
    fn ssh_outlasts_a_cut_that_the_links_outlast() {
        let seconds = |seconds: f64| Some(Duration::from_secs_f64(seconds));
        assert_eq!(alive_option(seconds(10.0), false), "ServerAliveInterval=5");
        assert_eq!(alive_option(seconds(0.1), false), "ServerAliveInterval=1");
        assert_eq!(alive_option(None, false), "ServerAliveInterval=0", "which means never");
    }

    #[test]
    fn ssh_ends_soon_where_it_can_be_started_again() {
        for keepalive_s in [0.1, 1.0, 3.0, 4.0, 10.0, 100.0] {
            let keepalive = Duration::from_secs_f64(keepalive_s);
            let noticed = ALIVE_TIMES * alive_interval(keepalive, true);
            assert!(noticed >= keepalive && noticed < keepalive + Duration::from_secs(4), "{keepalive_s}: {noticed:?}");
        }
        assert_eq!(alive_option(Some(KEEPALIVE), true), "ServerAliveInterval=1");
        assert_eq!(alive_option(None, true), "ServerAliveInterval=0");
    }
}
