use super::super::analysis::evaluate;
use super::super::plan::{Measured, Round};
use super::*;
use crate::commands::common::strip::Shape;
use crate::report::verdict::{Kind, Verdict};

fn round(sequence: u32) -> Round {
    Round {
        sequence,
        work: 7,
        t_calc: 1.0,
        interior: 0.9,
        t_com: 1.0,
        t_i1: 2.0,
        t_i2: 1.95,
        t_i3: 1.1,
        t_raw_exchange: 1.98,
        t_raw_pingpong: Some(3.0),
        busy: 0.95,
        ..Round::default()
    }
}

/// A point of so many repetitions, each changed.
fn point(repeats: u32, change: impl Fn(&mut Round)) -> Point {
    let rounds = (0..repeats).map(|sequence| {
        let mut round = round(sequence);
        change(&mut round);
        round
    });
    let measured = Measured {
        gamma_wanted: 1.0,
        shape: Shape { rows: 10, columns: 4, work: 7 },
        steps: 2,
        rounds: rounds.collect(),
    };
    evaluate(&measured, 6).unwrap()
}

fn verdict(points: &[Point]) -> Verdict {
    Verdict::of(&evidence(points, &["a".to_owned(), "b".to_owned()]))
}

#[test]
fn six_calm_repetitions_are_valid() {
    let calm = verdict(&[point(6, |_| ()), point(9, |round| round.drift = 0.04)]);
    assert_eq!((calm.kind, calm.reasons.len()), (Kind::Valid, 0), "{calm:?}");
}

#[test]
fn what_disturbs_is_named_with_its_host() {
    for (point, words) in [
        (point(5, |_| ()), "6 calm repetitions; there were fewer, as few as 5, at gamma = 1.00"),
        (point(6, |round| round.drift = 0.2), "up to 20 % longer"),
        (point(6, |round| round.waited = 0.3), "none, at gamma = 1.00; the calculation waited up to 30 %"),
        (point(6, |round| round.others[1] = 0.4), "40 % of the processors' time on b"),
        (point(6, |round| round.stolen[0] = 0.03), "virtual machine a took 3 %"),
        (point(6, |round| round.others[1] = if round.sequence > 2 { 0.3 } else { 0.0 }), "as few as 3"),
    ] {
        let verdict = verdict(&[point]);
        assert_eq!(verdict.kind, Kind::Disturbed, "{words}");
        assert!(verdict.in_words().contains(words), "{words}: {}", verdict.in_words());
    }
}

#[test]
fn more_than_eq_1_allows_is_impossible_only_beyond_its_interval() {
    let beyond = verdict(&[point(6, |_| ()), point(6, |round| round.t_i3 = 0.95)]);
    assert_eq!(beyond.kind, Kind::Impossible);
    assert!(beyond.reasons[0].contains("G = 2.11 of at most 2.00"), "{beyond:?}");
    let within = point(6, |round| round.t_i3 = if round.sequence == 0 { 1.01 } else { 0.95 });
    assert!(within.gain.median > within.gain_ideal && verdict(&[within]).is_valid());
    let disturbed_too = verdict(&[point(3, |round| (round.t_i3, round.drift) = (0.5, 0.5))]);
    assert_eq!((disturbed_too.kind, disturbed_too.reasons.len()), (Kind::Impossible, 3), "{disturbed_too:?}");
}

#[test]
fn one_host_is_named_once() {
    let busy = point(6, |round| round.others = [0.2, 0.3]);
    let verdict = Verdict::of(&evidence([&busy], &["a".to_owned(), "a".to_owned()]));
    let said = verdict.reasons.iter().filter(|reason| reason.contains("Other programs")).collect::<Vec<_>>();
    assert!(said.len() == 1 && said[0].contains("30 %"), "{verdict:?}");
}

#[test]
fn gammas_that_were_missed_or_left_out_are_told() {
    let off = point(6, |round| round.t_com = 1.3);
    let warnings = warnings(&[off], &[1.0, 4.0], 7).join(" ");
    for words in ["another gamma than asked for: 1 at 0.77", "no time for gamma = 4", "time for 6 of 7"] {
        assert!(warnings.contains(words), "{words}: {warnings}");
    }
    assert!(super::warnings(&[point(6, |_| ())], &[1.0], 6).is_empty());
}
