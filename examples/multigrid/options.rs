//! The options of the program, read by hand.

use super::Outcome;

/// When ranks wait for the edges of their neighbours.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Version {
    /// At once, before they calculate.
    Native,
    /// The same, and all ranks meet at a barrier before each exchange.
    Synchronised,
    /// After the points that do not need them.
    Hidden,
}

/// The order in which levels are visited.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Cycle {
    V,
    /// After the F-cycle of the next coarser level comes a V-cycle of it.
    F,
}

/// When the iteration ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum End {
    /// After so many cycles.
    Cycles(usize),
    /// When the residual is this part of that in the first cycle, each after the two sweeps down.
    Tolerance(f64),
}

/// Costs of messages that the model takes; what is not given is measured.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Given {
    pub(crate) fixed_s: Option<f64>,
    pub(crate) further_s: Option<f64>,
    pub(crate) word_s: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Options {
    pub(crate) dims: usize,
    /// Points per side, those on one of its two boundaries among them.
    pub(crate) points: usize,
    pub(crate) cycle: Cycle,
    pub(crate) end: End,
    pub(crate) version: Version,
    /// The longest message.
    pub(crate) words: usize,
    pub(crate) costs: Given,
}

/// With a tolerance, it ends here.
pub(crate) const CYCLES_MAX: usize = 100;
/// More points do not fit into the memory of one rank, which checks the result.
const POINTS_MAX: usize = 1 << 28;
const KNOWN: &str =
    "--dims, --n, --cycle, --cycles, --tolerance, --message-words, --version, --fixed, --further and --per-word";

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = Options {
            dims: 2,
            points: 0,
            cycle: Cycle::V,
            end: End::Cycles(10),
            version: Version::Hidden,
            words: 1000,
            costs: Given::default(),
        };
        let mut ends = 0;
        while let Some(name) = words.next() {
            if !name.starts_with("--") || !KNOWN.split([',', ' ']).any(|known| known == name) {
                return Err(format!("{name}: there are {KNOWN}").into());
            }
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            let whole = || value.parse::<usize>().map_err(|error| format!("{name} {value}: {error}"));
            match name.as_str() {
                "--dims" => options.dims = whole()?,
                "--n" => options.points = whole()?,
                "--message-words" => options.words = whole()?,
                "--cycle" => options.cycle = cycle(&value)?,
                "--version" => options.version = version(&value)?,
                "--cycles" => (options.end, ends) = (End::Cycles(whole()?), ends + 1),
                "--tolerance" => (options.end, ends) = (End::Tolerance(number(&name, &value)?), ends + 1),
                "--fixed" => options.costs.fixed_s = Some(number(&name, &value)?),
                "--further" => options.costs.further_s = Some(number(&name, &value)?),
                _ => options.costs.word_s = Some(number(&name, &value)?),
            }
        }
        if ends > 1 {
            return Err("--cycles or --tolerance ends the iteration, and only one of them, once".into());
        }
        if options.points == 0 {
            options.points = if options.dims == 3 { 32 } else { 256 };
        }
        options.checked()
    }

    fn checked(self) -> Outcome<Self> {
        let points = self.points;
        let wrong = if !(2..=3).contains(&self.dims) {
            format!("--dims {}: there are 2 and 3", self.dims)
        } else if !points.is_power_of_two() || points < 4 {
            format!("--n {points}: it must be a power of two, and at least 4, since each level has half of the points")
        } else if points.checked_pow(self.dims as u32).is_none_or(|all| all > POINTS_MAX) {
            format!("--n {points}: too many points; {POINTS_MAX} are the most")
        } else if !(1..=1000).contains(&self.words) {
            format!("--message-words {}: from 1 to 1000", self.words)
        } else if !matches!(self.end, End::Cycles(1..=CYCLES_MAX) | End::Tolerance(_)) {
            format!("--cycles: from 1 to {CYCLES_MAX}")
        } else if matches!(self.end, End::Tolerance(part) if !(1e-9..1.0).contains(&part)) {
            "--tolerance: from 1e-9, below which rounding hides the residual, to less than 1".to_owned()
        } else {
            return Ok(self);
        };
        Err(wrong.into())
    }

    /// The ranks along each side of the grid of ranks.
    pub(crate) fn ranks_per_side(&self, ranks: usize) -> Outcome<usize> {
        let (dims, points) = (self.dims as u32, self.points);
        let per_side = (1..=ranks).find(|side| side.saturating_pow(dims) >= ranks).unwrap_or(1);
        let (shape, right) = if dims == 2 { ("square", "1, 4, 16, 64") } else { ("cube", "1, 8, 64, 512") };
        if per_side.pow(dims) != ranks || !per_side.is_power_of_two() {
            return Err(
                format!("{ranks} ranks are no {shape} with a power of two on each side: {right} ... are").into()
            );
        }
        if per_side > points {
            return Err(format!("{per_side} ranks per side, but only {points} points: every rank needs one").into());
        }
        Ok(per_side)
    }
}

fn cycle(value: &str) -> Outcome<Cycle> {
    match value {
        "v" => Ok(Cycle::V),
        "f" => Ok(Cycle::F),
        _ => Err(format!("--cycle {value}: there are v and f").into()),
    }
}

fn version(value: &str) -> Outcome<Version> {
    match value {
        "native" => Ok(Version::Native),
        "synchronised" => Ok(Version::Synchronised),
        "hidden" => Ok(Version::Hidden),
        _ => Err(format!("--version {value}: there are native, synchronised and hidden").into()),
    }
}

fn number(name: &str, value: &str) -> Outcome<f64> {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!("{name} {value}: a number of at least 0 would be right").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Outcome<Options> {
        Options::parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_given_is_read() {
        let words = "--dims 3 --n 16 --cycle f --tolerance 1e-6 --message-words 7 --version native --fixed 1e-5";
        let options = parse(words).unwrap();
        assert_eq!((options.dims, options.points, options.words), (3, 16, 7));
        assert_eq!((options.cycle, options.version), (Cycle::F, Version::Native));
        assert_eq!((options.end, options.costs.fixed_s), (End::Tolerance(1e-6), Some(1e-5)));
        assert_eq!(parse("").unwrap().points, 256);
        assert_eq!(parse("--dims 3").unwrap().points, 32);
    }

    #[test]
    fn ranks_are_a_square_or_a_cube() {
        let sides = |words: &str, most| -> Vec<usize> {
            let options = parse(words).unwrap();
            (1..=most).filter(|ranks| options.ranks_per_side(*ranks).is_ok()).collect()
        };
        assert_eq!(sides("--n 4", 300), [1, 4, 16]);
        assert_eq!(sides("--n 8", 300), [1, 4, 16, 64]);
        assert_eq!(sides("--dims 3 --n 4", 300), [1, 8, 64]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for words in [
            "--dims 4",
            "--n 12",
            "--n 2",
            "--dims 3 --n 1024",
            "--message-words 0",
            "--message-words 1001",
            "--cycles 0",
            "--cycles 3 --tolerance 0.1",
            "--tolerance 1",
            "--tolerance nan",
            "--cycle w",
            "--version fast",
            "--n",
            "-n 4",
            "and 3",
            "--fixed -1",
        ] {
            assert!(parse(words).is_err(), "{words}");
        }
    }
}
