//! The command that starts an agent on a host.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::bootstrap::Image;
use super::hosts::Hosts;
use crate::launch::failed::{Failed, system};
use crate::launch::hosts::Host;
use lathide::launcher::KEEPALIVE;
use lathide::launcher::environment;

/// The hidden command of the `lathide` program that is an agent.
const AGENT: &str = "__agent";
/// What `ssh` gets beside the user's own configuration. Before them come the user's options, of which the first counts.
///
/// Nobody can answer questions: several hosts would ask at once, and only the launcher may read the terminal. So ssh must
/// not ask, but fail and say why.
const SSH_OPTIONS: [&str; 4] =
    ["BatchMode=yes", "ConnectTimeout=8", "ClearAllForwardings=yes", "ServerAliveCountMax=3"];
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
    let mut command = match reach {
        Reach::Here | Reach::Lab => Command::new(own),
        Reach::Srun => Command::new("srun"),
        Reach::Ssh => Command::new(hosts.ssh.first().map_or("ssh", String::as_str)),
    };
    match reach {
        Reach::Here => command.arg(AGENT),
        Reach::Lab => command.arg("__in-host").arg(&host.name).arg(agent).arg(AGENT),
        Reach::Srun => command.args(SRUN_OPTIONS).arg(&host.name).arg(agent).arg(AGENT),
        Reach::Ssh => {
            // How long ranks with the launcher's environment wait for a host. What is wrong there they say themselves.
            let keepalive = environment::keepalive(&|name| std::env::var(name).ok()).unwrap_or(Some(KEEPALIVE));
            command.args(hosts.ssh.iter().skip(1)).args(["-T", "-o", &alive_option(keepalive)]);
            command.args(SSH_OPTIONS.iter().flat_map(|option| ["-o", option]));
            if let Some(port) = host.port {
                command.arg("-p").arg(port.to_string());
            }
            // What ssh gets, the login shell there takes apart again.
            let line = match image {
                Some(image) => shell_words::join(["sh", "-c", &image.script()]),
                None => shell_words::join(["exec", &agent.to_string_lossy(), AGENT]),
            };
            command.arg("--").arg(host.destination()).arg(line)
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    // The terminal's Ctrl-C is for the launcher alone.
    command.process_group(0);
    command
}

/// After how many seconds without a message ssh asks the host for one; after three more such times without, it ends. That
/// is late enough for a cut that is mended within `keepalive`: ssh's own connection tries again only after up to twice as
/// long.
fn alive_option(keepalive: Option<Duration>) -> String {
    format!("ServerAliveInterval={}", keepalive.map_or(0, |keepalive| (keepalive.as_secs_f64() / 2.0).ceil() as u64))
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
        assert!(args.contains(&"BatchMode=yes"));
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
        assert_eq!(alive_option(Some(KEEPALIVE)), "ServerAliveInterval=5");
        assert_eq!(alive_option(Some(Duration::from_millis(100))), "ServerAliveInterval=1");
        assert_eq!(alive_option(None), "ServerAliveInterval=0", "which means never");
    }
}
