//! Planners of all ranks side by side, on a network that is not as they take it to be at first.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::buffer::Element;
use crate::collective::calibration::Line;
use crate::operation::Collective;

/// What a call takes on the network, and how many packets are lost.
type Truth<'a> = &'a dyn Fn(&Call, Algorithm) -> (f64, u64);

/// What came of a run.
struct Run {
    total_s: f64,
    algorithms: Vec<Algorithm>,
    changes: Vec<ChangeReport>,
    model: CostModel,
}

/// All ranks call the same `calls` times. `line`: what their messages show.
fn run(call: &Call, calls: u32, line: Line, truth: Truth<'_>) -> Run {
    run_among(call, calls, None, line, truth)
}

/// The same, with a barrier after each `every` calls, whose time does not count.
fn run_among(call: &Call, calls: u32, every: Option<u32>, line: Line, truth: Truth<'_>) -> Run {
    let barrier = Call::new(Collective::Barrier, call.ranks, 0, 1);
    let among = |at: u32| every.is_some_and(|every| at.is_multiple_of(every)).then_some(&barrier);
    run_all((0..calls).flat_map(|at| [Some(call), among(at)].into_iter().flatten()), call.ranks, line, truth)
}

/// All `ranks` call these; the time of barriers does not count.
fn run_all<'a>(calls: impl Iterator<Item = &'a Call>, ranks: u32, line: Line, truth: Truth<'_>) -> Run {
    let planner = |rank| Planner::new(Rank(rank), CostModel::lan(), Overrides::none(), true);
    let mut planners: Vec<Planner> = (0..ranks).map(planner).collect();
    let (mut total_s, mut losses, mut algorithms) = (0.0, 0, Vec::new());
    for (at, call) in calls.enumerate() {
        let planned: Vec<(Arc<Plan>, bool)> = planners
            .iter_mut()
            .map(|planner| match planner.next(call) {
                Planned::Now { plan, exchanges } => (plan, exchanges),
                Planned::Later => panic!("exchanges end at once"),
            })
            .collect();
        let algorithm = planned[0].0.algorithm;
        assert!(planned.iter().all(|(plan, _)| plan.algorithm == algorithm), "call {at}: ranks differ");
        let is_barrier = call.collective == Collective::Barrier;
        let (seconds, lost) = if is_barrier { (planned[0].0.timed.predicted_s, 0) } else { truth(call, algorithm) };
        if !is_barrier {
            (total_s, losses) = (total_s + seconds, losses + lost);
            algorithms.push(algorithm);
        }
        planned.iter().for_each(|(plan, _)| plan.timed.took(Duration::from_secs_f64(seconds)));
        if planned[0].1 {
            let told = planners.iter_mut().enumerate().map(|(rank, planner)| {
                // The senders see what is lost.
                let lost = if rank == 0 { 0 } else { losses };
                planner.exchange(line, None, Line::default(), lost).expect("it calibrates")
            });
            let told: Vec<_> = told.collect();
            let all: Vec<f64> = told.iter().flat_map(|(_, own, _)| own.clone()).collect();
            for (_, _, result) in told {
                result.set(all.clone()).expect("once");
            }
        }
    }
    let (_, changes) = planners[0].report();
    Run { total_s, algorithms, changes, model: planners[0].cost_model() }
}

impl Run {
    fn last(&self) -> Algorithm {
        *self.algorithms.last().expect("a call")
    }
}

fn measured(a_s: f64, b_s_per_byte: f64) -> Line {
    Line { a_s: Some(a_s), b_s_per_byte: Some(b_s_per_byte) }
}

/// The best that one algorithm alone can do.
fn best(call: &Call, calls: u32, truth: Truth<'_>) -> f64 {
    let of = |algorithm| truth(call, algorithm).0;
    f64::from(calls) * call.algorithms().into_iter().map(of).fold(f64::INFINITY, f64::min)
}

