//! Whatever goes in, no NaN and no infinity comes out; bad arguments are named; the best P is the best.

use proptest::prelude::*;

use super::prediction::Parts;
use super::smooth::Smooth;
use super::*;
use crate::property_support_tests::{anything, sane};

fn network<S: Strategy<Value = f64>>(cost: impl Fn() -> S) -> impl Strategy<Value = Network> {
    (0..3, cost(), cost()).prop_map(|(kind, fixed_cycles, variable_cycles)| match kind {
        0 => Network::Gap { fixed_cycles },
        1 => Network::Log { fixed_cycles, variable_cycles },
        _ => Network::SingleStage { fixed_cycles, variable_cycles },
    })
}

/// Any machine, allowed or not.
fn machine() -> impl Strategy<Value = MachineModel> {
    let messages = prop_oneof![
        Just(Messages::OneWord),
        (anything(), anything())
            .prop_map(|(words_max, spool_cycles_per_word)| Messages::Long { words_max, spool_cycles_per_word }),
    ];
    let flop = prop_oneof![Just(6.0), anything()];
    (network(anything), messages, flop).prop_map(|(network, messages, cycles_per_flop)| MachineModel {
        network,
        messages,
        cycles_per_flop,
    })
}

/// Any grid, allowed or not.
fn grid() -> impl Strategy<Value = Grid> {
    let counts = prop_oneof![
        Just(None),
        proptest::collection::vec(anything(), 5).prop_map(|counts| Some(Counts {
            fine_flops: counts[0],
            coarse_flops: counts[1],
            fine_words: counts[2],
            coarse_messages: counts[3],
            long_messages: counts[4],
        })),
    ];
    (any::<bool>(), anything(), counts).prop_map(|(cube, side, counts)| {
        let grid = if cube { Grid::three_dimensional(side) } else { Grid::two_dimensional(side) };
        Grid { counts: counts.unwrap_or(grid.counts), ..grid }
    })
}

/// Machines and grids such as there are.
fn plausible() -> impl Strategy<Value = (Grid, MachineModel)> {
    let messages = prop_oneof![
        Just(Messages::OneWord),
        (1.0..5000.0, 0.0..12.0)
            .prop_map(|(words_max, spool_cycles_per_word)| Messages::Long { words_max, spool_cycles_per_word }),
    ];
    (any::<bool>(), 4.0..4000.0f64, network(|| 0.0..10_000.0), messages).prop_map(|(cube, side, network, messages)| {
        let grid = if cube { Grid::three_dimensional(side) } else { Grid::two_dimensional(side) };
        (grid, MachineModel::new(network, messages))
    })
}

/// All points of a grid.
fn points(grid: &Grid) -> f64 {
    grid.points_per_side.powi(grid.dimensions.number() as i32)
}

proptest! {
    #![proptest_config(crate::scale::cases(2000))]

    #[test]
    fn every_quantity_is_a_number(
        grid in grid(), machine in machine(), other in machine(), part in 0.0..1.0f64, anything in anything(), inside in any::<bool>(),
    ) {
        let processors = if inside { points(&grid).powf(part) } else { anything };
        let prediction = predict(&grid, &machine, processors);
        sane(prediction.map(|_| 0.0))?;
        let Ok(prediction) = prediction else { return Ok(()) };
        for value in [
            prediction.serial_cycles(), prediction.computation_cycles(), prediction.messages(),
            prediction.fixed_cycles(), prediction.variable_cycles(), prediction.spool_cycles(),
            prediction.communication_cycles(), prediction.total_cycles(), prediction.speedup(), prediction.efficiency(),
        ] {
            sane(Ok(value))?;
        }
        prop_assert!(prediction.efficiency() <= 1.0);
        if let Ok(other) = predict(&grid, &other, processors) {
            for increase in [
                prediction.total_increase_over(&other), prediction.communication_increase_over(&other),
            ] {
                sane(increase.map(|part| part + 1.0))?;
            }
        }
    }

    #[test]
    fn cycles_take_a_number_of_seconds(cycles in anything(), clock in anything()) {
        sane(cycles_to_s(cycles, clock))?;
    }

    #[test]
    fn no_machine_is_faster_than_its_processors((grid, machine) in plausible(), part in 0.0..=1.0f64) {
        let processors = points(&grid).powf(part).min(points(&grid));
        let prediction = predict(&grid, &machine, processors).unwrap();
        prop_assert!(prediction.speedup() <= processors * (1.0 + 1e-12));
        prop_assert!(prediction.speedup() <= processors * prediction.efficiency() * (1.0 + 1e-12));
        let (fixed_cycles, variable_cycles) = machine.network.costs();
        let with = |network| predict(&grid, &MachineModel { network, ..machine }, processors).unwrap().total_cycles();
        let gap = with(Network::Gap { fixed_cycles });
        let log = with(Network::Log { fixed_cycles, variable_cycles });
        let single_stage = with(Network::SingleStage { fixed_cycles, variable_cycles });
        prop_assert!(gap <= log && gap <= single_stage, "{gap}, {log}, {single_stage}");
    }

    /// The slope that the search relies on is that of the time.
    #[test]
    fn slopes_are_differences((grid, machine) in plausible(), part in 0.1..0.9f64) {
        let x = points(&grid).ln() * part;
        let at = |x: f64| Parts::of(&grid, &MachineModel { messages: Messages::OneWord, ..machine }, x.exp()).total();
        let step = 1e-4;
        let difference = (at(x + step).value - at(x - step).value) / (2.0 * step);
        prop_assert!((difference - at(x).slope).abs() <= 1e-6 * at(x).value, "{difference}, not {}", at(x).slope);
    }
}

