use crate::report::WIDTH;
use crate::report::text::text;

use super::super::analysis::evaluate;
use super::super::plan::{Measured, Round};
use super::*;
use crate::commands::common::strip::Shape;

fn rounds(round: Round) -> Vec<Round> {
    (0..6).map(|sequence| Round { sequence, ..round }).collect()
}

/// What points were evaluated from.
fn measured(points: &[Point]) -> Vec<Measured> {
    let of = |point: &Point| Measured {
        gamma_wanted: point.gamma_wanted,
        shape: point.shape,
        steps: point.steps,
        rounds: point.rounds.clone(),
    };
    points.iter().map(of).collect()
}

fn swept(points: Vec<Point>) -> Option<Results> {
    sweep(link(), CASE, &measured(&points), points)
}

/// Points as the model would have them, with f = 15/16 and Omega = 0.02.
fn points(gammas: &[f64]) -> Vec<Point> {
    let t_com = 0.0652;
    let point = |gamma: &f64| {
        let gamma = *gamma;
        let t_calc = gamma * t_com;
        let interior = t_calc * 15.0 / 16.0;
        let busy = interior + 0.02 * t_calc;
        let round = Round {
            work: 100,
            t_calc,
            interior,
            t_com,
            t_i1: t_calc + t_com,
            t_i2: t_calc + 0.98 * t_com,
            t_i3: t_calc - interior + busy.max(t_com),
            t_raw_exchange: t_calc + 0.99 * t_com,
            t_raw_pingpong: Some(t_calc + 2.0 * t_com),
            busy,
            t_i1_again: Some(t_calc + t_com),
            ..Round::default()
        };
        let shape = Shape { rows: 100_000, columns: 16, work: 100 };
        evaluate(&Measured { gamma_wanted: gamma, shape, steps: 2, rounds: rounds(round) }, 6).unwrap()
    };
    gammas.iter().map(point).collect()
}

const CASE: Case = Case { rows: 100_000, socket_buffer_bytes: None };

fn link() -> Link {
    Link { spec: "delay=200us,rate=100mbit".into(), emulated: true, how: "emulated (a relay)".into() }
}

fn results() -> Results {
    swept(points(&[0.25, 0.5, 1.0, 2.0, 4.0])).unwrap()
}

#[test]
fn text_fits_the_terminal_and_says_what_matters() {
    let text = text(&results(), false);
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{text}");
    assert!(!text.contains('\x1b'));
    for part in [
        "800 000 bytes",
        "emulated (a relay)",
        "eq. 4",
        "gamma",
        "Overlap pays on this link",
        "G = 1.88 at gamma = 1 by the fit (95 % interval 1.88 to 1.88, by bootstrap over repetitions)",
        "G = 1.88 (96 % interval 1.88 to 1.88, by order statistics; ratio of medians 1.88) of at most 2.00",
        "I.1 over I.1 again (A/A)",
        "fitted to the whole sweep",
        "eq. (4), cross-validated: median error",
        "gamma = 1/(f + Omega) = 1.04",
        "A step of I.1 takes 1.005 of one over the simultaneous raw exchange",
    ] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(part), "{part} is missing:\n{text}");
    }
}

