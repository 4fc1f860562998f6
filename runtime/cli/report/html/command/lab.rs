//! What the cables of a lab carried.

use serde_json::Value;

use crate::report::html::section::{Piece, Section};
use crate::report::html::table::Grid;
use crate::report::results::{Form, Results, Table};

pub(super) fn section(file: &str, json: &Value) -> Section {
    let mut section = Section::new(file, "Lab");
    if let Some(status) = json["exit_status"].as_i64() {
        section.conclusion = format!("The command in the lab ended with exit status {status}.");
        section.meaning.clone_from(&section.conclusion);
    }
    let mut data = json.clone();
    for host in data["hosts"].as_array_mut().into_iter().flatten() {
        for way in ["sent", "received"] {
            for what in ["passed", "dropped", "lost"] {
                let count = host[way][what]["packets"].clone();
                if let Some(host) = host.as_object_mut() {
                    host.insert(format!("{way}_{what}"), count);
                }
            }
        }
    }
    let results = Results::new("lathide-lab-1", "Lab", &data);
    let mut table = Table::of("hosts")
        .title("Each host's cable, and the packets that it carried. Dropped: by a full queue; lost: as asked for.");
    for (key, title, form) in [
        ("host", "host", Form::Word),
        ("address", "address", Form::Word),
        ("delay_s", "delay", Form::Seconds),
        ("loss", "loss", Form::Percent(2)),
    ] {
        table = table.column(key, title, form);
    }
    for way in ["sent", "received"] {
        for what in ["passed", "dropped", "lost"] {
            table = table.column(&format!("{way}_{what}"), &format!("{way}\n{what}"), Form::Count);
        }
    }
    section.pieces.extend(Grid::of(&table, &results).map(Piece::Table));
    section
}
