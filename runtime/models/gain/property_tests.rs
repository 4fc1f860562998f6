//! What holds for all arguments.

use proptest::prelude::*;

use super::*;
use crate::golden_tests::{any_number, is_number, size};

fn messages() -> impl Strategy<Value = Messages> {
    (0.1..50.0, prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.0..2.0])
        .prop_map(|(factor, exponent)| Messages::power(factor, exponent).unwrap())
}

/// The whole number from 1 to `most` with the greatest value, and that value.
fn by_trying_all(most: u32, value: impl Fn(u32) -> f64) -> (u32, f64) {
    (1..=most)
        .map(|p| (p, value(p)))
        .fold((0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best })
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn no_argument_gives_a_wrong_number(
        a in any_number(), b in any_number(), c in any_number(), d in any_number(), e in any_number(), p: u32,
    ) {
        for value in [
            ideal(a), partial(a, b), with_overhead(a, b, c), maximum(a), communication_ratio(a, b, c, d),
            speedup(p, a), speedup_hidden(p, a, b), speedup_with_overhead(p, a, b, c), maximum_partial(a, b),
            software_granularity(a, b, c), hardware_granularity(a, b, c), lambda(p, a, b), penalty::pipe_overhead_s(a),
            penalty::predicted_s(a, b), penalty::penalty(a, b),
        ] {
            prop_assert!(is_number(&value), "{value:?}");
        }
        for value in [best_gamma(a, b), break_even_gamma(a)] {
            prop_assert!(value.is_err() || value.unwrap().is_none_or(f64::is_finite));
        }
        for range in [gamma_range_for_gain(a, b, c), software_range_for_gain(a, b, c, d, e)] {
            if let Ok(Some(Range { least, most })) = range {
                prop_assert!(least.is_finite() && most.is_finite() && least <= most, "{least} to {most}");
            }
        }
        if let Ok(machine) = Hardware::new(a, b) {
            prop_assert!(is_number(&machine.gain(c, d, e)));
            let least = machine.least_gain(Range { least: c, most: d }, 1.0, e);
            prop_assert!(is_number(&least));
            prop_assert!(best_machine(&[machine], c, d, e).is_ok_and(|(_, gain)| gain.is_finite())
                || best_machine(&[machine], c, d, e).is_err());
        }
    }

    #[test]
    fn no_program_gives_a_wrong_number(
        a in any_number(), b in any_number(), c in any_number(), d in any_number(), e in any_number(), p: u32,
    ) {
        if let Ok(messages) = Messages::power(a, b) {
            prop_assert!(is_number(&messages.of(p)));
            if let Ok(program) = Scaling::new(c, messages, d, e) {
                for value in [program.ratio(p), program.speedup(p), program.speedup_hidden(p), program.gain(p)] {
                    prop_assert!(is_number(&value), "{value:?}");
                }
                for best in
                    [program.best_for_speedup(), program.best_for_speedup_hidden(), program.best_for_gain()]
                {
                    prop_assert!(best.is_err() || best.unwrap() != Some(0));
                }
                let _ = program.processors_for_gain(1.2);
            }
        }
        let costs = Costs { flop_s: a, startup_s: b, word_s: c };
        let machine = ConjugateGradient::on_machine(p, u64::from(p), costs);
        for study in [machine, ConjugateGradient::from_ratio(p, d)].into_iter().flatten() {
            prop_assert!((0.0..=1.0).contains(&study.f()) && study.lambda() > 0.0 && study.lambda().is_finite());
            for value in [
                study.omega(p), study.time_s(p), study.time_hidden_s(p), study.speedup(p), study.speedup_hidden(p),
                study.gain(p), study.gain_of_times(p),
            ] {
                prop_assert!(is_number(&value), "{value:?}");
            }
            for best in [study.best_for_speedup(), study.best_for_speedup_hidden(), study.best_for_gain()] {
                prop_assert!(best.is_err() || best.unwrap() > 0);
            }
        }
    }

    #[test]
    fn the_best_gamma_is_best(f in 0.01..1.0, omega in 0.0..3.0, other in size()) {
        let gamma = best_gamma(f, omega).unwrap().unwrap();
        let best = with_overhead(1.0 / gamma, f, omega).unwrap();
        prop_assert!(close(best, maximum_partial(f, omega).unwrap()));
        prop_assert!(with_overhead(1.0 / other, f, omega).unwrap() <= best * (1.0 + 1e-12));
    }

    #[test]
    fn gamma_is_in_the_range_if_and_only_if_it_gains(
        target in 1.01..2.0, f in 0.0..1.0, omega in 0.0..1.0, gamma in 0.01..100.0,
    ) {
        let gain = with_overhead(1.0 / gamma, f, omega).unwrap();
        let range = gamma_range_for_gain(target, f, omega).unwrap();
        prop_assume!((gain - target).abs() > 1e-9);
        prop_assert_eq!(range.is_some_and(|range| range.contains(gamma)), gain > target, "{:?}, G = {}", range, gain);
    }

    #[test]
    fn loss_begins_at_the_break_even_gamma(f in 0.0..1.0, omega in 0.01..3.0, gamma in 0.01..1000.0f64) {
        let edge = break_even_gamma(omega).unwrap().unwrap();
        prop_assume!((gamma / edge - 1.0).abs() > 1e-9);
        prop_assert_eq!(with_overhead(1.0 / gamma, f, omega).unwrap() < 1.0 - 1e-15, gamma > edge);
    }

    #[test]
    fn granularities_invert_each_other(gamma in size(), gamma_h in size(), q in 1.0..100.0) {
        let gamma_s = software_granularity(gamma, gamma_h, q).unwrap();
        prop_assert!(close(hardware_granularity(gamma, gamma_s, q).unwrap(), gamma_h));
        prop_assert!(close(communication_ratio(q, 0.0, gamma_h, gamma_s).unwrap(), 1.0 / gamma));
    }

    /// Against the plain way: all numbers of processors one after another.
    #[test]
    fn the_best_numbers_of_processors_are_best(
        lambda in 1.0..5000.0, messages in messages(), f in 0.0..=1.0, omega in 0.0..2.0, target in 1.01..1.9,
    ) {
        const MOST: u32 = 400;
        let program = Scaling::new(lambda, messages, f, omega).unwrap();
        let speedup = |p| program.speedup(p).unwrap();
        let hidden = |p| program.speedup_hidden(p).unwrap();
        let gain = |p| program.gain(p).unwrap();
        let compare = |best: Option<u32>, value: &dyn Fn(u32) -> f64| {
            let (place, greatest) = by_trying_all(MOST, value);
            match best {
                Some(best) if best <= MOST => close(value(best), greatest),
                _ => place == MOST || close(value(MOST), greatest),
            }
        };
        prop_assert!(compare(program.best_for_speedup().unwrap(), &speedup));
        prop_assert!(compare(program.best_for_speedup_hidden().unwrap(), &hidden));
        if f > 0.0 {
            prop_assert!(compare(program.best_for_gain().unwrap(), &gain));
        } else {
            prop_assert_eq!(program.best_for_gain().unwrap(), None);
        }
        let range = program.processors_for_gain(target).unwrap();
        for p in (1..=MOST).filter(|&p| (gain(p) - target).abs() > 1e-9) {
            prop_assert_eq!(range.as_ref().is_some_and(|range| range.contains(&p)), gain(p) > target, "{} of {:?}", p, range);
        }
    }

    #[test]
    fn the_best_numbers_of_conjugate_gradients_are_best(nonzeros in 1u32..30, ratio in 1.0..10_000.0) {
        let study = ConjugateGradient::from_ratio(nonzeros, ratio).unwrap();
        let (_, greatest) = by_trying_all(1000, |p| study.speedup(p).unwrap());
        prop_assert!(close(study.speedup(study.best_for_speedup().unwrap()).unwrap(), greatest));
        let (_, greatest) = by_trying_all(1000, |p| study.speedup_hidden(p).unwrap());
        prop_assert!(close(study.speedup_hidden(study.best_for_speedup_hidden().unwrap()).unwrap(), greatest));
        let (_, greatest) = by_trying_all(1000, |p| study.gain(p).unwrap());
        prop_assert!(close(study.gain(study.best_for_gain().unwrap()).unwrap(), greatest));
    }

    /// Section 4.3: a and b of a machine.
    #[test]
    fn a_machine_has_its_ratio(
        nonzeros in 1u32..30, unknowns in 1u64..1_000_000, flop in size(), startup in size(), word in size(), p in 1u32..2000,
    ) {
        let costs = Costs { flop_s: flop, startup_s: startup, word_s: word };
        let machine = ConjugateGradient::on_machine(nonzeros, unknowns, costs).unwrap();
        let calculation = (9.0 + 4.0 * f64::from(nonzeros)) * flop * unknowns as f64;
        let sums = 6.0 * (startup + 3.0 * word);
        prop_assert!(close(machine.time_s(p).unwrap(), calculation / f64::from(p) + sums * f64::from(p).sqrt()));
        let study = ConjugateGradient::from_ratio(nonzeros, calculation / sums).unwrap();
        prop_assert!(close(machine.gain(p).unwrap(), study.gain(p).unwrap()));
        prop_assert!(close(machine.speedup_hidden(p).unwrap(), study.speedup_hidden(p).unwrap()));
    }

    /// Section 2.3.2: eq. (6) is eq. (4) with `lambda = p gamma_s / gamma_h`.
    #[test]
    fn lambda_is_made_of_granularities(
        gamma_s in size(), gamma_h in size(), q in 1.0..50.0, f in 0.0..=1.0, omega in 0.0..2.0, p in 1u32..2000,
    ) {
        let lambda = lambda(p, gamma_s, gamma_h).unwrap();
        let program = Scaling::new(lambda, Messages::constant(q).unwrap(), f, omega).unwrap();
        let x = communication_ratio(q, 0.0, gamma_h, gamma_s).unwrap();
        prop_assert!(close(program.gain(p).unwrap(), with_overhead(x, f, omega).unwrap()));
        prop_assert!(close(program.speedup(p).unwrap(), speedup(p, 1.0 / x).unwrap()));
    }

    /// Section 4.3: the study is eq. (6) with q = sqrt(p), lambda = a/b and Omega = omega p / a.
    #[test]
    fn conjugate_gradients_are_equation_6(nonzeros in 1u32..30, ratio in 1.0..10_000.0, p in 1u32..2000) {
        let study = ConjugateGradient::from_ratio(nonzeros, ratio).unwrap();
        let program = Scaling::new(study.lambda(), Messages::MESH, study.f(), study.omega(p).unwrap()).unwrap();
        prop_assert!(close(program.gain(p).unwrap(), study.gain_of_times(p).unwrap()));
    }
}

