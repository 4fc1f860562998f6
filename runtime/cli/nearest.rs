//! What somebody may have meant who wrote a word that nobody knows. Pure.

/// Two letters in each other's place are one slip. With more slips it is another word.
const SLIPS_MAX: usize = 2;

/// The known word that is almost this one, but not this one; upper and lower case are the same. Of short words less may be
/// wrong: half of the letters are no slip.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.trim().to_lowercase();
    let slips = |other: &str| strsim::osa_distance(&word, &other.to_lowercase());
    let (slips, nearest) = known.into_iter().map(|other| (slips(other), other)).min_by_key(|(slips, _)| *slips)?;
    let most = SLIPS_MAX.min(word.chars().count().saturating_sub(1) / 2);
    (1..=most).contains(&slips).then_some(nearest)
}

/// `; did you mean "it"?`, or nothing.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|other| format!("; did you mean {other:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let presets = ["ethernet", "lan", "loopback", "wan"];
        let found = |word| nearest(word, presets);
        assert_eq!(
            ["wann", "ethrenet", "lopback", "LNA"].map(found),
            [Some("wan"), Some("ethernet"), Some("loopback"), Some("lan")]
        );
        assert_eq!(["wan", "", "x", "wi", "internet-of-things"].map(found), [None; 5]);
        assert_eq!(did_you_mean("wann", presets), "; did you mean \"wan\"?");
        assert_eq!(did_you_mean("no", presets), "");
        assert_eq!(nearest("word", []), None);
    }
}
