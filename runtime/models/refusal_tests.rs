//! Bad parameters are errors that say which and why, and no NaN leaves a public function: the models' functions that
//! take plain arguments are held to it in their own modules' tests, here are all kinds of bad parameters together, the
//! fits, and the models whose fields anybody can set.

use std::fmt::Display;

use proptest::prelude::*;

use super::property_support_tests::{anything, sane};
use super::*;
use crate::cluster::{Parameters, Plan, broadcast_postal_s, gather_bound_s, transfer_ratio, window};
use crate::decomposition::{Channel, calculation_s, factor};
use crate::fit::cluster::{Arrivals, Cost, RoundTrip, Saturation, Slowed, Stream, Transfer};
use crate::fit::gain::{Phases, Point};
use crate::fit::segmented::{Segment, Segmented};
use crate::fit::{HeldOut, Sample, cluster as procedures};
use crate::gain::{ConjugateGradient, Hardware, Messages, Scaling};
use crate::hyperbolic::{Block, Dependence, Graph, Network, Packets, Path, parallel, serial};
use crate::logp::LogP;
use crate::multigrid::{self, Grid};

/// The result is an error, and each of the words is in its text.
#[track_caller]
fn refused<T, E: Display>(result: Result<T, E>, words: &[&str]) {
    let Err(error) = result else { panic!("not refused: {words:?}") };
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} are not all in: {text}");
}

/// A block of a millisecond and a microsecond per byte.
fn block() -> Block {
    Block::new(1e-3, 1e-6).unwrap()
}

fn network() -> Network {
    Network::new(block(), block(), 0.0).unwrap()
}

#[test]
fn negative_sizes_and_times() {
    refused(block().time_s(-1.0), &["x is -1", "at least 0"]);
    refused(Block::new(-1.0, 0.0), &["a is -1"]);
    refused(Block::new(0.0, -1.0), &["b is -1"]);
    refused(Packets::new(1e-3, 0.0, -1500.0), &["is -1500"]);
    refused(Graph::new().message("1", "2", -8.0), &["-8"]);
    refused(Parameters::table_1().packet(-1.0, 2), &["m is -1"]);
    refused(Parameters::table_1().gather(-1.0, 1500.0, 4), &["is -1"]);
    refused(gather_bound_s(4, 1, -1.0, 0.0, 0.0), &["g_r is -1"]);
    refused(transfer_ratio(-1.0, 1.0, 1.0, 1), &["A is -1"]);
    refused(Channel::new(-1.0, 0.0), &["is -1"]);
    refused(LogP::new(-1.0, 0.0, 0.0), &["is -1"]);
    refused(gain::ideal(-1.0), &["gamma is -1"]);
    refused(multigrid::cycles_to_s(-1.0, 1.0), &["cycles is -1"]);
}

#[test]
fn no_processors() {
    refused(gain::speedup(0, 1.0), &["p is 0"]);
    refused(gain::lambda(0, 1.0, 1.0), &["p is 0"]);
    refused(Messages::MESH.of(0), &["p is 0"]);
    refused(ConjugateGradient::from_ratio(5, 100.0).unwrap().gain(0), &["p is 0"]);
    refused(network().broadcast_tree(0), &["is 0"]);
    refused(network().broadcast_serial(0), &["is 0"]);
    refused(network().global_operation_s(0), &["is 0"]);
    refused(network().neighbours(0, 1), &["is 0"]);
    refused(Parameters::table_1().packet(100.0, 0), &["p is 0"]);
    refused(window(0, 1.0, 1.0, 1.0, 1), &["p is 0"]);
    refused(Plan::with_window(0, 1), &["p is 0"]);
    refused(broadcast_postal_s(1, 0, 1.0, 1.0), &["p is 0"]);
    refused(calculation_s(1, 1.0, 0), &["is 0"]);
    refused(factor(0), &["is 0"]);
    let machine = multigrid::MachineModel::new(multigrid::Network::TABLE_1[0], multigrid::Messages::OneWord);
    refused(multigrid::predict(&Grid::two_dimensional(1000.0), &machine, 0.0), &["P is 0", "between 1"]);
}

#[test]
fn an_f_that_is_no_fraction() {
    for f in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        for result in [
            gain::partial(1.0, f),
            gain::with_overhead(1.0, f, 0.0),
            gain::maximum_partial(f, 0.0),
            gain::best_gamma(f, 0.0).map(|_| 0.0),
            gain::gamma_range_for_gain(1.5, f, 0.0).map(|_| 0.0),
            gain::speedup_hidden(2, 1.0, f),
            Scaling::new(10.0, Messages::MESH, f, 0.0).map(|_| 0.0),
            Hardware::new(1.0, 0.0).unwrap().gain(1.0, f, 1.0),
            fit::gain::Gain { f, omega: 0.0, f_points: 0, omega_points: 0 }.at(1.0),
        ] {
            refused(result, &["f is", &f.to_string(), "between 0 and 1"]);
        }
    }
}