#[test]
fn json_has_the_agreed_members() {
    let json = serde_json::to_value(results()).unwrap();
    for member in ["schema", "link", "f", "omega", "points", "max_gain", "machine"] {
        assert!(!json[member].is_null(), "{member}: {json}");
    }
    for member in ["cores", "kernel", "congestion_control"] {
        assert!(!json["machine"][member].is_null(), "{member}: {json}");
    }
    let point = &json["points"][2];
    for member in [
        "gamma",
        "t_calc_s",
        "t_com_s",
        "t_i1_s",
        "t_i2_s",
        "t_i3_s",
        "gain_blocking",
        "gain",
        "gain_ideal",
        "gain_model",
        "gain_phases",
        "t_raw_pingpong_s",
        "t_raw_exchange_s",
        "gain_over_raw_pingpong",
        "gain_over_raw_exchange",
    ] {
        assert!(point[member].is_f64(), "{member}: {point}");
    }
    let raw = ["t_raw_pingpong_s", "t_raw_exchange_s", "gain_over_raw_pingpong", "i1_over_raw_exchange"];
    let own = ["t_calc_s", "t_com_s", "t_i1_s", "t_i2_s", "t_i3_s", "gain", "gain_blocking"];
    for repeated in own.into_iter().chain(raw) {
        for end in ["_min", "_max"] {
            assert!(point[format!("{repeated}{end}")].is_f64(), "{repeated}{end}: {point}");
        }
    }
    assert!((json["max_gain"].as_f64().unwrap() - point["gain"].as_f64().unwrap()).abs() < 1e-12);
    let error = &json["model_error"];
    assert!(error["median"].is_f64() && error["p90"].is_f64() && error["held_out"] == true, "{error}");
    assert!(point["gain_held_out"].is_f64() && point["model_error"].is_f64(), "{point}");
    let headline = &json["gain_at_1"];
    assert!(
        headline["gain"].is_f64() && headline["interval"]["low"].is_f64() && headline["from"] == "fit",
        "{headline}"
    );
    assert!(point["gain_interval"]["confidence"].is_f64() && point["gain_of_medians"].is_f64(), "{point}");
    assert_eq!(json["comparisons"].as_array().unwrap().len(), 4, "{json}");
    assert!((json["f_measured"].as_f64().unwrap() - 15.0 / 16.0).abs() < 1e-9 && json["is_fitted"] == true, "{json}");
}

#[test]
fn of_what_cannot_be_nobody_says_that_it_pays() {
    let changes: [fn(&mut Point); 2] = [
        |point: &mut Point| point.gain.median = 1.02 * point.gain_ideal,
        |point: &mut Point| point.is_above_ideal = true,
    ];
    for change in changes {
        let mut points = points(&[0.25, 0.5, 1.0, 2.0, 4.0]);
        points.iter_mut().for_each(change);
        let conclusion = swept(points).unwrap().conclusion;
        assert!(conclusion.starts_with("Whether overlap pays cannot be told from this run: "), "{conclusion}");
    }
}

#[test]
fn all_repetitions_are_kept_in_their_order() {
    let points = points(&[0.5, 2.0]);
    let mut measured = measured(&points);
    for (at, measured) in measured.iter_mut().enumerate() {
        for (turn, round) in measured.rounds.iter_mut().enumerate() {
            round.sequence = 2 * turn as u32 + at as u32;
        }
        measured.rounds.push(Round { sequence: 99 + at as u32, drift: 0.5, ..measured.rounds[0] });
    }
    let points: Vec<Point> = measured.iter().map(|measured| evaluate(measured, 6).unwrap()).collect();
    let json = serde_json::to_value(sweep(link(), CASE, &measured, points).unwrap()).unwrap();
    let rounds = json["rounds"].as_array().unwrap();
    let numbers = |member: &str| rounds.iter().map(|round| round[member].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers("sequence")[..4], [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(numbers("gamma_wanted")[..4], [0.5, 2.0, 0.5, 2.0]);
    assert_eq!((rounds.len(), &rounds[13]["counts"], &rounds[13]["calm"]), (14, &json!(false), &json!(false)));
    for member in ["t_calc_s", "t_com_s", "t_i1_s", "t_i1_again_s", "t_i2_s", "t_i3_s", "t_raw_exchange_s", "drift"] {
        assert!(rounds[0][member].is_f64(), "{member}: {}", rounds[0]);
    }
}

#[test]
fn too_few_points_are_taken_as_measured() {
    let one = swept(points(&[1.0])).unwrap().data;
    assert!((one["f"].as_f64().unwrap() - 15.0 / 16.0).abs() < 1e-9 && one["is_fitted"] == false, "{one:?}");
}

#[test]
fn without_points_there_is_no_outcome() {
    assert!(swept(vec![]).is_none());
}
