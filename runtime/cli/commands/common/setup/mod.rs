//! The set-up of a host: all that a result depends on besides the program. Each rank looks at its own host.

mod gather;
mod interfaces;

use std::fs;

use rustix::system::uname;
use serde::{Deserialize, Serialize};

pub(crate) use gather::gather;
use interfaces::Interface;

use super::load::cores;

/// The set-up of a host, as in the JSON object. What the system does not say is null, or "unknown".
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct HostSetup {
    /// Its name.
    pub(crate) host: String,
    pub(crate) cpu_model: String,
    /// The processors that are on, and those of them that ranks may use.
    pub(crate) cores_online: usize,
    pub(crate) cores_allowed: Vec<usize>,
    /// The ranks there, and the core that each one's program keeps to.
    pub(crate) ranks: Vec<Placed>,
    /// What sets the processors' frequency.
    pub(crate) governor: Option<String>,
    /// Whether it is a virtual machine, and what it calls itself.
    pub(crate) is_virtual: Option<bool>,
    pub(crate) product: Option<String>,
    pub(crate) kernel: String,
    pub(crate) clock_source: Option<String>,
    pub(crate) congestion_control: String,
    /// TCP's receive and send buffers in bytes: the least, the first, the most.
    pub(crate) tcp_rmem: Vec<u64>,
    pub(crate) tcp_wmem: Vec<u64>,
    /// Those that are up, with their MTU in bytes and queueing discipline.
    pub(crate) interfaces: Vec<Interface>,
    /// The quickest of some round trips of 8 bytes between rank 0 and the host's first rank, of rank 0's host its second.
    pub(crate) round_trip_s: Option<f64>,
    /// The version of the program there.
    pub(crate) lathide: String,
}

/// Where a rank is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Placed {
    pub(crate) rank: u32,
    /// `None` if it may run on any.
    pub(crate) core: Option<usize>,
}

impl HostSetup {
    /// This host.
    pub(crate) fn here() -> Self {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = uname();
        let cpu0 = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
        HostSetup {
            host: name.nodename().to_string_lossy().into_owned(),
            cpu_model: model(&cpus).unwrap_or("unknown").to_owned(),
            cores_online: cpus.lines().filter(|line| line.starts_with("processor")).count(),
            cores_allowed: cores(),
            ranks: Vec::new(),
            governor: said(cpu0),
            is_virtual: field(&cpus, "flags").map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            product: said("/sys/class/dmi/id/product_name"),
            kernel: format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy()),
            clock_source: said("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            congestion_control: said("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_else(unknown),
            tcp_rmem: sizes(said("/proc/sys/net/ipv4/tcp_rmem")),
            tcp_wmem: sizes(said("/proc/sys/net/ipv4/tcp_wmem")),
            interfaces: interfaces::up(),
            round_trip_s: None,
            lathide: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// What a file of the system says, if anything.
fn said(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The first field of that name of `/proc/cpuinfo`.
fn field<'a>(cpus: &'a str, name: &str) -> Option<&'a str> {
    cpus.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

/// The model's name, as the architectures have it.
fn model(cpus: &str) -> Option<&str> {
    ["model name", "Processor", "cpu", "CPU part", "uarch"].into_iter().find_map(|name| field(cpus, name))
}

fn sizes(text: Option<String>) -> Vec<u64> {
    text.unwrap_or_default().split_whitespace().map_while(|size| size.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_found_in_what_the_system_says() {
        let cpus = "processor\t: 0\nmodel name\t: A 1.2 GHz\nflags\t\t: fpu hypervisor\nprocessor : 1\n";
        assert_eq!((model(cpus), field(cpus, "flags")), (Some("A 1.2 GHz"), Some("fpu hypervisor")));
        assert_eq!(model("Hardware : none\n"), None);
        assert_eq!(sizes(Some("4096\t131072\t6291456".to_owned())), [4096, 131_072, 6_291_456]);
    }

    #[test]
    fn this_host_says_what_it_is_and_is_read_again() {
        let here = HostSetup::here();
        assert!(!here.host.is_empty() && here.kernel.len() > 3 && !here.cores_allowed.is_empty(), "{here:?}");
        let json = serde_json::to_value(&here).unwrap();
        assert_eq!(serde_json::from_value::<HostSetup>(json).unwrap(), here);
    }
}