#[test]
fn the_right_algorithm_is_found_soon_on_any_network() {
    for (a_s, b) in [(25e-3, 160e-9), (50e-6, 8e-9), (200e-6, 80e-9), (5e-6, 0.4e-9)] {
        for (collective, ranks) in [(Collective::Allreduce, 8), (Collective::Broadcast, 4), (Collective::Allgather, 8)]
        {
            // Broadcasts follow each other, or there is a barrier after each. Of calls without a root each is planned alone.
            let sequences = [Sequence::Single, Sequence::InARow];
            for sequence in sequences.into_iter().take(if collective.has_root() { 2 } else { 1 }) {
                for bytes in [8, 4096, 262_144] {
                    let call = Call::new(collective, ranks, bytes / 8, 8);
                    let prices = std::cell::RefCell::new(Prices::new(CostModel::lan().with_link(a_s, b)));
                    let truth = |call: &Call, algorithm| {
                        (prices.borrow_mut().seconds_in(sequence, call, algorithm).expect("a price"), 0)
                    };
                    let chosen = prices.borrow_mut().choose_in(sequence, &call).best();
                    // A program of broadcasts alone keeps its first prices.
                    let every = if sequence == Sequence::Single { 1 } else { 16 };
                    let run = run_among(&call, 200, call.has_root().then_some(every), measured(a_s, b), &truth);
                    let relative = run.total_s / 200.0 / chosen.seconds;
                    let guess = Prices::new(CostModel::lan()).choose_in(sequence, &call).best().seconds;
                    let is_short = chosen.seconds < SHORT_CALL_S || (call.has_root() && guess < SHORT_CALL_S);
                    // Short calls follow prices, with a margin, or the first guess if they have a root.
                    let most = if is_short { 1.35 } else { 1.1 };
                    assert!(
                        relative < most,
                        "{collective} of {bytes} over {a_s}, {b}, {sequence:?}: {relative:.3} of the best; {:?}",
                        run.changes
                    );
                }
            }
        }
    }
}

/// On this network predictions are wrong: what was observed decides.
#[test]
fn a_wrong_prediction_is_found_out_by_trials() {
    let line = measured(60e-6, 8e-9);
    let mut prices = Prices::new(CostModel::lan().with_link(60e-6, 8e-9));
    let calls = [4, 5, 8].into_iter().flat_map(|ranks| {
        let sizes = [4096, 32_768, 131_072];
        sizes.map(|count| Call::new(Collective::Allreduce, ranks, count, 8))
    });
    let (call, chosen, right) = calls
        .filter_map(|call| {
            let choice = prices.choose(&call);
            let chosen = choice.best();
            let is_near = |other: &&Candidate| other.seconds < 1.3 * chosen.seconds && **other != chosen;
            let near = choice.candidates.iter().find(is_near)?.algorithm.name();
            Some((call, chosen, near))
        })
        .next()
        .expect("two that are nearly as good as each other");
    let truth = |_: &Call, algorithm: Algorithm| match algorithm.name() {
        name if name == right => (0.6 * chosen.seconds, 0),
        name if name == chosen.algorithm.name() => (chosen.seconds, 0),
        _ => (1.5 * chosen.seconds, 0),
    };
    let found = run(&call, 4000, line, &truth);
    assert_eq!(found.last().name(), right, "{:?}", found.changes);
    let relative = found.total_s / best(&call, 4000, &truth);
    assert!(relative < 1.1, "{relative} of the best: {:?}", found.changes);
    let to = found.changes.iter().find(|change| change.to.starts_with(right)).expect("a change");
    assert!(to.observed_s.is_some_and(|seconds| (seconds / (0.6 * chosen.seconds) - 1.0).abs() < 0.01), "{to}");
}

