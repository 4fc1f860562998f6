//! What the command line says.

use std::fmt;

use super::Outcome;
use super::jacobi::contraction;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Decomposition {
    /// Of rows.
    Strips,
    /// As square as the number of ranks allows.
    Blocks,
}

/// When messages are waited for. All versions calculate the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Version {
    /// At once, as with blocking calls.
    Native,
    /// At once, after a barrier.
    Synchronised,
    /// Edges after the interior, the greatest change after the next iteration.
    Hidden,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Shares {
    Equal,
    /// In proportion to measured speed.
    Speed,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Stop {
    /// After so many.
    Iterations(usize),
    /// When no point changes by `epsilon` any more, which cannot take more than `most`.
    Epsilon { epsilon: f64, most: usize },
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Options {
    pub(crate) decomposition: Decomposition,
    pub(crate) version: Version,
    pub(crate) shares: Shares,
    /// Points on each side of the square.
    pub(crate) n: usize,
    pub(crate) stop: Stop,
}

/// More points do not fit into memory.
const MOST: usize = 30_000;
/// Smaller changes may be rounding, and never end.
const LEAST: f64 = 1e-13;

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let (mut decomposition, mut version, mut shares) = (Decomposition::Strips, Version::Hidden, Shares::Equal);
        let (mut n, mut iterations, mut epsilon) = (100, None, None);
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            let number = || value.parse::<usize>().map_err(|error| format!("{name} {value}: {error}"));
            match name.as_str() {
                "--decomposition" => {
                    decomposition = chosen(&name, &value, [Decomposition::Strips, Decomposition::Blocks])?;
                }
                "--version" => {
                    version = chosen(&name, &value, [Version::Native, Version::Synchronised, Version::Hidden])?;
                }
                "--shares" => shares = chosen(&name, &value, [Shares::Equal, Shares::Speed])?,
                "--n" => n = number()?,
                "--iterations" => iterations = Some(number()?),
                "--epsilon" => {
                    epsilon = Some(value.parse::<f64>().map_err(|error| format!("{name} {value}: {error}"))?);
                }
                _ => {
                    let all = "--decomposition, --version, --shares, --n, --iterations and --epsilon";
                    return Err(format!("{name}: there are {all}").into());
                }
            }
        }
        if n == 0 || n > MOST {
            return Err(format!("--n {n}: it is at least 1, and at most {MOST}").into());
        }
        if shares == Shares::Speed && decomposition == Decomposition::Blocks {
            return Err("--shares speed goes with --decomposition strips: a block's neighbours must be as high".into());
        }
        let stop = stop(n, iterations, epsilon)?;
        Ok(Options { decomposition, version, shares, n, stop })
    }
}

/// The choice with this name.
fn chosen<T: Copy + fmt::Display, const K: usize>(option: &str, name: &str, choices: [T; K]) -> Outcome<T> {
    let is_it = |choice: &T| choice.to_string() == name;
    let all = || choices.map(|choice| choice.to_string()).join(", ");
    choices.into_iter().find(is_it).ok_or_else(|| format!("{option} {name}: it is one of {}", all()).into())
}

fn stop(n: usize, iterations: Option<usize>, epsilon: Option<f64>) -> Outcome<Stop> {
    match (iterations, epsilon) {
        (Some(_), Some(_)) => Err("--iterations and --epsilon are two ways to stop: give one".into()),
        (Some(0), None) => Err("--iterations must be at least 1".into()),
        (Some(iterations), None) => Ok(Stop::Iterations(iterations)),
        (None, epsilon) => {
            let epsilon = epsilon.unwrap_or(1e-5);
            if !(LEAST..=1.0).contains(&epsilon) {
                return Err(format!("--epsilon {epsilon}: it is at least {LEAST:e}, and at most 1").into());
            }
            // A change is at most twice the error before it, whose norm began as 2 n at most; the hidden version needs one more.
            let most = (epsilon / (4 * n) as f64).ln() / contraction(n).ln();
            Ok(Stop::Epsilon { epsilon, most: most as usize + 3 })
        }
    }
}

impl fmt::Display for Decomposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Decomposition::Strips => "strips",
            Decomposition::Blocks => "blocks",
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

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shares::Equal => "equal",
            Shares::Speed => "speed",
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
        let words = "--decomposition blocks --version native --shares equal --n 7 --iterations 3";
        let expected = Options {
            decomposition: Decomposition::Blocks,
            version: Version::Native,
            shares: Shares::Equal,
            n: 7,
            stop: Stop::Iterations(3),
        };
        assert_eq!(parse(words).expect("they are right"), expected);
        assert_eq!(parse("--shares speed").expect("it is right").shares, Shares::Speed);
        let Stop::Epsilon { epsilon, most } = parse("--epsilon 1e-3 --n 1").expect("it is right").stop else {
            panic!("it stops at epsilon")
        };
        assert_eq!((epsilon, most), (1e-3, 3));
    }

    #[test]
    fn wrong_words_are_told() {
        let cases = [
            ("--decomposition cubes", "--decomposition cubes: it is one of strips, blocks"),
            ("--version fast", "it is one of native, synchronised, hidden"),
            ("--shares unequal", "it is one of equal, speed"),
            ("--shares speed --decomposition blocks", "goes with --decomposition strips"),
            ("--n 0", "--n 0: it is at least 1"),
            ("--n 30001", "at most 30000"),
            ("--n -3", "--n -3: invalid digit"),
            ("--n", "--n needs a value"),
            ("--iterations 0", "--iterations must be at least 1"),
            ("--epsilon 0", "--epsilon 0: it is at least 1e-13"),
            ("--epsilon NaN", "--epsilon NaN: it is at least"),
            ("--epsilon 2", "at most 1"),
            ("--iterations 3 --epsilon 0.1", "give one"),
            ("--size 3", "--size: there are --decomposition"),
        ];
        for (words, message) in cases {
            let error = parse(words).expect_err(words).to_string();
            assert!(error.contains(message), "{words}: {error}");
        }
    }
}
