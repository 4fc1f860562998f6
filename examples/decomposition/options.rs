//! The program's options.

use std::fmt;

/// How messages are waited for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Version {
    Native,
    Synchronised,
    Hidden,
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

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Options {
    pub(super) version: Version,
    /// Subdomains per side of the square.
    pub(super) side: usize,
    /// Cells per side of a subdomain.
    pub(super) n: usize,
    /// How many; 0 for as many as are needed.
    pub(super) iterations: usize,
    /// Of the residual, relative to the first one.
    pub(super) tolerance: f64,
}

impl Options {
    pub(super) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Options { version: Version::Hidden, side: 2, n: 64, iterations: 0, tolerance: 1e-9 };
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            let number = || value.parse::<usize>().map_err(|error| format!("{name} {value}: {error}"));
            match name.as_str() {
                "--subdomains" => options.side = side(number()?)?,
                "--n" => options.n = number()?,
                "--iterations" => options.iterations = number()?,
                "--tolerance" => {
                    options.tolerance = value.parse().map_err(|error| format!("{name} {value}: {error}"))?;
                }
                "--version" => {
                    options.version = match value.as_str() {
                        "native" => Version::Native,
                        "synchronised" => Version::Synchronised,
                        "hidden" => Version::Hidden,
                        _ => return Err(format!("--version {value}: there are native, synchronised and hidden")),
                    }
                }
                _ => {
                    let names = "--version, --subdomains, --n, --iterations and --tolerance";
                    return Err(format!("{name}: there are {names}"));
                }
            }
        }
        options.check()
    }

    fn check(self) -> Result<Self, String> {
        let Options { side, n, tolerance, .. } = self;
        if !n.is_power_of_two() || n < 2 {
            return Err(format!("--n {n}: a subdomain has a power of two of cells per side, at least 2"));
        }
        if n > 4096 / side {
            let most = 4096 / side;
            return Err(format!("--n {n}: with {} subdomains at most {most}, for 4096 cells per side", side * side));
        }
        if !(1e-12..1.0).contains(&tolerance) {
            return Err(format!("--tolerance {tolerance}: at least 1e-12 and less than 1"));
        }
        Ok(self)
    }
}

/// Subdomains per side, of so many in all.
fn side(subdomains: usize) -> Result<usize, String> {
    let side = subdomains.isqrt();
    if side * side != subdomains || !(1..=16).contains(&side) {
        return Err(format!("--subdomains {subdomains}: a square is cut into 1, 4, 9, 16 ... 256, a square number"));
    }
    Ok(side)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options, String> {
        Options::parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let words = "--version native --subdomains 16 --n 512 --iterations 7 --tolerance 1e-6";
        let expected = Options { version: Version::Native, side: 4, n: 512, iterations: 7, tolerance: 1e-6 };
        assert_eq!(parse(words), Ok(expected));
    }

    #[test]
    fn bad_options_are_refused() {
        let cases = [
            ("--n 48", "--n 48: a subdomain has a power of two"),
            ("--n 1", "at least 2"),
            ("--n 0", "at least 2"),
            ("--n 2048 --subdomains 16", "with 16 subdomains at most 1024"),
            ("--subdomains 8", "--subdomains 8: a square is cut into 1, 4, 9, 16"),
            ("--subdomains 0", "--subdomains 0:"),
            ("--subdomains 289", "256, a square number"),
            ("--subdomains -4", "--subdomains -4: invalid digit"),
            ("--tolerance 0", "--tolerance 0: at least 1e-12"),
            ("--tolerance NaN", "--tolerance NaN: at least 1e-12"),
            ("--tolerance small", "--tolerance small: invalid float"),
            ("--iterations -1", "--iterations -1: invalid digit"),
            ("--version fast", "there are native, synchronised and hidden"),
            ("--n", "--n needs a value"),
            ("--procs 4", "--procs: there are --version, --subdomains"),
        ];
        for (words, message) in cases {
            let refusal = parse(words).expect_err(words);
            assert!(refusal.contains(message), "{words}: {refusal}");
        }
    }
}
