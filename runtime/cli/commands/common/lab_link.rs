//! The network of the lab around this process, as a link that results name.

use std::path::Path;
use std::time::Duration;

use crate::launch::lab::{DIRECTORY_VARIABLE, HostStatus, Request, Status, ask};
use crate::launch::link::LinkSpec;

/// The lab's network in words, if all of these hosts (`host0,host1:2`) are those of the lab around this process.
pub(super) fn in_words(hosts: &str) -> Option<String> {
    let directory = std::env::var_os(DIRECTORY_VARIABLE)?;
    words_of(hosts, &ask(Path::new(&directory), &Request::Status).ok()?)
}

fn words_of(hosts: &str, status: &Status) -> Option<String> {
    let mut cables: Vec<String> = Vec::new();
    for name in hosts.split(',').map(|host| host.split(':').next().unwrap_or(host).trim()) {
        let host = status.hosts.iter().find(|host| host.host == name)?;
        let cable = cable(host);
        if !cables.contains(&cable) {
            cables.push(cable);
        }
    }
    let medium = if status.shared { "one shared medium" } else { "a cable each" };
    Some(format!(
        "{}, emulated by lathide lab on this machine: packets between the hosts {hosts}, {medium}",
        cables.join("; ")
    ))
}

/// A host's cable, as the lab's options say it.
pub(crate) fn cable(host: &HostStatus) -> String {
    let delay = Duration::from_secs_f64(host.delay_s);
    let link = LinkSpec { delay, rate_bits_per_s: host.rate_bits_per_s, ..LinkSpec::default() };
    let mut cable = if link.is_loopback() { "unlimited".to_owned() } else { link.to_string() };
    if let Some(rate) = host.host_rate_bits_per_s {
        let card = LinkSpec { rate_bits_per_s: Some(rate), ..LinkSpec::default() };
        cable += &format!(",host-{card}");
    }
    if host.loss > 0.0 {
        cable += &format!(",loss={}%", 100.0 * host.loss);
    }
    cable
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_labs_parameters_are_told_and_other_hosts_are_not_of_it() {
        let traffic = json!({"passed": {"packets": 0, "bytes": 0}, "dropped": {"packets": 0, "bytes": 0},
            "lost": {"packets": 0, "bytes": 0}, "cut": {"packets": 0, "bytes": 0}, "stray": {"packets": 0, "bytes": 0}});
        let host = |name: &str, loss: f64| {
            json!({"host": name, "address": "10.0.0.1", "delay_s": 1e-3, "rate_bits_per_s": 10_000_000, "loss": loss,
                "queue_bytes": 9, "is_cut": false, "sent": traffic, "received": traffic})
        };
        let hosts = [host("host0", 0.0), host("host1", 0.01)];
        let status = json!({"schema": "lathide-lab-1", "shared": true, "hosts": hosts, "exit_status": null});
        let status: Status = serde_json::from_value(status).unwrap();
        let words = words_of("host0:2,host1", &status).unwrap();
        assert!(
            words.starts_with("delay=1ms,rate=10mbit; delay=1ms,rate=10mbit,loss=1%, emulated by lathide lab"),
            "{words}"
        );
        assert!(words.ends_with("one shared medium"), "{words}");
        assert_eq!(words_of("host0,elsewhere", &status), None);
    }
}