/// Calls come in blocks of one kind, as in phases of a program. A trial that begins at the end of one ends soon in the next.
#[test]
fn a_trial_lasts_some_calls_of_its_own_however_many_others_are_between() {
    let (a_s, b) = (60e-6, 8e-9);
    let call = Call::new(Collective::Allreduce, 8, 32_768, 8);
    let barrier = Call::new(Collective::Barrier, 8, 0, 1);
    let best = Prices::new(CostModel::lan().with_link(a_s, b)).choose(&call).best();
    // Not so much worse that a trial is given up at once.
    let truth = |_: &Call, algorithm: Algorithm| match Way::of(&algorithm) == Way::of(&best.algorithm) {
        true => (best.seconds, 0),
        false => (1.2 * best.seconds, 0),
    };
    let mut trials = 0;
    for length in (20..300).step_by(7) {
        let block = |_| std::iter::repeat_n(&call, length).chain(std::iter::repeat_n(&barrier, 1000));
        let run = run_all((0..20).flat_map(block), 8, measured(a_s, b), &truth);
        let in_rows = run.algorithms.chunk_by(|one, other| Way::of(one) == Way::of(other));
        for calls in in_rows.filter(|same| Way::of(&same[0]) != Way::of(&best.algorithm)).map(<[_]>::len) {
            assert!(calls < 30, "blocks of {length}: {calls} calls by one that is worse, {:?}", run.changes);
            trials += 1;
        }
    }
    assert!(trials > 20, "{trials}");
}

/// A gather overflows the queue in front of the root: packets are lost, and it takes much longer than predicted.
#[test]
fn a_queue_that_overflows_is_learnt() {
    let call = Call::new(Collective::Gather, 9, 65_536, 1);
    let line = measured(100e-6, 80e-9);
    let queue_bytes = 150_000;
    let truth = |call: &Call, algorithm: Algorithm| {
        let bytes = call.blocks.longest();
        let in_flight = match algorithm {
            Algorithm::Simple => 8 * bytes,
            Algorithm::Windowed { window } => u64::from(window) * bytes,
            Algorithm::Granted { window, segment } => u64::from(window) * segment.min(bytes).max(1),
            _ => 4 * bytes,
        };
        let least_s = 8.0 * bytes as f64 * 80e-9;
        if in_flight > queue_bytes { (0.885, 20) } else { (1.1 * least_s, 0) }
    };
    let found = run(&call, 100, line, &truth);
    assert_eq!(truth(&call, found.last()).1, 0, "{} overflows: {:?}", found.last(), found.changes);
    let queue = found.model.queue.expect("a queue was learnt");
    assert!(queue.bytes <= 8.0 * 65_536.0 && queue.timeout > 0.1, "{queue:?}");
    assert!(found.total_s < 12.0 * 0.885 + 88.0 * 0.05, "{} s; {:?}", found.total_s, found.changes);
}

/// What the program asks for is not changed.
#[test]
fn an_override_stays() {
    let call = Call::new(Collective::Allreduce, 4, 1024, 8);
    let overrides = Overrides::parse("allreduce:chain").expect("a chain");
    let mut planner = Planner::new(Rank(0), CostModel::lan(), overrides, true);
    for _ in 0..100 {
        let Planned::Now { plan, exchanges } = planner.next(&call) else { panic!("exchanges end at once") };
        assert_eq!(plan.algorithm.name(), "chain");
        plan.timed.took(Duration::from_secs(1));
        if exchanges {
            let (_, own, result) = planner.exchange(measured(1e-3, 1e-9), None, Line::default(), 0).expect("on");
            result.set(own.repeat(4)).expect("once");
        }
    }
}

/// What is kept of the first call by a plan is not taken for others by it: ranks that differ in the operator or the type would not see it.
#[test]
fn calls_by_one_plan_have_signatures_of_their_own() {
    let call = Call::new(Collective::Allreduce, 4, 100, 8);
    let mut planner = Planner::new(Rank(0), CostModel::lan(), Overrides::none(), false);
    let mut plan = || match planner.next(&call) {
        Planned::Now { plan, .. } => plan,
        Planned::Later => panic!("nothing is exchanged"),
    };
    for (element, operator) in
        [(f64::TYPE, "sum"), (f64::TYPE, "max"), (u64::TYPE, "sum"), (f64::TYPE, ""), (f64::TYPE, "sum")]
    {
        let plan = plan();
        assert_eq!(
            plan.signature(&call, element, operator),
            Signature::new(&call, plan.algorithm, element, operator),
            "{element} by {operator}"
        );
    }
}