/// Fig. 9.1: with ideal hiding the greatest speed-up and the greatest gain need the same number of processors.
/// Fig. 9.3: with f the greatest speed-up rises and moves to fewer processors.
#[test]
fn figure_9() {
    let all_to_all = Scaling::new(10_000.0, Messages::ALL_TO_ALL, 1.0, 0.0).unwrap();
    assert_eq!(all_to_all.best_for_speedup_hidden(), Ok(Some(100)));
    assert_eq!(all_to_all.best_for_gain(), Ok(Some(100)));
    assert_eq!(all_to_all.best_for_speedup(), Ok(Some(100)));
    let best = |f| {
        let program = Scaling::new(7359.0, Messages::MESH, f, 0.0).unwrap();
        let p = program.best_for_speedup_hidden().unwrap().unwrap();
        (p, program.speedup_hidden(p).unwrap())
    };
    let greatest = [0.0, 0.2, 0.4, 0.6].map(best);
    assert!(greatest.is_sorted_by(|one, next| next.0 < one.0 && next.1 > one.1), "{greatest:?}");
}

#[test]
fn bad_arguments_of_questions_are_named() {
    assert_eq!(gamma_range_for_gain(1.0, 1.0, 0.0).unwrap_err().name, "G");
    assert_eq!(gamma_range_for_gain(1.5, 2.0, 0.0).unwrap_err().name, "f");
    assert_eq!(gamma_range_for_gain(1.5, 1.0, -1.0).unwrap_err().name, "Omega");
    assert_eq!(best_gamma(-0.1, 0.0).unwrap_err().name, "f");
    assert_eq!(break_even_gamma(f64::NAN).unwrap_err().name, "Omega");
    assert_eq!(software_range_for_gain(1.5, 1.0, 0.0, 0.0, 1.0).unwrap_err().name, "gamma_h");
    assert_eq!(software_range_for_gain(1.5, 1.0, 0.0, 1.0, 0.0).unwrap_err().name, "q");
    assert_eq!(Hardware::new(1.0, -0.1).unwrap_err().name, "Omega");
    assert_eq!(
        best_machine(&[], 1.0, 1.0, 1.0).unwrap_err().to_string(),
        "number of machines is 0, but must be at least 1"
    );
    let backwards = Range { least: 3.0, most: 2.0 };
    assert_eq!(Hardware::new(1.0, 0.0).unwrap().least_gain(backwards, 1.0, 1.0).unwrap_err().name, "gamma_s");
    assert_eq!(Messages::constant(0.0).unwrap_err().name, "q");
    assert_eq!(Messages::power(1.0, -0.5).unwrap_err().name, "exponent of q");
    assert_eq!(Messages::MESH.of(0).unwrap_err().name, "p");
    assert_eq!(Scaling::new(0.0, Messages::MESH, 1.0, 0.0).unwrap_err().name, "lambda");
    assert_eq!(Scaling::new(1.0, Messages::MESH, 1.5, 0.0).unwrap_err().name, "f");
    assert_eq!(Scaling::new(1.0, Messages::MESH, 1.0, 0.0).unwrap().gain(0).unwrap_err().name, "p");
    assert_eq!(lambda(0, 1.0, 1.0).unwrap_err().name, "p");
    assert_eq!(speedup_with_overhead(1, -1.0, 1.0, 0.0).unwrap_err().name, "x");
    assert_eq!(ConjugateGradient::from_ratio(5, -1.0).unwrap_err().name, "a/b");
    assert_eq!(ConjugateGradient::PAPER.speedup(0).unwrap_err().name, "p");
    assert_eq!(penalty::penalty(0.0, 1.0).unwrap_err().name, "direct");
    let costs = Costs { flop_s: 1e-9, startup_s: 1e-3, word_s: -1.0 };
    assert_eq!(ConjugateGradient::on_machine(5, 1000, costs).unwrap_err().name, "t_w");
    assert_eq!(
        ConjugateGradient::on_machine(5, 0, Costs { word_s: 1e-6, ..costs }).unwrap_err().name,
        "a = (9 + 4 n_z) t_fl N"
    );
    assert_eq!(ConjugateGradient::from_ratio(5, 1e30).unwrap().best_for_speedup().unwrap_err().name, "best p");
}
