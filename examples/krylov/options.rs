//! What the command line says.

use std::fmt;

use super::Outcome;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Algorithm {
    Cg,
    ParCg,
    Pipelined,
}

/// When messages are waited for. All versions calculate the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Version {
    /// At once, as with blocking calls.
    Native,
    /// At once, after a barrier.
    Synchronised,
    /// As late as the algorithm allows.
    Hidden,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Preconditioner {
    None,
    /// Incomplete factors of each strip's own part of the matrix.
    Ilu,
}

/// When to stop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Stop {
    /// After so many iterations, or when nothing is left to do.
    Iterations(usize),
    /// When the residual's norm is this part of the first one.
    Tolerance(f64),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Options {
    pub(crate) algorithm: Algorithm,
    pub(crate) version: Version,
    pub(crate) preconditioner: Preconditioner,
    /// Points on each side of the square.
    pub(crate) n: usize,
    pub(crate) stop: Stop,
    /// After how many iterations pipelined CG works its residuals out anew; 0 for never.
    pub(crate) replace: usize,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let (mut iterations, mut tolerance, mut replace) = (None, None, None);
        let mut options = Options {
            algorithm: Algorithm::Cg,
            version: Version::Hidden,
            preconditioner: Preconditioner::None,
            n: 100,
            stop: Stop::Tolerance(1e-8),
            replace: 50,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            let number = || value.parse::<usize>().map_err(|error| format!("{name} {value}: {error}"));
            match name.as_str() {
                "--algorithm" => {
                    let all = [Algorithm::Cg, Algorithm::ParCg, Algorithm::Pipelined];
                    options.algorithm = chosen(&name, &value, all)?;
                }
                "--version" => {
                    options.version = chosen(&name, &value, [Version::Native, Version::Synchronised, Version::Hidden])?;
                }
                "--preconditioner" => {
                    options.preconditioner = chosen(&name, &value, [Preconditioner::None, Preconditioner::Ilu])?;
                }
                "--n" => options.n = number()?,
                "--replace" => replace = Some(number()?),
                "--iterations" => iterations = Some(number()?),
                "--tolerance" => {
                    tolerance = Some(value.parse::<f64>().map_err(|error| format!("{name} {value}: {error}"))?);
                }
                _ => {
                    let all = "--algorithm, --version, --preconditioner, --n, --iterations, --tolerance and --replace";
                    return Err(format!("{name}: there are {all}").into());
                }
            }
        }
        options.stop = match (iterations, tolerance) {
            (None, None) => options.stop,
            (Some(iterations), None) => Stop::Iterations(iterations),
            (None, Some(tolerance)) => Stop::Tolerance(tolerance),
            (Some(_), Some(_)) => return Err("--iterations and --tolerance are two ways to stop: give one".into()),
        };
        if replace.is_some() && options.algorithm != Algorithm::Pipelined {
            return Err("--replace goes with --algorithm pipelined: the others have nothing to replace".into());
        }
        options.replace = replace.unwrap_or(options.replace);
        options.checked()
    }

    fn checked(self) -> Outcome<Self> {
        if self.n == 0 || self.n > MOST {
            return Err(format!("--n {}: it is at least 1, and at most {MOST}", self.n).into());
        }
        match self.stop {
            Stop::Iterations(0) => Err("--iterations must be at least 1".into()),
            Stop::Tolerance(tolerance) if !(LEAST..1.0).contains(&tolerance) => {
                Err(format!("--tolerance {tolerance}: it is at least {LEAST:e}, which rounding allows, and below 1")
                    .into())
            }
            _ => Ok(self),
        }
    }
}

/// More points do not fit into memory.
const MOST: usize = 20_000;
/// No smaller part of the first residual can be reached reliably.
const LEAST: f64 = 1e-11;

/// The choice with this name.
fn chosen<T: Copy + fmt::Display, const K: usize>(option: &str, name: &str, choices: [T; K]) -> Outcome<T> {
    let is_it = |choice: &T| choice.to_string() == name;
    let all = || choices.map(|choice| choice.to_string()).join(", ");
    choices.into_iter().find(is_it).ok_or_else(|| format!("{option} {name}: it is one of {}", all()).into())
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Cg => "cg",
            Algorithm::ParCg => "parcg",
            Algorithm::Pipelined => "pipelined",
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::Native => "native",
            Version::Synchronised => "synchronised",
            Version::Hidden => "hidden",
        })
    }
}

impl fmt::Display for Preconditioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Preconditioner::None => "none",
            Preconditioner::Ilu => "ilu",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Outcome<Options> {
        Options::parse(words.split_whitespace().map(String::from))
    }

    #[test]
    fn options_are_what_the_words_say() {
        let words = "--algorithm pipelined --version native --preconditioner ilu --n 7 --iterations 3 --replace 0";
        let expected = Options {
            algorithm: Algorithm::Pipelined,
            version: Version::Native,
            preconditioner: Preconditioner::Ilu,
            n: 7,
            stop: Stop::Iterations(3),
            replace: 0,
        };
        assert_eq!(parse(words).expect("they are right"), expected);
        assert_eq!(parse("--tolerance 1e-3").expect("it is right").stop, Stop::Tolerance(1e-3));
        assert_eq!(parse("").expect("defaults are right").stop, Stop::Tolerance(1e-8));
    }

    #[test]
    fn wrong_words_are_told() {
        let cases = [
            ("--algorithm gmres", "--algorithm gmres: it is one of cg, parcg, pipelined"),
            ("--version fast", "it is one of native, synchronised, hidden"),
            ("--preconditioner lu", "it is one of none, ilu"),
            ("--n 0", "--n 0: it is at least 1"),
            ("--n 20001", "at most 20000"),
            ("--n x", "--n x: invalid digit"),
            ("--n", "--n needs a value"),
            ("--iterations 0", "--iterations must be at least 1"),
            ("--tolerance 0", "--tolerance 0: it is at least 1e-11"),
            ("--tolerance NaN", "--tolerance NaN: it is at least"),
            ("--tolerance 1", "below 1"),
            ("--iterations 3 --tolerance 0.1", "give one"),
            ("--replace 3", "--replace goes with --algorithm pipelined"),
            ("--size 3", "--size: there are --algorithm"),
        ];
        for (words, message) in cases {
            let error = parse(words).expect_err(words).to_string();
            assert!(error.contains(message), "{words}: {error}");
        }
    }
}
