//! What is run: the points of the sweeps, and the program's arguments at each. Pure.

use std::ffi::OsString;

use lathide::launcher::quantity::WHOLE;
use serde_json::{Map, Value, json};

use super::args::Args;
use super::sweep::{RANKS, Sweep};
use super::version::Version;
use crate::commands::common::inventory::counts;

const DEFAULT_RANKS: u32 = 2;

/// What is run.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Plan {
    pub(super) points: Vec<Point>,
    /// Each once.
    pub(super) versions: Vec<Version>,
    /// The program's words.
    words: Vec<OsString>,
}

/// One point of the sweeps.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) ranks: u32,
    /// By name, in the order of the options.
    pub(super) values: Vec<(String, String)>,
}

impl Plan {
    /// What the options say.
    ///
    /// # Errors
    /// In words, if they do not go together.
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let sweeps = &args.sweeps;
        if let Some((at, twice)) =
            sweeps.iter().enumerate().find(|(at, sweep)| sweeps[..*at].iter().any(|other| other.name == sweep.name))
        {
            return Err(format!("--sweep {} is given twice (the second is number {})", twice.name, at + 1));
        }
        if let Some(first) = sweeps.first()
            && let Some(other) = sweeps.iter().find(|sweep| sweep.values.len() != first.values.len())
        {
            return Err(format!(
                "sweeps go together item by item: {} has {} values and {} has {}",
                first.name,
                first.values.len(),
                other.name,
                other.values.len()
            ));
        }
        if args.ranks.is_some() && sweeps.iter().any(|sweep| sweep.name == RANKS) {
            return Err("the number of ranks is given twice: by -n, and by --sweep ranks".to_owned());
        }
        if let Some(class) = args.classes.iter().flatten().find(|class| !counts(class)) {
            return Err(format!(
                "--classes {class}: a region of that name is no part of a unit of work, and never counts"
            ));
        }
        let mut versions = args.versions.clone();
        versions.sort_unstable();
        versions.dedup();
        let plan = Plan { points: points(sweeps, args.ranks)?, versions, words: args.program.clone() };
        plan.names_are_used(sweeps)?;
        Ok(plan)
    }

    fn names_are_used(&self, sweeps: &[Sweep]) -> Result<(), String> {
        let arguments = &self.words[1..];
        let uses = |name: &str| {
            let place = format!("{{{name}}}");
            arguments.iter().any(|word| word.to_string_lossy().contains(&place))
        };
        if let Some(unused) = sweeps.iter().find(|sweep| sweep.name != RANKS && !uses(&sweep.name)) {
            let name = &unused.name;
            return Err(format!("the program is not told of {name}: write {{{name}}} where it goes in its arguments"));
        }
        if self.versions.len() > 1 && !uses("version") {
            return Err(
                "the program is not told its version: write {version} where it goes in its arguments, such as \
                        --version {version}, or name one version alone (--versions native)"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// The program and its arguments at a point, with their values.
    pub(super) fn command(&self, point: &Point, version: Version) -> Vec<OsString> {
        let filled = |word: &OsString| match word.to_str() {
            Some(text) => {
                let values = point.values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let all = values.chain([("version", version.name())]);
                all.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value)).into()
            }
            None => word.clone(),
        };
        let arguments = self.words[1..].iter().map(filled);
        std::iter::once(self.words[0].clone()).chain(arguments).collect()
    }

    /// The most ranks at any point.
    pub(super) fn most_ranks(&self) -> u32 {
        self.points.iter().map(|point| point.ranks).max().unwrap_or(DEFAULT_RANKS)
    }
}

fn points(sweeps: &[Sweep], ranks: Option<u32>) -> Result<Vec<Point>, String> {
    let count = sweeps.first().map_or(1, |sweep| sweep.values.len());
    let point = |at: usize| {
        let values: Vec<(String, String)> =
            sweeps.iter().map(|sweep| (sweep.name.clone(), sweep.values[at].clone())).collect();
        let swept = values.iter().find(|(name, _)| name == RANKS).map(|(_, value)| WHOLE.one::<u32>(value));
        let ranks = swept.transpose()?.or(ranks).unwrap_or(DEFAULT_RANKS);
        Ok(Point { ranks, values })
    };
    (0..count).map(point).collect()
}

impl Point {
    /// Where it is, in words.
    pub(super) fn in_words(&self) -> String {
        let values: Vec<String> = self.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        values.join(", ")
    }

    /// The members of its rows: `ranks`, and one for each other sweep.
    pub(super) fn members(&self) -> Map<String, Value> {
        let mut members = Map::from_iter([(RANKS.to_owned(), json!(self.ranks))]);
        for (name, value) in self.values.iter().filter(|(name, _)| name != RANKS) {
            members.insert(member(name), value.parse::<f64>().map_or_else(|_| json!(value), |number| json!(number)));
        }
        members
    }
}

/// The member of rows that has the value of a sweep. Its name may be that of another member.
pub(super) fn member(name: &str) -> String {
    if name == RANKS { name.to_owned() } else { format!("at_{name}") }
}
