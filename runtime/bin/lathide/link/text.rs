//! The result for people: tables, curves, a sentence.

use lathide::report::machine::Machine;
use lathide::report::table::Table;
use lathide::report::wrap;

use super::outcome::Outcome;

impl Outcome {
    /// Header, tables, curves and conclusion.
    pub(super) fn text(&self, _colour: bool) -> String {
        [self.header(), self.latency_table()].join("\n\n")
    }

    fn header(&self) -> String {
        let Machine { cores, kernel, congestion_control } = &self.machine;
        let raw = self.raw.congestion_control;
        [
            format!("Link: {}.", self.link.how),
            format!(
                "Machine: {cores} cores, {kernel}, TCP {congestion_control} by default; within this host lathide and raw \
                 TCP both use {raw}, with TCP_NODELAY. Medians of {}.",
                self.repeats
            ),
        ]
        .map(|paragraph| wrap(&paragraph))
        .join("\n")
    }

    fn latency_table(&self) -> String {
        let mut table = Table::new(["bytes", "raw\nus", "polled\nus", "lathide\nus", "penalty", "penalty\npolled"]);
        for row in &self.latency {
            let us = [row.raw_s, row.raw_polled_s, row.lathide_s].map(|time| format!("{:.1}", 1e6 * time.median));
            let mut cells = vec![row.bytes.to_string()];
            cells.extend(us);
            cells.extend([row.penalty, row.penalty_polled].map(|ratio| format!("{:.2}", ratio.median)));
            table.row(cells);
        }
        table.to_string()
    }
}