proptest! {
// Each case is a search over thousands of P.
    #![proptest_config(crate::scale::cases(200))]

    #[test]
    fn the_best_number_of_processors_is_a_number(grid in grid(), machine in machine()) {
        let best = best_processors(&grid, &machine);
        sane(best)?;
        if let Ok(best) = best {
            prop_assert!((1.0..=points(&grid)).contains(&best));
        }
    }

    #[test]
    fn no_other_number_of_processors_is_better((grid, machine) in plausible(), parts in proptest::collection::vec(0.0..=1.0f64, 50)) {
        let best = best_processors(&grid, &machine).unwrap();
        let total = |processors: f64| predict(&grid, &machine, processors).unwrap().total_cycles();
        let points = points(&grid);
        // Within a step of the search no part of the time falls faster than 1/P.
        let slack = (2.0 * points.ln() / 4096.0).exp();
        for part in parts {
            let other = points.powf(part).min(points);
            prop_assert!(total(best) <= total(other) * slack, "{best} processors, but {other} are better");
        }
        if machine.messages == Messages::OneWord && best > 1.0 {
            for other in [best * 0.999, best * 1.001] {
                let other = other.clamp(1.0 + 1e-9, points);
                prop_assert!(total(best) <= total(other) * (1.0 + 1e-12), "{best} processors, but {other} are better");
            }
        }
    }
}

#[test]
fn the_best_is_at_an_end_where_it_is() {
    let square = Grid::two_dimensional(100.0);
    let free = MachineModel::new(Network::Gap { fixed_cycles: 0.0 }, Messages::OneWord);
    assert_eq!(best_processors(&square, &free).unwrap(), 10_000.0, "communication costs nothing");
    let dear = MachineModel::new(Network::Gap { fixed_cycles: 1e9 }, Messages::OneWord);
    assert_eq!(best_processors(&square, &dear).unwrap(), 1.0, "not worth a message");
    assert_eq!(best_processors(&Grid::two_dimensional(1.0), &free).unwrap(), 1.0, "one point");
}

/// The least time may be exactly where one message less is enough.
#[test]
fn the_best_may_be_where_a_message_is_just_full() {
    // Edges of 1000 / sqrt(P) points: from 100 processors on, 100 words are one message.
    let messages = Messages::Long { words_max: 100.0, spool_cycles_per_word: 0.0 };
    let machine = MachineModel::new(Network::Gap { fixed_cycles: 250_000.0 }, messages);
    let best = best_processors(&Grid::two_dimensional(1000.0), &machine).unwrap();
    assert!((best - 100.0).abs() < 1e-6, "{best}");
    let total = |processors| predict(&Grid::two_dimensional(1000.0), &machine, processors).unwrap().total_cycles();
    assert!(total(best) < total(99.0) && total(best) < total(101.0));
}

#[test]
fn one_processor_sends_nothing() {
    let machine = MachineModel::new(Network::TABLE_1[0], Messages::UP_TO_1000_WORDS);
    for grid in [Grid::two_dimensional(1000.0), Grid::three_dimensional(1000.0)] {
        let alone = predict(&grid, &machine, 1.0).unwrap();
        assert_eq!((alone.speedup(), alone.efficiency(), alone.messages()), (1.0, 1.0, 0.0));
        assert_eq!(
            alone.communication_increase_over(&alone).unwrap_err().to_string(),
            "communication time of the other is 0, but must be a finite number above 0"
        );
    }
}

