//! Whether what was measured can be cited: one verdict, computed once from the data. Terminal, page, JSON and exit status say what
//! it says. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::format::plain;

/// From this share of the processors' time on other programs disturb.
pub(crate) const OTHERS_MIN: f64 = 0.05;
/// From this share on the host of a virtual machine does.
pub(crate) const STOLEN_MIN: f64 = 0.02;
/// From this share on the same calculation does not take the same time.
pub(crate) const DRIFT_MIN: f64 = 0.05;

/// What a measurement is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// It can be cited, with its intervals.
    Valid,
    /// Something else than what was measured had its part in it.
    Disturbed,
    /// It ended before its time; the rest may be right.
    Partial,
    /// It contradicts what must hold, so that something else was measured.
    Impossible,
}

/// The verdict, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) kind: Kind,
    /// A sentence each; none if it is valid.
    pub(crate) reasons: Vec<String>,
}

/// What other programs, and the host of a virtual machine, had of a host's processors: shares of their time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct HostLoad {
    pub(crate) host: String,
    /// Programs that are none of this measurement.
    pub(crate) others: f64,
    /// Steal time.
    pub(crate) stolen: f64,
}

/// What a verdict follows from.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Evidence {
    /// Of every host that took part.
    pub(crate) loads: Vec<HostLoad>,
    /// By how much the same calculation differed within a repetition, as a share, where that differed most.
    pub(crate) drift: Option<f64>,
    /// Where there were too few calm repetitions, and how many there were.
    pub(crate) few: Vec<String>,
    /// What is beyond what can be, in words.
    pub(crate) impossible: Vec<String>,
    /// Why it ended early, if it did.
    pub(crate) ended_early: Option<String>,
}

impl Verdict {
    /// The verdict of this evidence. What is impossible weighs most, and what ended early more than what was disturbed.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let Evidence { loads, drift, few, impossible, ended_early } = evidence;
        let mut reasons: Vec<String> = impossible.clone();
        reasons.extend(ended_early.iter().cloned());
        let early = reasons.len();
        let share = |share: f64| format!("{} %", plain((100.0 * share).round().max(1.0)));
        for HostLoad { host, others, .. } in loads.iter().filter(|load| load.others >= OTHERS_MIN) {
            reasons.push(format!("Other programs had {} of the processors' time on {host}.", share(*others)));
        }
        for HostLoad { host, stolen, .. } in loads.iter().filter(|load| load.stolen >= STOLEN_MIN) {
            let stolen = share(*stolen);
            reasons
                .push(format!("The host of the virtual machine {host} took {stolen} of its processors' time (steal)."));
        }
        if let Some(drift) = drift.filter(|drift| *drift >= DRIFT_MIN) {
            reasons
                .push(format!("The same calculation took up to {} longer at one time than at another.", share(drift)));
        }
        reasons.extend(few.iter().cloned());
        let kind = match () {
            () if !impossible.is_empty() => Kind::Impossible,
            () if ended_early.is_some() => Kind::Partial,
            () if reasons.len() > early => Kind::Disturbed,
            () => Kind::Valid,
        };
        Verdict { kind, reasons }
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.kind == Kind::Valid
    }

    /// In one paragraph.
    pub(crate) fn in_words(&self) -> String {
        let advice = match self.kind {
            Kind::Valid | Kind::Partial => "",
            Kind::Disturbed | Kind::Impossible => " Measure again when the hosts are quiet.",
        };
        let reasons: String = self.reasons.iter().map(|reason| format!(" {reason}")).collect();
        format!("Verdict: {}.{reasons}{advice}", self.kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Valid => "valid",
            Kind::Disturbed => "disturbed",
            Kind::Partial => "partial",
            Kind::Impossible => "impossible",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(others: f64, stolen: f64) -> Evidence {
        Evidence { loads: vec![HostLoad { host: "a".to_owned(), others, stolen }], ..Evidence::default() }
    }

    #[test]
    fn each_reason_alone_is_enough_and_is_named() {
        let few = Evidence { few: vec!["Too few.".to_owned()], ..Evidence::default() };
        let drift = Evidence { drift: Some(0.07), ..Evidence::default() };
        for (evidence, word) in [
            (load(0.2, 0.0), "Other programs had 20 % of the processors' time on a."),
            (load(0.0, 0.02), "took 2 % of its processors' time (steal)"),
            (drift, "up to 7 % longer"),
            (few, "Too few."),
        ] {
            let verdict = Verdict::of(&evidence);
            assert_eq!(verdict.kind, Kind::Disturbed, "{evidence:?}");
            assert!(verdict.reasons.len() == 1 && verdict.reasons[0].contains(word), "{verdict:?}");
            assert!(verdict.in_words().starts_with("Verdict: disturbed. ") && verdict.in_words().contains("again"));
        }
    }

    #[test]
    fn what_is_calm_is_valid() {
        for evidence in
            [Evidence::default(), load(0.049, 0.019), Evidence { drift: Some(0.049), ..Evidence::default() }]
        {
            let verdict = Verdict::of(&evidence);
            assert!(verdict.is_valid() && verdict.reasons.is_empty(), "{verdict:?}");
            assert_eq!(verdict.in_words(), "Verdict: valid.");
        }
    }

    #[test]
    fn the_gravest_counts_and_all_are_told() {
        let ended = Evidence { ended_early: Some("Interrupted.".to_owned()), ..load(0.5, 0.0) };
        let verdict = Verdict::of(&ended);
        assert_eq!((verdict.kind, verdict.reasons.len()), (Kind::Partial, 2));
        let impossible = Evidence { impossible: vec!["G = 3.".to_owned()], ..ended };
        let verdict = Verdict::of(&impossible);
        assert_eq!((verdict.kind, verdict.reasons.len()), (Kind::Impossible, 3));
        assert!(verdict.in_words().starts_with("Verdict: impossible. G = 3. Interrupted. Other programs"));
    }

    #[test]
    fn it_is_saved_in_plain_words() {
        let json = serde_json::to_value(Verdict::of(&load(0.1, 0.0))).unwrap();
        assert_eq!(json["kind"], "disturbed");
        assert_eq!(serde_json::from_value::<Verdict>(json).unwrap(), Verdict::of(&load(0.1, 0.0)));
    }
}
