//! What holds for all arguments, and closed forms against the paper's recursions.

use proptest::prelude::*;

use super::*;
use crate::golden_tests::{any_number, is_number, size};
use crate::logp::{self, LogP};
use crate::relative_deviation;

fn block() -> impl Strategy<Value = Block> {
    (size(), size()).prop_map(|(a, b)| Block::new(a, b).unwrap())
}

fn any_block() -> impl Strategy<Value = Block> {
    (any_number(), any_number()).prop_map(|(a, b)| Block::new(a.abs(), b.abs()).unwrap_or(Block::FREE))
}

fn machine() -> impl Strategy<Value = Network> {
    (block(), block(), prop_oneof![Just(0.0), size()]).prop_map(|(w, c, delay_s)| Network::new(w, c, delay_s).unwrap())
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

fn close(one: Block, other: Block) -> bool {
    near(one.a_s(), other.a_s()) && near(one.b_s_per_byte(), other.b_s_per_byte())
}

fn is_block(result: &Result<Block, BadParameter>) -> bool {
    match result {
        Ok(block) => [block.a_s(), block.b_s_per_byte()].iter().all(|value| value.is_finite() && *value >= 0.0),
        Err(error) => !error.name.is_empty(),
    }
}

/// The round of each process of the tree, by the paper's recursion.
fn rounds_by_recursion(processes: usize) -> Vec<usize> {
    let mut round = vec![0; processes];
    for child in 1..processes {
        round[child] = round[(child - 1) / 2] + if child % 2 == 1 { 1 } else { 2 };
    }
    round
}

/// Section 3.2 as told: every process takes what has arrived first, then sends.
fn collected_by_recursion(process: usize, processes: usize, w: f64, way: f64) -> f64 {
    let children = [2 * process + 1, 2 * process + 2].into_iter().filter(|&child| child < processes);
    let mut arrivals: Vec<f64> =
        children.map(|child| collected_by_recursion(child, processes, w, way) + w + way).collect();
    arrivals.sort_by(f64::total_cmp);
    arrivals.into_iter().fold(0.0, |time, arrival| f64::max(time, arrival) + w)
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn no_argument_gives_a_wrong_number(
        a in any_number(), b in any_number(), c in any_number(), x in any_number(), n: u64, place in 0usize..4,
        blocks in prop::collection::vec(any_block(), 0..4), sizes in prop::collection::vec(any_number(), 0..4),
    ) {
        prop_assert!(is_block(&Block::new(a, b)) && is_block(&Block::delay(a)));
        prop_assert!(is_number(&relative_deviation(a, b)));
        for block in &blocks {
            prop_assert!(is_number(&block.time_s(x)) && is_number(&block.line_s(x)));
            prop_assert!(is_number(&logp::ratio(*block, n)));
            prop_assert!(is_block(&concurrent(*block, &sizes, place)));
        }
        for dependence in [Dependence::Dependent, Dependence::Independent] {
            prop_assert!(is_block(&serial(&blocks, dependence)) && is_block(&parallel(&blocks, dependence)));
        }
        if let &[one, two, three] = &blocks[..] {
            prop_assert!(is_block(&workstation(one, two, three)) && is_block(&Ok(general(one, two))));
        }
        if let Ok(path) = Path::new(&blocks) && let Ok(path) = path.behind(a) {
            prop_assert!(is_block(&path.total()));
            for primitive in [Primitive::Preemptive, Primitive::NonPreemptive] {
                let Receiving { least, most } = path.receiving(primitive);
                prop_assert!(is_block(&path.sending(primitive)) && is_block(&Ok(least)) && is_block(&Ok(most)));
            }
        }
        if let Ok(packets) = Packets::new(a, b, c) {
            prop_assert!(is_number(&packets.time_s(x)) && is_number(&packets.empty_part(x)) && is_block(&packets.block()));
            if let Ok(wormhole) = Wormhole::new(x, packets) {
                prop_assert!(is_block(&wormhole.block()) && wormhole.message_s().is_finite());
            }
        }
        prop_assert!(is_number(&logp::sending_ratio(n)));
        if let Ok(machine) = LogP::new(a, b, c) {
            prop_assert!(is_block(&machine.block()));
            for value in [
                machine.time_s(n), machine.time_hyperbolic_s(n), machine.ratio(n), machine.sending_s(n),
                machine.sending_hyperbolic_s(n),
            ] {
                prop_assert!(is_number(&value), "{value:?}");
            }
        }
    }

    #[test]
    fn no_machine_gives_a_wrong_number(
        workstation in any_block(), network in any_block(), delay_s in any_number(), p: u32, k: u32, x in any_number(),
        one in any_block(), many in any_block(),
    ) {
        if let Ok(machine) = Network::new(workstation, network, delay_s) {
            for block in [
                machine.point_to_point(), machine.pairs(p), machine.broadcast_tree(p), machine.broadcast_serial(p),
                machine.neighbours(p, k), machine.neighbours(p, k % 7), machine.neighbours_by_rule_3(p, k % 7),
                machine.path().and_then(|path| path.total()),
            ] {
                prop_assert!(is_block(&block), "{block:?}");
            }
            prop_assert!(is_number(&machine.collection_s(p)) && is_number(&machine.global_operation_s(p)));
            if let Ok(cheaper) = machine.cheaper_broadcast(p, x) {
                prop_assert!(["equal", "serial", "tree"].contains(&cheaper.name()));
            }
            prop_assert!(machine.network_bound_from() != Some(0));
        }
        if let Ok(found) = Estimate::of_pairs(one, p, many) {
            prop_assert!(is_block(&Ok(found.network)));
            prop_assert!(found.workstation_a_s.is_finite() && found.slower_s_per_byte.is_finite());
        }
    }

    /// Section 2: T(0) = a, T grows, and lies between 3/4 and 1 of a + b x.
    #[test]
    fn the_hyperbola_is_near_its_line(block in block(), x in size(), more in 1.0..100.0) {
        prop_assert_eq!(block.time_s(0.0).unwrap(), block.a_s());
        let (time_s, line_s) = (block.time_s(x).unwrap(), block.line_s(x).unwrap());
        prop_assert!(time_s >= 0.75 * line_s * (1.0 - 1e-12) && time_s <= line_s * (1.0 + 1e-12));
        prop_assert!(block.time_s(x * more).unwrap() >= time_s * (1.0 - 1e-12));
        let lowest = block.a_s() / block.b_s_per_byte();
        prop_assert!(near(block.time_s(lowest).unwrap(), 0.75 * block.line_s(lowest).unwrap()));
    }

    /// Eq. (2), and that the last packet is never fuller than full.
    #[test]
    fn packets_follow_their_block(a in size(), m in size(), p in 1.0..10_000.0, x in 0.0..1e6) {
        let packets = Packets::new(a, m, p).unwrap();
        let empty = packets.empty_part(x).unwrap();
        prop_assert!((0.0..1.0).contains(&empty));
        prop_assert!(near(packets.time_s(x).unwrap(), a * empty + packets.block().unwrap().b_s_per_byte() * x));
    }

    #[test]
    fn rules_do_not_mind_order_or_nesting(
        blocks in prop::collection::vec(block(), 2..6), cut in 1usize..5, dependent: bool,
    ) {
        let dependence = if dependent { Dependence::Dependent } else { Dependence::Independent };
        for rule in [serial, parallel] {
            let whole = rule(&blocks, dependence).unwrap();
            let backwards: Vec<Block> = blocks.iter().rev().copied().collect();
            prop_assert!(close(rule(&backwards, dependence).unwrap(), whole));
            let (front, back) = blocks.split_at(cut.min(blocks.len() - 1));
            let nested = [rule(front, dependence).unwrap(), rule(back, dependence).unwrap()];
            prop_assert!(close(rule(&nested, dependence).unwrap(), whole));
        }
    }

    #[test]
    fn equal_messages_scale_a_block(block in block(), x in size(), n in 1usize..20) {
        let expected = Block::new(block.a_s() * n as f64, block.b_s_per_byte() * n as f64).unwrap();
        prop_assert!(close(concurrent(block, &vec![x; n], n - 1).unwrap(), expected));
    }

    /// Section 2.5: a preemptive primitive takes no longer than another, and neither longer than the whole.
    #[test]
    fn sending_and_receiving_are_within_the_total(
        blocks in prop::collection::vec(block(), 1..6), x in size(), step_s in 0.0..10.0,
    ) {
        let path = Path::new(&blocks).unwrap().behind(step_s).unwrap();
        let time_s = |block: Block| block.time_s(x).unwrap() * (1.0 + 1e-12);
        let total_s = time_s(path.total().unwrap());
        let [preemptive, not] = [Primitive::Preemptive, Primitive::NonPreemptive];
        let sending_s = |primitive| path.sending(primitive).unwrap().time_s(x).unwrap();
        prop_assert!(sending_s(preemptive) <= time_s(path.sending(not).unwrap()) && sending_s(not) <= total_s);
        let Receiving { least, most } = path.receiving(not);
        prop_assert!(least.time_s(x).unwrap() <= time_s(most) && most.time_s(x).unwrap() <= total_s);
        prop_assert_eq!(path.receiving(preemptive), Receiving { least, most: least });
    }

    /// Section 3.1, the recursions of the tree against the closed forms.
    #[test]
    fn the_tree_is_its_recursion(machine in machine(), w in block(), c in block(), delay_s in 0.0..10.0, p in 1usize..300) {
        let tree = Network::new(w, c, delay_s).unwrap().broadcast_tree(p as u32).unwrap();
        let mut reached_s = vec![0.0; p];
        for child in 1..p {
            let sends = if child % 2 == 1 { 1.0 } else { 2.0 };
            reached_s[child] = reached_s[(child - 1) / 2] + (sends + 1.0) * w.a_s() + c.a_s() + delay_s;
        }
        prop_assert!(near(tree.a_s(), reached_s.into_iter().fold(0.0, f64::max)));
        let rounds = rounds_by_recursion(p);
        let at_once = (1..=rounds.iter().copied().max().unwrap_or(0)).map(|k| rounds.iter().filter(|&&r| r == k).count());
        let b: f64 = at_once.map(|n| f64::max(n as f64 * c.b_s_per_byte(), w.b_s_per_byte())).sum();
        prop_assert!(near(tree.b_s_per_byte(), b));
        let time_s = |block: Result<Block, BadParameter>| block.unwrap().time_s(1e3).unwrap();
        let (tree_s, serial_s) = (time_s(machine.broadcast_tree(p as u32)), time_s(machine.broadcast_serial(p as u32)));
        match machine.cheaper_broadcast(p as u32, 1e3).unwrap() {
            Broadcast::Equal => prop_assert!(near(tree_s, serial_s)),
            Broadcast::Serial => prop_assert!(serial_s < tree_s),
            Broadcast::Tree => prop_assert!(tree_s < serial_s),
        }
        // At a size at which it changes, the one before is the cheaper one just below, and another from there on.
        let name = |bytes: f64| machine.cheaper_broadcast(p as u32, bytes).unwrap();
        if name(1.0) != name(1e6) {
            let at = machine.broadcast_changes_at(p as u32, 1.0, 1e6).unwrap();
            prop_assert!((1.0..=1e6).contains(&at) && name(at) != name(1.0), "{at}");
        }
    }

    /// Section 3.1: where the network is slower than the workstation, no broadcast has a smaller b than the serial one.
    #[test]
    fn the_serial_broadcast_is_best_on_a_slow_network(w in block(), factor in 1.0..100.0, p in 1u32..1000) {
        let c = Block::new(w.a_s(), w.b_s_per_byte() * factor).unwrap();
        let machine = Network::new(w, c, 0.0).unwrap();
        let (tree, serial) = (machine.broadcast_tree(p).unwrap(), machine.broadcast_serial(p).unwrap());
        prop_assert!(serial.b_s_per_byte() <= tree.b_s_per_byte() * (1.0 + 1e-12));
    }

    #[test]
    fn the_global_operation_is_its_recursion(w in block(), c in block(), delay_s in 0.0..10.0, p in 1usize..300) {
        let machine = Network::new(w, c, delay_s).unwrap();
        let collected_s = collected_by_recursion(0, p, w.a_s(), c.a_s() + delay_s);
        prop_assert!(near(machine.collection_s(p as u32).unwrap(), collected_s));
        let rest_s = if p == 1 { 0.0 } else { p as f64 * w.a_s() + c.a_s() + delay_s };
        prop_assert!(near(machine.global_operation_s(p as u32).unwrap(), collected_s + rest_s));
    }

    /// Eqs. (16) and (17): what pairs do tells what they are made of.
    #[test]
    fn parameters_come_back(w in block(), c in block(), n in 2u32..1000) {
        let machine = Network::new(w, c, 0.0).unwrap();
        let (one, many) = (machine.pairs(1).unwrap(), machine.pairs(n).unwrap());
        let bound = f64::from(n) * c.b_s_per_byte();
        prop_assume!((bound / w.b_s_per_byte() - 1.0).abs() > 1e-6);
        let found = Estimate::of_pairs(one, n, many);
        if bound < w.b_s_per_byte() {
            prop_assert_eq!(found.unwrap_err().name, "b'(n)");
        } else if let Ok(found) = found {
            // Sums lose digits where one parameter is a millionth of the other.
            let whole_s = many.a_s();
            prop_assert!((found.network.a_s() - c.a_s()).abs() < 1e-12 * whole_s);
            prop_assert!((found.workstation_a_s - w.a_s()).abs() < 1e-12 * whole_s);
            prop_assert!(near(found.network.b_s_per_byte(), c.b_s_per_byte()));
            prop_assert!(near(found.slower_s_per_byte, w.b_s_per_byte().max(c.b_s_per_byte())));
            let visible = found.workstation_b_s_per_byte();
            prop_assert_eq!(visible.is_some(), w.b_s_per_byte() > c.b_s_per_byte());
        } else {
            // Only where rounding makes a parameter of nearly nothing negative.
            prop_assert!(w.a_s() < 1e-9 * many.a_s() || c.a_s() < 1e-9 * many.a_s(), "{found:?}");
        }
    }

    #[test]
    fn the_network_is_the_bottleneck_from_then_on(w in block(), c in block()) {
        let from = Network::new(w, c, 0.0).unwrap().network_bound_from();
        let least = w.b_s_per_byte() / c.b_s_per_byte();
        prop_assume!((least - least.round()).abs() > 1e-9 * least);
        match from {
            Some(n) => prop_assert!(f64::from(n) > least && f64::from(n) - 1.0 <= least),
            None => prop_assert!(least > f64::from(u32::MAX) - 1.0),
        }
    }

    /// Section 6, eqs. (18) and (19): within a quarter of LogP.
    #[test]
    fn logp_bounds_hold(latency_s in size(), overhead_s in size(), gap_s in size(), n in 1u64..100_000) {
        let machine = LogP::new(latency_s, overhead_s, gap_s).unwrap();
        let (logp_s, hyperbolic_s) = (machine.time_s(n).unwrap(), machine.time_hyperbolic_s(n).unwrap());
        let ratio = machine.ratio(n).unwrap();
        prop_assert!(near(ratio, hyperbolic_s / logp_s));
        prop_assert!((logp::RATIO_LEAST..=1.0).contains(&ratio));
        prop_assert!(near(logp_s, (n - 1) as f64 * gap_s.max(overhead_s) + 2.0 * overhead_s + latency_s));
        let sending = logp::sending_ratio(n).unwrap();
        let sending_s = machine.sending_hyperbolic_s(n).unwrap();
        prop_assert!(near(sending, sending_s / machine.sending_s(n).unwrap()));
        prop_assert!((logp::RATIO_LEAST..=1.0).contains(&sending));
        // What the paper derives it from: a preemptive send on the graph of Fig. 9.
        let on_graph = machine.network().unwrap().path().unwrap().sending(Primitive::Preemptive).unwrap();
        prop_assert!(near(on_graph.time_s((n - 1) as f64).unwrap(), sending_s));
    }
}

/// Section 3.1: `h (3 a_W + a_C + a_L)` for a complete tree of height h.
#[test]
fn a_complete_tree_takes_as_long_as_it_is_high() {
    let machine = Network::new(Block::new(5.0, 0.0).unwrap(), Block::new(2.0, 0.0).unwrap(), 0.5).unwrap();
    for height in 0..=31 {
        let tree = machine.broadcast_tree(u32::MAX >> (31 - height)).unwrap();
        let expected = f64::from(height) * (3.0 * 5.0 + 2.0 + 0.5);
        assert_eq!(tree.a_s(), expected, "height {height}");
    }
}

#[test]
fn rounds_reach_every_process_once() {
    for processes in 1..=600 {
        let rounds = rounds_by_recursion(processes);
        let counted = broadcast_tree_rounds(processes as u32).unwrap();
        let listed =
            (1..=rounds.iter().copied().max().unwrap_or(0)).map(|k| rounds.iter().filter(|&&r| r == k).count() as u64);
        assert_eq!(counted, listed.collect::<Vec<_>>(), "{processes} processes");
    }
    let all: u64 = broadcast_tree_rounds(u32::MAX).unwrap().iter().sum();
    assert_eq!(all, u64::from(u32::MAX) - 1);
}

/// Without neighbours, or alone, there is nothing to do; rule 3 for the workstation matters on a fast network only.
#[test]
fn exchanges_at_their_ends() {
    let machine = Network::SPARCSTATION;
    for idle in
        [machine.neighbours(1, 0), machine.neighbours(16, 0), machine.broadcast_serial(1), machine.broadcast_tree(1)]
    {
        assert_eq!(idle.unwrap(), Block::FREE);
    }
    assert_eq!(machine.neighbours(16, 4).unwrap(), machine.neighbours_by_rule_3(16, 4).unwrap());
    let fast = Network::new(Block::new(1.0, 1.0).unwrap(), Block::new(1.0, 0.01).unwrap(), 0.0).unwrap();
    assert_eq!(fast.neighbours(8, 2).unwrap().b_s_per_byte(), 1.0);
    assert_eq!(fast.neighbours_by_rule_3(8, 2).unwrap().b_s_per_byte(), 2.0);
    assert_eq!(fast.network_bound_from(), Some(101));
    let free = Network::new(Block::new(1.0, 1.0).unwrap(), Block::FREE, 0.0).unwrap();
    assert_eq!(free.network_bound_from(), None);
}

#[test]
fn bad_arguments_are_named() {
    let one = Block::new(1.0, 1.0).unwrap();
    let name = |error: BadParameter| error.name;
    for bad in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Block::new(bad, 1.0).map_err(name), Err("a"));
        assert_eq!(Block::new(1.0, bad).map_err(name), Err("b"));
        assert_eq!(one.time_s(bad).map_err(name), Err("x"));
        assert_eq!(one.line_s(bad).map_err(name), Err("x"));
        assert_eq!(Packets::new(1.0, bad, 1.0).map_err(name), Err("m"));
        assert_eq!(concurrent(one, &[1.0, bad], 0).map_err(name), Err("x_j"));
        assert_eq!(Network::new(one, one, bad).map_err(name), Err("a_L"));
        assert_eq!(Path::new(&[one]).unwrap().behind(bad).map_err(name), Err("a_0"));
        assert_eq!(LogP::new(bad, 1.0, 1.0).map_err(name), Err("L"));
        assert_eq!(LogP::new(1.0, bad, 1.0).map_err(name), Err("o"));
        assert_eq!(LogP::new(1.0, 1.0, bad).map_err(name), Err("g"));
    }
    assert_eq!(Packets::new(1.0, 1.0, 0.0).map_err(name), Err("p"));
    assert_eq!(concurrent(one, &[0.0], 0).map_err(name), Err("x_i"));
    assert_eq!(concurrent(one, &[1.0], 1).map_err(name), Err("i"));
    assert_eq!(serial(&[], Dependence::Dependent).map_err(name), Err("number of blocks"));
    assert_eq!(Path::new(&[]).unwrap_err().to_string(), "number of blocks is 0, but must be at least 1");
    let machine = Network::SPARCSTATION;
    assert_eq!(machine.pairs(0).map_err(name), Err("n"));
    assert_eq!(machine.broadcast_tree(0).map_err(name), Err("p"));
    assert_eq!(machine.broadcast_serial(0).map_err(name), Err("p"));
    assert_eq!(machine.global_operation_s(0).map_err(name), Err("p"));
    assert_eq!(machine.neighbours(0, 0).map_err(name), Err("N"));
    let text = machine.neighbours(4, 4).unwrap_err().to_string();
    assert_eq!(text, "K is 4, but must be below N, the number of processes");
    assert_eq!(logp::sending_ratio(0).map_err(name), Err("n"));
    assert_eq!(relative_deviation(0.0, 1.0).map_err(name), Err("reference"));
    assert_eq!(relative_deviation(1.0, f64::NAN).map_err(name), Err("value"));
}

#[test]
fn impossible_measurements_are_named() {
    let one = Block::new(10.0, 2.0).unwrap();
    let error = |pairs, a, b| Estimate::of_pairs(one, pairs, Block::new(a, b).unwrap()).unwrap_err();
    assert_eq!(error(1, 10.0, 2.0).name, "n");
    assert!(error(4, 20.0, 0.0).to_string().contains("drowned in noise"));
    assert!(error(4, 20.0, 2.0).to_string().contains("take more pairs"));
    assert!(error(4, 20.0, 9.0).to_string().contains("longer than one after another"));
    assert_eq!(error(4, 9.0, 4.0).name, "a_c = (a'(n) - a'(1)) / (n - 1)");
    assert_eq!(error(4, 50.0, 4.0).name, "a = (a'(1) - a_c) / 2");
}
