//! Talking to a running lab: a socket in its directory, one JSON value each way.
//!
//! Who may reach the directory may change the lab; the directory is its owner's alone.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::address;
use super::cable::{Cable, Traffic};
use super::host::Host;
use super::names::Names;
use super::switch::Switch;
use super::wire::Frame;
use crate::launch::alarm::clock_ns;
use crate::launch::failed::{Failed, system};

/// The name of the socket in the lab's directory.
pub(super) const SOCKET: &str = "control";
/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(10);
/// No request is longer.
const REQUEST_BYTES_MAX: u64 = 4096;

/// What is asked of a running lab.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// All packets from and to a host get lost.
    Cut(String),
    /// The end of that.
    Mend(String),
    /// A host has another address.
    Move(String, IpAddr),
    /// A host's cable, or every cable, becomes different.
    Change(Option<String>, Cable),
    /// Nothing, only the status.
    Status,
    /// Nothing, if there is such a host.
    Find(String),
}

/// A lab as it is, as `lathide lab status --json` has it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Status {
    /// What this is.
    pub schema: String,
    /// Whether all hosts share one medium.
    pub shared: bool,
    /// The hosts, by number.
    pub hosts: Vec<HostStatus>,
    /// That of the lab's command, once it has ended.
    pub exit_status: Option<u8>,
}

/// A host's cable and what it has carried.
#[derive(Serialize, Deserialize)]
pub(crate) struct HostStatus {
    /// Its name.
    pub host: String,
    /// Its address.
    pub address: std::net::Ipv4Addr,
    /// How long a packet travels to another host with such a cable.
    pub delay_s: f64,
    /// What passes each way; `None`: unlimited.
    pub rate_bits_per_s: Option<NonZeroU64>,
    /// What the host's own network card sends; `None`: unlimited.
    #[serde(default)]
    pub host_rate_bits_per_s: Option<NonZeroU64>,
    /// The part of the packets that gets lost on the way to another host with such a cable.
    pub loss: f64,
    /// The bytes that may wait before each direction.
    pub queue_bytes: u64,
    /// Whether its cable is cut.
    pub is_cut: bool,
    /// From the host.
    pub sent: Traffic,
    /// To the host.
    pub received: Traffic,
}

type Answer = Result<Status, String>;

/// What answers requests.
pub(super) struct Control {
    pub(super) hosts: Arc<Vec<Host>>,
    pub(super) switch: Arc<Mutex<Switch<Frame>>>,
    pub(super) names: Names,
}

impl Control {
    /// Answers as long as the listener can be used. Who is slow to ask keeps nobody else waiting.
    pub(super) fn serve(self: Arc<Self>, listener: &UnixListener) {
        while let Ok((mut client, _)) = listener.accept() {
            let control = self.clone();
            let answer = move || {
                if let Err(error) = control.converse(&mut client) {
                    tracing::debug!("a request to the lab came to nothing: {error}");
                }
            };
            if let Err(error) = thread::Builder::new().name("lab-answer".into()).spawn(answer) {
                tracing::warn!("a request to the lab is not answered: {error}");
            }
        }
    }

    fn converse(&self, client: &mut UnixStream) -> io::Result<()> {
        client.set_read_timeout(Some(PATIENCE))?;
        client.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new((&*client).take(REQUEST_BYTES_MAX)).read_line(&mut line)?;
        let request = serde_json::from_str(&line).map_err(|error| format!("the lab does not understand: {error}"));
        let answer: Answer = request.and_then(|request| self.obey(&request)).map(|()| self.status());
        client.write_all(&serde_json::to_vec(&answer)?)
    }

    /// Does what is asked.
    fn obey(&self, request: &Request) -> Result<(), String> {
        let hosts = self.hosts.len();
        let find = |name: &str| {
            let last = address::name(hosts - 1);
            address::named(name, hosts).ok_or_else(|| format!("there is no host {name:?}: they are host0 to {last}"))
        };
        match request {
            Request::Cut(name) => self.switch.lock().host(clock_ns(), find(name)?).cut(),
            Request::Mend(name) => self.switch.lock().host(clock_ns(), find(name)?).is_cut = false,
            Request::Move(name, address) => self.move_host(find(name)?, *address)?,
            Request::Change(Some(name), change) => self.change(find(name)?, change)?,
            Request::Change(None, change) => (0..hosts).try_for_each(|host| self.change(host, change))?,
            Request::Find(name) => drop(find(name)?),
            Request::Status => {}
        }
        Ok(())
    }

    fn move_host(&self, host: usize, address: IpAddr) -> Result<(), String> {
        let mut switch = self.switch.lock();
        let before = switch.addresses.change(host, address)?;
        if let Err(error) = self.hosts[host].change_address(before, address) {
            // It was its own before, so this cannot fail.
            let _ = switch.addresses.change(host, before);
            return Err(format!("{} cannot be given the address {address}: {error}", address::name(host)));
        }
        self.names.show(&switch.addresses).map_err(|error| format!("the hosts' names cannot be changed: {error}"))
    }

    fn change(&self, host: usize, change: &Cable) -> Result<(), String> {
        let cable = {
            let mut switch = self.switch.lock();
            let cable = &mut switch.host(clock_ns(), host).cable;
            *cable = cable.changed(change);
            *cable
        };
        let name = address::name(host);
        self.hosts[host]
            .limit_trains(&cable)
            .map_err(|error| format!("{name} cannot be told how long its trains of packets may be: {error}"))?;
        self.hosts[host]
            .limit_rate(&cable)
            .map_err(|error| format!("{name}'s network card cannot be given its rate: {error}"))
    }

    pub(super) fn status(&self) -> Status {
        let switch = self.switch.lock();
        let hosts = switch.hosts.iter().enumerate().map(|(number, host)| HostStatus {
            host: address::name(number),
            address: switch.addresses.of(number).0,
            delay_s: host.cable.delay().as_secs_f64(),
            rate_bits_per_s: host.cable.rate,
            host_rate_bits_per_s: host.cable.host_rate,
            loss: host.cable.loss(),
            queue_bytes: host.cable.queue_bytes(),
            is_cut: host.is_cut,
            sent: host.up.traffic,
            received: host.down.traffic,
        });
        let hosts = hosts.collect();
        Status { schema: "lathide-lab-1".into(), shared: switch.is_shared(), hosts, exit_status: None }
    }
}

/// Asks the lab in this directory.
///
/// # Errors
/// [`Failed`] if there is no lab any more, or if it refuses.
pub(crate) fn ask(directory: &Path, request: &Request) -> Result<Status, Failed> {
    let what = format!("the lab in {} does not answer; has it ended?", directory.display());
    exchange(&directory.join(SOCKET), request).map_err(system(what))?.map_err(Failed::usage)
}

fn exchange(socket: &Path, request: &Request) -> io::Result<Answer> {
    let mut lab = UnixStream::connect(socket)?;
    lab.set_read_timeout(Some(PATIENCE))?;
    lab.set_write_timeout(Some(PATIENCE))?;
    lab.write_all(format!("{}\n", serde_json::to_string(request)?).as_bytes())?;
    Ok(serde_json::from_reader(lab)?)
}
