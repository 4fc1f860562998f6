//! The set-up of every host that took part in a measurement.

use serde_json::{Value, json};

use crate::report::format::bytes;
use crate::report::html::section::{Piece, Section, list};
use crate::report::html::table::Grid;
use crate::report::results::{Form, Results, Table};

/// Shows the member `hosts`, if there is one.
pub(super) fn show(section: &mut Section, results: &Results) {
    let rows = results.rows("hosts").iter().map(row).collect();
    let table = Table::with(rows)
        .title("Set-up of every host. TCP's buffers: the least, the first, the most.")
        .column("host", "host", Form::Word)
        .column("cpu_model", "processor", Form::Word)
        .column("cores_online", "cores\non", Form::Count)
        .column("cores_allowed", "of them\nallowed", Form::Word)
        .column("ranks", "ranks", Form::Word)
        .column("governor", "governor", Form::Word)
        .column("is_virtual", "virtual", Form::Word)
        .column("product", "product", Form::Word)
        .column("kernel", "kernel", Form::Word)
        .column("clock_source", "clock", Form::Word)
        .column("congestion_control", "congestion\ncontrol", Form::Word)
        .column("tcp_rmem", "receive buffer", Form::Word)
        .column("tcp_wmem", "send buffer", Form::Word)
        .column("interfaces", "interfaces", Form::Word)
        .column("round_trip_s", "round trip", Form::Seconds)
        .column("lathide", "lathide", Form::Word);
    section.pieces.extend(Grid::of(&table, results).map(Piece::Table));
}

/// A host, with its lists as words.
fn row(host: &Value) -> Value {
    let mut row = host.clone();
    let words = |member: &str, word: &dyn Fn(&Value) -> Option<String>| {
        let words: Vec<String> = list(host, member).iter().filter_map(word).collect();
        if words.is_empty() { Value::Null } else { json!(words.join(", ")) }
    };
    let size = |value: &Value| value.as_f64().map(bytes);
    let placed = |placed: &Value| {
        let rank = placed["rank"].as_u64()?;
        Some(placed["core"].as_u64().map_or(format!("{rank}"), |core| format!("{rank} on core {core}")))
    };
    let interface = |interface: &Value| {
        let mtu = interface["mtu"].as_f64().map(|mtu| format!(" MTU {}", bytes(mtu))).unwrap_or_default();
        let qdisc = interface["qdisc"].as_str().map(|qdisc| format!(" {qdisc}")).unwrap_or_default();
        Some(format!("{}{mtu}{qdisc}", interface["name"].as_str()?))
    };
    let yes = host["is_virtual"].as_bool().map(|is| if is { "yes" } else { "no" });
    for (member, value) in [
        ("cores_allowed", words("cores_allowed", &|core| Some(core.as_u64()?.to_string()))),
        ("ranks", words("ranks", &placed)),
        ("tcp_rmem", words("tcp_rmem", &size)),
        ("tcp_wmem", words("tcp_wmem", &size)),
        ("interfaces", words("interfaces", &interface)),
        ("is_virtual", json!(yes)),
    ] {
        if let Some(members) = row.as_object_mut() {
            members.insert(member.to_owned(), value);
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_shown_and_half_a_host_is_no_panic() {
        let host = json!({"host": "a", "cpu_model": "A 1.2 GHz", "cores_online": 2, "cores_allowed": [0, 1], "ranks": [{"rank": 0, "core": 1}, {"rank": 2, "core": null}],
            "governor": "performance", "is_virtual": true, "product": "Box 3", "kernel": "Linux 6", "clock_source": "tsc", "congestion_control": "cubic",
            "tcp_rmem": [4096, 131_072, 6_291_456], "tcp_wmem": [4096, 16384, 4_194_304], "interfaces": [{"name": "eth0", "mtu": 1500, "qdisc": "fq"}], "round_trip_s": 5e-5, "lathide": "0.1.0"});
        let results = Results::new("lathide-test-1", "", &json!({"hosts": [host, 7, {"ranks": "x"}]}));
        let mut section = Section::new("f", "t");
        show(&mut section, &results);
        let Some(Piece::Table(grid)) = section.pieces.first() else { panic!("a table") };
        let html = grid.html();
        for word in [
            "A 1.2 GHz",
            "0, 1",
            "0 on core 1, 2",
            "performance",
            "yes",
            "Box 3",
            "Linux 6",
            "tsc",
            "cubic",
            "4 KiB, 128 KiB, 6 MiB",
            "4 KiB, 16 KiB, 4 MiB",
            "eth0 MTU 1500 B fq",
            "50 us",
            "0.1.0",
        ] {
            assert!(html.contains(word), "{word}: {html}");
        }
    }
}