#[test]
fn what_is_no_number() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let is = format!("is {bad}");
        refused(gain::ideal(bad), &["gamma", &is]);
        refused(gain::maximum(bad), &["Omega", &is]);
        refused(block().time_s(bad), &["x", &is]);
        refused(Block::new(bad, 0.0), &["a", &is]);
        refused(Parameters::table_1().broadcast_s(bad, 1500.0, 4), &[&is]);
        refused(Channel::new(0.0, bad), &[&is]);
        refused(LogP::new(0.0, bad, 0.0), &[&is]);
        refused(relative_deviation(1.0, bad), &["value", &is]);
        refused(fit::hyperbolic::Hyperbolic { a_s: bad, b_s_per_byte: 1.0 }.time_s(8), &["a", &is]);
        refused(Cost { startup_s: 1.0, s_per_byte: bad }.time_s(8), &["s_per_byte", &is]);
        let samples = [8, 64, 512].map(|bytes| Sample { bytes, time_s: bad });
        refused(fit::hyperbolic::fit(&samples), &["sample 0", "time_s", &is]);
        refused(fit::segmented::fit(&samples), &["sample 0", "time_s", &is]);
    }
}

#[test]
fn graphs_without_way_out() {
    refused(Path::new(&[]), &["0"]);
    refused(serial(&[], Dependence::Dependent), &["0"]);
    refused(parallel(&[], Dependence::Independent), &["0"]);
    refused(gain::best_machine(&[], 1.0, 1.0, 1.0), &["0"]);
    let mut graph = Graph::new();
    let message = graph.message("1", "2", 8.0).unwrap();
    refused(graph.reduce(message), &["the graph is empty"]);
    refused(graph.way(message, &[]), &["at least one communication block"]);
    let [first, second] = ["CB_1", "CB_2"].map(|name| graph.block(name, block()));
    let cyclic = graph.way(message, &[first, second, first]).err().map(|error| error.to_string());
    let cyclic = cyclic.or_else(|| graph.reduce(message).err().map(|error| error.to_string()));
    let text = cyclic.expect("a cycle is refused");
    assert!(text.contains("CB_") && text.contains("cycl"), "{text}");
    refused(Graph::new().reduce(message), &["the graph is empty"]);
}

#[test]
fn fewer_samples_than_parameters() {
    let words = ["1 samples", "2 parameters"];
    let one = [Sample { bytes: 8, time_s: 1e-6 }];
    refused(fit::hyperbolic::fit(&one), &words);
    refused(fit::segmented::fit(&one), &words);
    refused(procedures::send_time(&one), &words);
    refused(procedures::user_receive(&one), &words);
    refused(procedures::memory_copy(&one), &words);
    let stream = |packets: u32| Stream { bytes: 8, packets, time_s: f64::from(packets) };
    refused(procedures::send_gap(&[stream(1), stream(2)]), &words);
    refused(procedures::receive_gap(&[Arrivals { bytes: 8, senders: 1, packets: 2, time_s: 1.0 }]), &words);
    let slowed = Slowed { bytes: 8, packets: 1, alone_s: 1.0, slowed_s: 2.0 };
    refused(procedures::asynchronous_receive(&[slowed]), &words);
    let trip = RoundTrip { bytes: 8, processors: 2, time_s: 1.0 };
    refused(procedures::transfer(&[trip], Cost::default(), None), &words);
    refused(fit::gain::fit(&[Point { x: 1.0, gain: 1.0 }]), &words);
    refused(fit::gain::fit_phases(&[]), &["0 samples", "2 parameters"]);
    for fit in [fit::hyperbolic::fit(&[]).map(drop), fit::segmented::fit(&[]).map(drop)] {
        refused(fit, &["0 samples", "2 parameters"]);
    }
}

/// Any time, mostly one that can be.
fn time() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 1e-9..1e3, 1 => (-15.0..15.0f64).prop_map(|power| 10f64.powf(power)), 1 => anything()]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![0..100u64, 0..1u64 << 26, any::<u64>()]
}

