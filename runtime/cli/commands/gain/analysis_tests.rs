use super::*;

fn measured(rounds: Vec<Round>) -> Measured {
    Measured { gamma_wanted: 1.0, shape: Shape { rows: 10, columns: 4, work: 7 }, steps: 2, rounds }
}

fn round(slower: f64) -> Round {
    Round {
        work: 7,
        t_calc: 1.0 * slower,
        interior: 0.9 * slower,
        t_com: 1.0 * slower,
        t_i1: 2.0 * slower,
        t_i2: 1.95 * slower,
        t_i3: 1.1 * slower,
        t_raw_exchange: 1.98 * slower,
        t_raw_pingpong: Some(3.0 * slower),
        busy: 0.95 * slower,
        ..Round::default()
    }
}

#[test]
fn a_point_by_hand() {
    let point = evaluate(&measured(vec![round(1.0), round(1.5), round(0.5)]), 5).unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    close(point.gamma, 1.0);
    close(point.f.median, 0.9);
    close(point.omega.median, 0.05);
    close(point.gain.median, 2.0 / 1.1);
    close(point.gain_blocking.median, 2.0 / 1.95);
    close(point.gain_ideal, 2.0);
    // Eq. (4): 2 / (0.1 + max(0.95, 1)).
    close(point.gain_phases, 2.0 / 1.1);
    close(point.speedup_i1, 1.0);
    close(point.speedup_i3, 2.0 / 1.1);
    assert_eq!(point.t_i3_s, Summary { median: 1.1, min: 0.55, max: 1.1 * 1.5 });
}

#[test]
fn a_negative_overhead_is_shown_but_not_fed_to_the_model() {
    let lucky = Round { busy: 0.85, ..round(1.0) };
    let point = evaluate(&measured(vec![lucky]), 5).unwrap();
    assert!((point.omega.median + 0.05).abs() < 1e-12);
    assert_eq!(point.gain_phases, gain::with_overhead(1.0, 0.9, 0.0).unwrap());
}

#[test]
fn senseless_measurements_are_errors() {
    let nothing = evaluate(&measured(vec![]), 5).unwrap_err().message;
    assert!(nothing.starts_with("no repetition was measured at gamma = 1;"), "{nothing}");
    let broken = Round { t_com: 0.0, ..round(1.0) };
    assert!(evaluate(&measured(vec![broken]), 5).is_err(), "no division by zero gets out");
    let odd = Round { interior: 2.0, ..round(1.0) };
    assert_eq!(
        evaluate(&measured(vec![odd]), 5).unwrap_err().to_string(),
        "the measured f is 2, but must be between 0 and 1; the machine may be too busy, measure again"
    );
}

#[test]
fn disturbed_repetitions_are_left_out_by_disturbance_alone() {
    let disturbed = |drift, t_i3| Round { drift, t_i3, ..round(1.0) };
    let rounds = vec![disturbed(0.3, 1.0), disturbed(0.0, 1.2), disturbed(0.01, 1.6), disturbed(0.2, 0.9)];
    let point = evaluate(&measured(rounds), 2).unwrap();
    assert_eq!((point.repeats, point.repeats_left_out), (2, 2));
    assert!((point.t_i3_s.median - 1.4).abs() < 1e-12, "of the two calm ones, fast or slow: {point:?}");
    assert!((point.disturbed - 0.005).abs() < 1e-12);
}

#[test]
fn the_best_point() {
    let slow = evaluate(&measured(vec![Round { t_i3: 1.5, ..round(1.0) }]), 5).unwrap();
    let fast = evaluate(&measured(vec![round(1.0)]), 5).unwrap();
    assert_eq!(best(&[slow.clone(), fast.clone(), slow.clone()]).unwrap().gain, fast.gain);
    assert_eq!(best(&[]), None);
    assert_eq!(typical(&[slow.clone(), fast, slow], |point| point.gain.median), 2.0 / 1.5);
}
