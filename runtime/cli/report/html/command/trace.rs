//! The timeline of a job.

use serde_json::Value;

use crate::report::format::seconds;
use crate::report::html::figure::Figure;
use crate::report::html::figure::timeline::{RANKS_MAX, Timeline};
use crate::report::html::section::{Piece, Section};
use crate::report::html::table::Grid;
use crate::report::results::{Form, Results, Table};

/// The section of a trace file.
pub(super) fn section(file: &str, trace: &Value) -> Section {
    let mut section = Section::new(file, "Timeline");
    if let Some(all) = Timeline::of(trace) {
        if all.size() > RANKS_MAX {
            section.pieces.push(Piece::Text(format!("The first {RANKS_MAX} of {} ranks.", all.size())));
        }
        let middle = all.middle();
        section.figure(Some(Figure::new("All of it", all)));
        let title = |middle: &Timeline| format!("{} about the middle", seconds(middle.length_s()));
        section.figure(middle.map(|middle| Figure::new(title(&middle), middle)));
        let more = "Open the file itself in ui.perfetto.dev to zoom and to see fragments, tags and arrows.";
        section.pieces.push(Piece::Text(more.to_owned()));
    }
    section.pieces.extend(observed(trace).map(Piece::Table));
    section
}

/// What the trace says of each rank.
fn observed(trace: &Value) -> Option<Grid> {
    let ranks = Table::of("ranks")
        .title("Messages of each rank, and its clock.")
        .column("rank", "rank", Form::Count)
        .column("host", "host", Form::Word)
        .column("under_way_s", "messages under way", Form::Seconds)
        .column("waited_for_s", "of it in a wait", Form::Seconds)
        .column("hidden", "hidden", Form::Percent(0))
        .column("clock", "clock", Form::Word)
        .column("clock_error_us", "wrong by at most, us", Form::Plain);
    Grid::of(&ranks, &Results::new("lathide-trace-1", "", &trace["otherData"]))
}