/// An error of a fit says something and has no NaN that was not given.
fn fitted<M>(
    result: Result<fit::Fitted<M>, fit::FitError>,
    evaluate: impl Fn(&M) -> Result<f64, BadParameter>,
) -> Result<(), TestCaseError> {
    match result {
        Err(error) => prop_assert!(error.to_string().len() > 20, "{error}"),
        Ok(fitted) => {
            sane(evaluate(&fitted.model))?;
            if let Some(quality) = fitted.quality {
                prop_assert!(quality.median_error.is_finite() && quality.p90_error.is_finite(), "{quality:?}");
            }
            for pair in &fitted.held_out {
                prop_assert!(pair.predicted_s.is_finite() && pair.predicted_s >= 0.0, "{pair:?}");
                sane(pair.error())?;
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::scale::cases(24))]

    #[test]
    fn no_samples_make_a_fit_say_nan(samples in prop::collection::vec((bytes(), time()), 0..10), at in bytes()) {
        let samples: Vec<Sample> = samples.iter().map(|&(bytes, time_s)| Sample { bytes, time_s }).collect();
        fitted(fit::hyperbolic::fit(&samples), |model| model.time_s(at))?;
        fitted(fit::segmented::fit(&samples), |model| model.time_s(at))?;
        fitted(procedures::send_time(&samples), |cost| cost.time_s(at))?;
        fitted(procedures::user_receive(&samples), |cost| cost.time_s(at))?;
        fitted(procedures::memory_copy(&samples), |cost| cost.time_s(at))?;
    }

    #[test]
    fn no_experiment_makes_a_procedure_say_nan(
        runs in prop::collection::vec((bytes(), 0..40u32, time(), time()), 0..14), at in bytes(), p in 0..100u32,
        overhead in (anything(), anything()),
    ) {
        let streams: Vec<Stream> =
            runs.iter().map(|&(bytes, packets, time_s, _)| Stream { bytes, packets, time_s }).collect();
        fitted(procedures::send_gap(&streams), |cost| cost.time_s(at))?;
        let arrivals: Vec<Arrivals> = runs
            .iter()
            .map(|&(bytes, packets, time_s, _)| Arrivals { bytes, senders: packets % 4, packets, time_s })
            .collect();
        fitted(procedures::receive_gap(&arrivals), |cost| cost.time_s(at))?;
        let slowed: Vec<Slowed> = runs
            .iter()
            .map(|&(bytes, packets, alone_s, slowed_s)| Slowed { bytes, packets, alone_s, slowed_s })
            .collect();
        fitted(procedures::asynchronous_receive(&slowed), |cost| cost.time_s(at))?;
        let trips: Vec<RoundTrip> = runs
            .iter()
            .map(|&(bytes, processors, time_s, _)| RoundTrip { bytes, processors, time_s })
            .collect();
        let overhead = Cost { startup_s: overhead.0, s_per_byte: overhead.1 };
        for gap in [None, Some(Cost { startup_s: 1e-6, s_per_byte: 1e-9 }), Some(overhead)] {
            fitted(procedures::transfer(&trips, overhead, gap), |model| model.time_s(at, p))?;
            fitted(procedures::transfer(&trips, Cost::default(), gap), |model| model.time_s(at, p))?;
        }
    }

    #[test]
    fn no_phases_make_the_gain_say_nan(steps in prop::collection::vec(prop::array::uniform4(time()), 0..10), x in anything()) {
        let phases: Vec<Phases> =
            steps.iter().map(|&[t_calc_s, t_com_s, t_i1_s, t_i3_s]| Phases { t_calc_s, t_com_s, t_i1_s, t_i3_s }).collect();
        for phases in &phases {
            sane(phases.gamma())?;
        }
        let points: Vec<Point> = steps.iter().map(|&[x, gain, ..]| Point { x, gain }).collect();
        for result in [fit::gain::fit_phases(&phases), fit::gain::fit(&points)] {
            let Ok(fitted) = result else { continue };
            prop_assert!((0.0..=1.0).contains(&fitted.model.f) && fitted.model.omega >= 0.0, "{fitted:?}");
            sane(fitted.model.at(x))?;
            for pair in &fitted.held_out {
                prop_assert!(pair.predicted.is_finite(), "{pair:?}");
                sane(pair.error())?;
            }
        }
        if let Ok(Some(point)) = Phases::point(&phases) {
            prop_assert!(point.x.is_finite() && point.gain.is_finite(), "{point:?}");
        }
    }

    #[test]
    fn no_fields_make_a_model_say_nan(fields in prop::array::uniform6(anything()), at in bytes(), p: u32) {
        let [a, b, c, d, e, g] = fields;
        sane(fit::hyperbolic::Hyperbolic { a_s: a, b_s_per_byte: b }.time_s(at))?;
        sane(fit::hyperbolic::Hyperbolic { a_s: a, b_s_per_byte: b }.beyond_packets_s_per_byte(p))?;
        let cost = Cost { startup_s: a, s_per_byte: b };
        sane(cost.time_s(at))?;
        let saturation = Some(Saturation { bytes_per_s: c, send_gap: cost });
        sane(Transfer { startup_s: d, per_processor_s: e, s_per_byte: g, saturation }.time_s(at, p))?;
        let segments = vec![Segment { from_bytes: 0.0, s_per_byte: a }, Segment { from_bytes: b, s_per_byte: c }];
        sane(Segmented { start_s: d, segments }.time_s(at))?;
        sane(HeldOut { bytes: at, measured_s: a, predicted_s: b }.error())?;
        sane(fit::gain::HeldOutGain { x: a, measured: b, predicted: c }.error())?;
        sane(fit::gain::Gain { f: a, omega: b, f_points: 0, omega_points: 0 }.at(c))?;
        let row = gain::penalty::Transfer { machine: "any", overhead_s: a, direct_s: b, hidden_s: c };
        sane(row.predicted_s())?;
        sane(row.penalty())?;
    }
}
