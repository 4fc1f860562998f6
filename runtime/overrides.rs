//! Overrides: algorithms that replace the selected ones, at most one per collective.

use std::collections::BTreeMap;

use crate::operation::Collective;

/// Algorithms of collectives by name ([`Collective::algorithms`]), instead of the ones that the cost model selects. They must
/// be the same on every rank. If the algorithm has a window (`granted`, `pairwise`, `windowed`), an override may set it too. A call
/// that the algorithm cannot carry out, such as a ring with an operator that is not commutative, uses the selected one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Overrides(BTreeMap<Collective, (String, Option<u32>)>);

/// The algorithms that have a window.
pub(crate) const WINDOWED: [&str; 3] = ["granted", "pairwise", "windowed"];

impl Overrides {
    /// No overrides.
    pub fn none() -> Self {
        Overrides::default()
    }

    /// Parses comma-separated `collective:algorithm` pairs, as in `LATHIDE_COLLECTIVE`. A window follows after a slash.
    ///
    /// ```
    /// use lathide::{Collective, Overrides};
    /// let overrides = Overrides::parse("broadcast:chain,allreduce:ring").unwrap();
    /// assert_eq!(overrides.of(Collective::Broadcast), Some("chain"));
    /// assert_eq!(Overrides::parse("gather:windowed/4").unwrap().window_of(Collective::Gather), Some(4));
    /// assert!(Overrides::parse("broadcast:ring").unwrap_err().contains("serial, binary, binomial, chain"));
    /// ```
    ///
    /// # Errors
    /// A text that says what is wrong and what is valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut forced = Overrides::none();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let Some((collective, algorithm)) = pair.split_once(':') else {
                return Err(format!("{pair:?} is not collective:algorithm, such as broadcast:chain"));
            };
            let Some(collective) = Collective::ALL.into_iter().find(|known| known.to_string() == collective) else {
                let known = Collective::ALL.map(|known| known.to_string()).join(", ");
                return Err(format!("{collective:?} is no collective; these are: {known}"));
            };
            forced = match algorithm.split_once('/') {
                None => forced.with(collective, algorithm)?,
                Some((algorithm, window)) => {
                    let Ok(window) = window.parse() else {
                        return Err(format!("{window:?} is no window; that is a number, as in gather:windowed/4"));
                    };
                    forced.with_window(collective, algorithm, window)?
                }
            };
        }
        Ok(forced)
    }

    /// Adds an override.
    ///
    /// # Errors
    /// A text, if `collective` has no such algorithm.
    pub fn with(mut self, collective: Collective, algorithm: &str) -> Result<Self, String> {
        let names = collective.algorithms();
        if !names.contains(&algorithm) {
            let names = names.join(", ");
            return Err(format!("{algorithm:?} is no algorithm for {collective}; these are: {names}"));
        }
        self.0.insert(collective, (algorithm.to_owned(), None));
        Ok(self)
    }

    /// Adds an override with a window: how many ranks or pieces are sent at once; for `pairwise`, how many rounds (0:
    /// all).
    ///
    /// # Errors
    /// A text, if `collective` has no such algorithm, or the algorithm has no such window.
    pub fn with_window(self, collective: Collective, algorithm: &str, window: u32) -> Result<Self, String> {
        let mut forced = self.with(collective, algorithm)?;
        if !WINDOWED.contains(&algorithm) {
            return Err(format!("{algorithm} of {collective} has no window"));
        }
        if window == 0 && algorithm != "pairwise" {
            return Err(format!("with a window of 0, {algorithm} would never send"));
        }
        forced.0.insert(collective, (algorithm.to_owned(), Some(window)));
        Ok(forced)
    }

    /// The algorithm that `collective` is overridden with, if any.
    pub fn of(&self, collective: Collective) -> Option<&str> {
        self.0.get(&collective).map(|(name, _)| name.as_str())
    }

    /// The window of that override, if any.
    pub fn window_of(&self, collective: Collective) -> Option<u32> {
        self.0.get(&collective)?.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_what_is_wrong_is_said() {
        assert_eq!(Overrides::parse(""), Ok(Overrides::none()));
        let forced = Overrides::parse(" gather:windowed , alltoall:pairwise,").unwrap();
        assert_eq!(forced.of(Collective::Gather), Some("windowed"));
        assert_eq!(forced.of(Collective::Alltoall), Some("pairwise"));
        assert_eq!(forced.of(Collective::Broadcast), None);
        for (text, words) in [
            ("broadcast", "is not collective:algorithm"),
            ("broadcats:chain", "is no collective; these are: allgather, "),
            ("barrier:chain", "is no algorithm for barrier; these are: serial"),
            ("alltoall:ring", "these are: pairwise"),
            ("gather:windowed/many", "\"many\" is no window"),
            ("gather:windowed/0", "would never send"),
            ("gather:simple/4", "simple of gather has no window"),
        ] {
            let error = Overrides::parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
