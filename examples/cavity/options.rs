//! The options, and what is refused.

use super::Outcome;
use super::time::Setting;

const NAMES: &str =
    "--px, --pt, --n, --reynolds, --dt, --planes, --cycles, --tolerance, --lid, --lag, --version and --check";

/// How the messages are posted and waited for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Version {
    /// As an ordinary program does: each exchange is posted and waited for at once.
    Native,
    /// The same with a barrier of all ranks before iterates are sent from plane to plane.
    Synchronised,
    /// Posted before work that does not need them, waited for after it.
    Hidden,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Lid {
    Steady,
    /// From rest, once to and fro in [`PERIOD`].
    Oscillating,
}

/// Of the oscillating lid, in units of the cavity's side over the lid's greatest speed.
pub(crate) const PERIOD: f64 = 4.0;

/// More cycles of lag than any network needs.
const LAGS: usize = 20;

impl Lid {
    pub(crate) fn speed(self, time: f64) -> f64 {
        match self {
            Lid::Steady => 1.0,
            Lid::Oscillating => (2.0 * std::f64::consts::PI * time / PERIOD).sin(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Check {
    None,
    /// The steady flow at Reynolds number 100 against published values.
    Ghia,
    /// The last planes against a sequential calculation.
    Sequential,
}

/// When a group of planes is done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Until {
    /// After so many V-cycles.
    Cycles(usize),
    /// When the residual of every plane is at most this.
    Tolerance(f64),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Options {
    pub(crate) px: usize,
    pub(crate) pt: usize,
    pub(crate) setting: Setting,
    pub(crate) version: Version,
    pub(crate) check: Check,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let setting = Setting {
            n: 64,
            reynolds: 100.0,
            dt: 0.1,
            planes: 0,
            lid: Lid::Oscillating,
            lag: 0,
            until: Until::Tolerance(1e-6),
        };
        let mut options = Options { px: 1, pt: 1, setting, version: Version::Hidden, check: Check::None };
        let (mut planes, mut cycles, mut tolerance) = (None, None, None);
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            let setting = &mut options.setting;
            match name.as_str() {
                "--px" => options.px = count(&name, &value)?,
                "--pt" => options.pt = count(&name, &value)?,
                "--n" => setting.n = count(&name, &value)?,
                "--reynolds" => setting.reynolds = positive(&name, &value)?,
                "--dt" if value == "inf" => setting.dt = f64::INFINITY,
                "--dt" => setting.dt = positive(&name, &value)?,
                "--planes" => planes = Some(count(&name, &value)?),
                "--cycles" => cycles = Some(count(&name, &value)?),
                "--tolerance" => tolerance = Some(positive(&name, &value)?),
                "--lag" => setting.lag = value.parse().map_err(|error| format!("{name} {value}: {error}"))?,
                "--lid" => {
                    setting.lid = one_of(&name, &value, &[("steady", Lid::Steady), ("oscillating", Lid::Oscillating)])?;
                }
                "--version" => options.version = one_of(&name, &value, &VERSIONS)?,
                "--check" => options.check = one_of(&name, &value, &CHECKS)?,
                _ => return Err(format!("{name}: there are {NAMES}").into()),
            }
        }
        options.setting.planes = planes.unwrap_or(options.pt);
        options.setting.until = match (cycles, tolerance) {
            (Some(_), Some(_)) => return Err("--cycles and --tolerance: give one of them".into()),
            (Some(cycles), None) => Until::Cycles(cycles),
            (None, tolerance) => Until::Tolerance(tolerance.unwrap_or(1e-6)),
        };
        options.refuse()?;
        Ok(options)
    }

    fn refuse(&self) -> Outcome<()> {
        let Options { px, pt, setting, check, .. } = self;
        let Setting { n, reynolds, dt, planes, lid, until, lag } = setting;
        let columns = n / px;
        if columns * px != *n || columns < 2 || !columns.is_power_of_two() || !(8..=2048).contains(n) {
            return Err(format!(
                "--n {n} --px {px}: every strip needs a power of two of columns, at least 2, and the cavity 8 to 2048"
            )
            .into());
        }
        if *lag > LAGS {
            return Err(format!("--lag {lag}: it must be at most {LAGS}").into());
        }
        if planes % pt != 0 {
            return Err(format!("--planes {planes} --pt {pt}: the planes must be a multiple of pt").into());
        }
        if *lid == Lid::Oscillating && dt.is_infinite() {
            return Err("--dt inf: only --lid steady has a steady flow".into());
        }
        if *check != Check::None && matches!(until, Until::Cycles(_)) {
            return Err(
                "--check needs --tolerance: after a number of --cycles the planes need not have converged".into()
            );
        }
        if *check == Check::Ghia && (*lid != Lid::Steady || *reynolds != 100.0) {
            return Err("--check ghia needs --lid steady and --reynolds 100, which its values are for".into());
        }
        Ok(())
    }
}

const VERSIONS: [(&str, Version); 3] =
    [("native", Version::Native), ("synchronised", Version::Synchronised), ("hidden", Version::Hidden)];
const CHECKS: [(&str, Check); 3] = [("none", Check::None), ("ghia", Check::Ghia), ("sequential", Check::Sequential)];

fn count(name: &str, value: &str) -> Outcome<usize> {
    match value.parse() {
        Ok(0) => Err(format!("{name} must be at least 1").into()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{name} {value}: {error}").into()),
    }
}

fn positive(name: &str, value: &str) -> Outcome<f64> {
    match value.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        Ok(_) => Err(format!("{name} {value}: it must be greater than 0, and finite").into()),
        Err(error) => Err(format!("{name} {value}: {error}").into()),
    }
}

fn one_of<T: Copy>(name: &str, value: &str, known: &[(&str, T)]) -> Outcome<T> {
    known.iter().find(|(word, _)| *word == value).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
        format!("{name} {value}: there are {}", words.join(", ")).into()
    })
}