/// Parts that are numbers, while their sum or their ratio is none.
#[test]
fn times_too_large_or_too_small_are_refused() {
    let square = Grid::two_dimensional(1000.0);
    // On 16 processors: 8024 messages, and 24 units of distance.
    let network = |scale: f64| Network::Log { fixed_cycles: scale / 8024.0, variable_cycles: scale / 24.0 };
    let of = |scale| predict(&square, &MachineModel::new(network(scale), Messages::OneWord), 16.0);
    assert_eq!(of(1.2e308).unwrap_err().name, "total time");
    assert!(of(0.8e308).unwrap().total_cycles() > 1.5e308);
    let slow = MachineModel { cycles_per_flop: 5e-324, ..MachineModel::new(network(0.0), Messages::OneWord) };
    let point = Grid { counts: Counts { fine_flops: 0.1, ..Counts::TWO }, ..Grid::two_dimensional(1.0) };
    assert_eq!(predict(&point, &slow, 1.0).unwrap_err().name, "serial time");
}

#[test]
fn smooth_quantities_know_their_slopes() {
    let p = Smooth::processors(64.0);
    assert_eq!(p.power(0.5), Smooth { value: 8.0, slope: 4.0 });
    assert_eq!(p.log2().value, 6.0);
    assert!((p.log2().slope - std::f64::consts::LOG2_E).abs() < 1e-15);
    assert_eq!(p * p, Smooth { value: 4096.0, slope: 8192.0 });
    assert_eq!(p + Smooth::constant(1.0) * 2.0, Smooth { value: 66.0, slope: 64.0 });
}

#[test]
fn bad_arguments_are_named() {
    let square = Grid::two_dimensional(1000.0);
    let network = Network::TABLE_1[0];
    let machine = MachineModel::new(network, Messages::OneWord);
    let name = |grid: &Grid, machine: &MachineModel| {
        let error = predict(grid, machine, 16.0).unwrap_err();
        assert_eq!(best_processors(grid, machine).unwrap_err().name, error.name);
        error.name
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(predict(&square, &machine, bad).unwrap_err().name, "P");
        assert_eq!(name(&Grid::two_dimensional(bad), &machine), "N");
        let with = |network| MachineModel::new(network, Messages::OneWord);
        assert_eq!(name(&square, &with(Network::Gap { fixed_cycles: bad })), "fixed cost");
        let log = Network::Log { fixed_cycles: 1.0, variable_cycles: bad };
        assert_eq!(name(&square, &with(log)), "variable cost");
        let long = |words_max, spool_cycles_per_word| {
            MachineModel::new(network, Messages::Long { words_max, spool_cycles_per_word })
        };
        assert_eq!(name(&square, &long(bad, 4.0)), "words per message");
        assert_eq!(name(&square, &long(1000.0, bad)), "spooling cost per word");
        assert_eq!(name(&square, &MachineModel { cycles_per_flop: bad, ..machine }), "cycles per flop");
        let counts = |counts| Grid { counts, ..square };
        assert_eq!(name(&counts(Counts { fine_flops: bad, ..Counts::TWO }), &machine), "fine flops");
        assert_eq!(name(&counts(Counts { coarse_flops: bad, ..Counts::TWO }), &machine), "coarse flops");
        assert_eq!(name(&counts(Counts { fine_words: bad, ..Counts::TWO }), &machine), "fine words");
        assert_eq!(name(&counts(Counts { coarse_messages: bad, ..Counts::TWO }), &machine), "coarse messages");
        assert_eq!(name(&counts(Counts { long_messages: bad, ..Counts::TWO }), &machine), "long messages");
        assert_eq!(cycles_to_s(bad, 33e6).unwrap_err().name, "cycles");
        assert_eq!(cycles_to_s(1.0, bad).unwrap_err().name, "clock");
    }
    let nobody = predict(&square, &machine, 0.0).unwrap_err();
    assert_eq!(nobody.to_string(), "P is 0, but must be between 1 and the number of points");
    assert!(predict(&square, &machine, 1_000_001.0).is_err(), "more processors than points");
    assert_eq!(name(&Grid::three_dimensional(1e200), &machine), "number of points");
}
