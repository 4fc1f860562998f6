//! The timeline of a job.

use serde_json::Value;

use crate::report::format::seconds;
use crate::report::html::figure::Figure;
use crate::report::html::figure::timeline::{RANKS_MAX, Timeline};
use crate::report::html::section::{Piece, Section, list};
use crate::report::html::table::Grid;
use crate::report::results::{Form, Results, Table};

/// The section of a trace file.
pub(super) fn section(file: &str, trace: &Value) -> Section {
    let mut section = Section::new(file, "Timeline");
    section.conclusion = conclusion(trace).unwrap_or_default();
    section.meaning.clone_from(&section.conclusion);
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

/// How much of the communication was hidden, over all ranks.
fn conclusion(trace: &Value) -> Option<String> {
    let ranks = list(&trace["otherData"], "ranks");
    let sum = |member: &str| ranks.iter().filter_map(|rank| rank[member].as_f64()).sum::<f64>();
    let (under_way, waited_for) = (sum("under_way_s"), sum("waited_for_s"));
    let hidden = Some((under_way - waited_for) / under_way * 100.0).filter(|hidden| hidden.is_finite())?;
    Some(format!(
        "Of the time in which messages were under way, {hidden:.0} % was outside of waits (all {} ranks).",
        ranks.len()
    ))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_conclusion_is_of_all_ranks() {
        let of = |ranks: Value| conclusion(&json!({ "otherData": { "ranks": ranks } }));
        let two = json!([{ "under_way_s": 6.0, "waited_for_s": 1.0 }, { "under_way_s": 4.0, "waited_for_s": 3.0 }]);
        assert!(of(two).is_some_and(|words| words.contains("60 %") && words.contains("2 ranks")));
        assert_eq!(of(json!([])), None, "nothing was under way");
    }
}
