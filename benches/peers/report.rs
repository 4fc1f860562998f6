//! What was measured, as rows for people and as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::contender::Kind;
use super::section::{Cell, Section, Unit};

/// Each contender's values of a section: per round those of every cell.
pub(crate) type Rounds = BTreeMap<Kind, Vec<Vec<(String, Vec<f64>)>>>;

/// One row: the same thing of every contender, in seconds.
struct Row<'a> {
    name: &'a str,
    cell: &'a Cell,
    unit: Unit,
    /// Sorted.
    values: Vec<(Kind, Vec<f64>)>,
}

/// All rows so far.
#[derive(Default)]
pub(crate) struct Report {
    json: Vec<Value>,
    /// The ratio to the best peer of each row of collectives.
    collectives: Vec<(f64, String)>,
}

impl Report {
    pub(crate) fn add(&mut self, section: &Section, rounds: &Rounds) {
        println!("\n{}, {} [{}]", section.title, section.placement.name(), section.key);
        for cell in &section.cells {
            for (name, at, unit) in &cell.shown {
                let row = Row { name, cell, unit: *unit, values: values(rounds, &cell.name(), *at) };
                row.print();
                if let Some((ratio, _)) = row.to_best(Kind::is_peer).filter(|_| section.is_collective) {
                    self.collectives.push((
                        ratio,
                        format!(
                            "{name}, {} ranks over {}, {}",
                            section.ranks,
                            section.link.name(),
                            section.placement.name()
                        ),
                    ));
                }
                self.json.push(row.json(section));
            }
        }
    }

    /// How lathide's collectives stand beside the best peer's.
    pub(crate) fn summary(&self) -> Option<String> {
        let (worst, name) = self.collectives.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
        let good = self.collectives.iter().filter(|(ratio, _)| *ratio <= 1.1).count();
        Some(format!("{good} of {} collective cells <= 1.1, worst {worst:.2} ({name})", self.collectives.len()))
    }

    pub(crate) fn rows(self) -> Vec<Value> {
        self.json
    }
}

/// One value of one cell, of every contender that has it.
fn values(rounds: &Rounds, cell: &str, at: usize) -> Vec<(Kind, Vec<f64>)> {
    let mut all = Vec::new();
    for (kind, turns) in rounds {
        let of_turn = |turn: &Vec<(String, Vec<f64>)>| {
            turn.iter().find(|(name, _)| name == cell).and_then(|(_, values)| values.get(at).copied())
        };
        let mut values: Vec<f64> = turns.iter().filter_map(of_turn).collect();
        values.sort_by(f64::total_cmp);
        if !values.is_empty() {
            all.push((*kind, values));
        }
    }
    all
}

impl Row<'_> {
    fn median(&self, kind: Kind) -> Option<f64> {
        self.values.iter().find(|(known, _)| *known == kind).map(|(_, values)| median(values))
    }

    /// Time of lathide over that of the best of some others, and who that is.
    fn to_best(&self, is_one: fn(Kind) -> bool) -> Option<(f64, Kind)> {
        if self.unit == Unit::Hidden {
            return None;
        }
        let others = self.values.iter().filter(|(kind, _)| is_one(*kind));
        let (best, kind) =
            others.map(|(kind, values)| (median(values), *kind)).min_by(|one, other| one.0.total_cmp(&other.0))?;
        Some((self.median(Kind::Lathide)? / best, kind))
    }

    /// Least, median and greatest in its unit.
    fn shown(&self, values: &[f64]) -> [f64; 3] {
        let mut shown =
            [values[0], median(values), values[values.len() - 1]].map(|value| self.cell.show(value, self.unit));
        shown.sort_by(f64::total_cmp);
        shown
    }

    fn print(&self) {
        let mut line = format!("{:<24} {:>10}", self.name, self.unit.name());
        for (kind, values) in &self.values {
            let [least, middle, greatest] = self.shown(values).map(number);
            line += &format!("  {} {middle} [{least}..{greatest}]", kind.name());
        }
        if let Some((ratio, kind)) = self.to_best(Kind::is_peer) {
            line += &format!("  => {ratio:.2} of {}", kind.name());
        }
        if let Some((ratio, _)) = self.to_best(|kind| kind == Kind::Raw) {
            line += &format!(", {ratio:.2} of raw");
        }
        println!("{line}");
    }

    fn json(&self, section: &Section) -> Value {
        let mut contenders = serde_json::Map::new();
        for (kind, values) in &self.values {
            let [least, middle, greatest] = self.shown(values);
            contenders.insert(
                kind.name().into(),
                json!({"median": middle, "min": least, "max": greatest, "rounds": values.len()}),
            );
        }
        let best = self.to_best(Kind::is_peer);
        json!({
            "section": section.key, "ranks": section.ranks, "placement": section.placement.name(), "link": section.link.name(),
            "name": self.name, "unit": self.unit.name(), "contenders": contenders,
            "best_peer": best.map(|(_, kind)| kind.name()), "time_to_best_peer": best.map(|(ratio, _)| ratio),
            "time_to_raw": self.to_best(|kind| kind == Kind::Raw).map(|(ratio, _)| ratio),
        })
    }
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Three digits, as far as they say something.
fn number(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
