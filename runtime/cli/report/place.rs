//! Where and how something was measured, in words. Pure.

use serde_json::Value;

use super::format::{bytes, seconds};
use super::results::Results;

impl Results {
    /// Where and how it was measured, if it was: a sentence each.
    pub(super) fn place(&self) -> Vec<String> {
        let mut place = Vec::new();
        if let Some(how) = self.data.get("link").and_then(|link| link["how"].as_str()) {
            place.push(format!("Link: {how}."));
        }
        if let Some(machine @ Value::Object(_)) = self.data.get("machine") {
            let word = |member: &str| machine[member].as_str().unwrap_or("unknown");
            let (kernel, control) = (word("kernel"), word("congestion_control"));
            place.push(format!("Machine: {} cores, {kernel}, TCP {control}.", machine["cores"]));
        }
        let hosts = self.data.get("hosts").and_then(Value::as_array);
        // Hosts without a set-up are those of another command.
        let hosts = hosts.into_iter().flatten().filter(|host| host["cpu_model"].is_string());
        place.extend(hosts.map(host));
        if let Some(repeats) = self.data.get("repeats").and_then(Value::as_u64) {
            place.push(format!("Medians of {repeats} repetitions."));
        }
        place
    }
}

/// A host's set-up in a sentence; JSON has the rest.
fn host(host: &Value) -> String {
    let text = |member: &str| host[member].as_str();
    let mut parts: Vec<String> = text("cpu_model").map(str::to_owned).into_iter().collect();
    let ranks = host["ranks"].as_array().into_iter().flatten().filter_map(|placed| {
        let rank = placed["rank"].as_u64()?;
        Some(placed["core"].as_u64().map_or_else(|| rank.to_string(), |core| format!("{rank} on core {core}")))
    });
    let ranks: Vec<String> = ranks.collect();
    if (1..=4).contains(&ranks.len()) {
        parts.push(format!("rank {}", ranks.join(", ")));
    } else {
        parts.push(format!("{} ranks", ranks.len()));
    }
    parts.extend(host["is_virtual"].as_bool().map(|is| if is { "virtual" } else { "not virtual" }.to_owned()));
    parts.extend(text("clock_source").map(|clock| format!("clock {clock}")));
    for interface in host["interfaces"].as_array().into_iter().flatten().take(3) {
        let name = interface["name"].as_str().unwrap_or_default();
        let mtu = interface["mtu"].as_f64().map_or(String::new(), |mtu| format!(" MTU {}", bytes(mtu)));
        let qdisc = interface["qdisc"].as_str().map_or(String::new(), |qdisc| format!(" {qdisc}"));
        parts.push(format!("{name}{mtu}{qdisc}"));
    }
    parts.extend(host["round_trip_s"].as_f64().map(|time_s| format!("round trip {}", seconds(time_s))));
    format!("Host {}: {}.", text("host").unwrap_or("unknown"), parts.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_host_is_one_sentence_and_half_of_one_no_panic() {
        let whole = json!({"host": "a", "cpu_model": "A 1.2 GHz", "ranks": [{"rank": 0, "core": 3}, {"rank": 2, "core": null}],
            "is_virtual": true, "clock_source": "tsc", "interfaces": [{"name": "eth0", "mtu": 1500, "qdisc": "fq"}],
            "round_trip_s": 5e-5});
        assert_eq!(
            host(&whole),
            "Host a: A 1.2 GHz; rank 0 on core 3, 2; virtual; clock tsc; eth0 MTU 1500 B fq; round trip 50 us."
        );
        assert_eq!(host(&json!(7)), "Host unknown: 0 ranks.");
        let place = |hosts| Results::new("lathide-test-1", "", &json!({ "hosts": hosts })).place();
        assert_eq!(place(json!([whole])).len(), 1);
        assert!(place(json!([{"host": "a"}, 7])).is_empty(), "hosts of lathide doctor have no ranks");
    }
}
