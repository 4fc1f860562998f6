//! Every value of `tests/golden/hyperbolic.toml`.

use super::*;
use crate::golden_tests::{Inputs, check, manual_lists_errata, number, parse};
use crate::logp::{self, LogP};
use crate::relative_deviation;

const GOLDEN: &str = include_str!("../../../tests/golden/hyperbolic.toml");

type Values = Result<Vec<f64>, BadParameter>;

fn block((a, b): (f64, f64)) -> Block {
    Block::new(a, b).expect("a block")
}

fn blocks(inputs: &Inputs<'_>, name: &str) -> Vec<Block> {
    inputs.pairs(name).into_iter().map(block).collect()
}

fn one_block(inputs: &Inputs<'_>, name: &str) -> Block {
    match inputs.numbers(name)[..] {
        [a, b] => block((a, b)),
        ref other => panic!("{name} is {other:?}, no block"),
    }
}

fn pair(block: Block) -> Vec<f64> {
    vec![block.a_s(), block.b_s_per_byte()]
}

/// The network of an entry; what it does not name is 0.
fn network(inputs: &Inputs<'_>) -> Network {
    let get = |name| inputs.optional(name).unwrap_or(0.0);
    Network::new(block((get("aW"), get("bW"))), block((get("aC"), get("bC"))), get("aL")).expect("a network")
}

fn dependence(inputs: &Inputs<'_>) -> Dependence {
    if inputs.truth("dependent") { Dependence::Dependent } else { Dependence::Independent }
}

fn primitive(inputs: &Inputs<'_>) -> Primitive {
    if inputs.truth("preemptive") { Primitive::Preemptive } else { Primitive::NonPreemptive }
}

/// Fig. 7 as a graph, reduced for the message from 1 to 4.
fn figure_7(inputs: &Inputs<'_>) -> Block {
    let mut graph = Graph::new();
    let [one, net, four] = ["cb1", "cbc", "cb4"].map(|name| graph.block(name, one_block(inputs, name)));
    let [two, three, five] = ["cb2", "cb3", "cb5"].map(|name| graph.block(name, one_block(inputs, "cb1")));
    let sizes = inputs.numbers("sizes");
    let sent = [("1", "4", [one, net, four]), ("2", "5", [two, net, five]), ("3", "4", [three, net, four])];
    let messages: Vec<MessageId> = sent
        .into_iter()
        .zip(sizes)
        .map(|((source, destination, way), bytes)| {
            let message = graph.message(source, destination, bytes).unwrap();
            graph.way(message, &way).unwrap();
            message
        })
        .collect();
    graph.reduce(messages[0]).unwrap()
}

fn evaluate(formula: &str, inputs: &Inputs<'_>) -> Vec<f64> {
    let values = match formula.split_once('.') {
        Some(("hyp", name)) if name.contains("logp") || name == "send_ratio" => of_logp(name, inputs),
        Some(("hyp", name)) => of_blocks(name, inputs),
        // The paper's own arithmetic; no model of ours is behind it.
        Some(("id", "product")) => Ok(vec![inputs.numbers("factors").iter().product()]),
        Some(("id", "rel_dev")) => {
            relative_deviation(inputs.number("reference"), inputs.number("other")).map(|value| vec![value])
        }
        _ => panic!("no function of ours for {formula}"),
    };
    values.unwrap_or_else(|error| panic!("{formula}: {error}"))
}

/// Section 2 of the paper, and those behind it.
fn of_blocks(name: &str, inputs: &Inputs<'_>) -> Values {
    let get = |name| inputs.number(name);
    Ok(match name {
        "T" => vec![Block::new(get("a"), get("b"))?.time_s(get("x"))?],
        "packet_time" => vec![Packets::new(get("a"), get("m"), get("p"))?.time_s(get("x"))?],
        "b_of_packet" => vec![Packets::new(get("a"), get("m"), get("p"))?.block()?.b_s_per_byte()],
        "wormhole" => pair(Wormhole::new(get("a1"), Packets::new(get("a2"), get("m"), get("p"))?)?.block()?),
        "serial" => pair(serial(&blocks(inputs, "blocks"), dependence(inputs))?),
        "parallel" => pair(parallel(&blocks(inputs, "blocks"), dependence(inputs))?),
        "concurrent" => {
            let whole = Block::new(get("a"), get("b"))?;
            pair(concurrent(whole, &inputs.numbers("sizes"), inputs.count("i") as usize)?)
        }
        "workstation" => {
            let [application, system, adapter] = ["app", "os", "net"].map(|name| one_block(inputs, name));
            pair(workstation(application, system, adapter)?)
        }
        "fig7" => pair(figure_7(inputs)),
        "send_params" => pair(Path::new(&blocks(inputs, "path"))?.sending(primitive(inputs))?),
        "recv_params" => {
            let Receiving { least, most } = Path::new(&blocks(inputs, "path"))?.receiving(primitive(inputs));
            assert_eq!(least.a_s(), most.a_s());
            vec![least.a_s(), least.b_s_per_byte(), most.b_s_per_byte()]
        }
        _ => return of_patterns(name, inputs),
    })
}

/// Sections 3 to 5 of the paper.
fn of_patterns(name: &str, inputs: &Inputs<'_>) -> Values {
    let get = |name| inputs.number(name);
    let machine = network(inputs);
    Ok(match name {
        "point_to_point" => pair(machine.point_to_point()?),
        "bcast_tree_a" => vec![machine.broadcast_tree(inputs.count("p"))?.a_s()],
        "bcast_tree_b" => vec![machine.broadcast_tree(inputs.count("p"))?.b_s_per_byte()],
        "bcast_tree_rounds" => broadcast_tree_rounds(inputs.count("p"))?.into_iter().map(|n| n as f64).collect(),
        "bcast_serial" => pair(machine.broadcast_serial(inputs.count("N") + 1)?),
        "global_gather_a" => vec![machine.collection_s(inputs.count("p"))?],
        "global_op" => vec![machine.global_operation_s(inputs.count("p"))?],
        "neighbor" => pair(machine.neighbours(inputs.count("N"), inputs.count("K"))?),
        "neighbor_rule3" => pair(machine.neighbours_by_rule_3(inputs.count("N"), inputs.count("K"))?),
        "pairs" => {
            let machine = Network::new(block((get("a"), get("b"))), block((get("ac"), get("bc"))), 0.0)?;
            pair(machine.pairs(inputs.count("n"))?)
        }
        "estimate" => {
            let (one, many) = (block((get("a1"), get("b1"))), block((get("an"), get("bn"))));
            let found = Estimate::of_pairs(one, inputs.count("n"), many)?;
            let network = pair(found.network);
            vec![network[0], network[1], found.workstation_a_s, found.slower_s_per_byte]
        }
        "network_bound_from" => {
            let machine = Network::new(block((0.0, get("b"))), block((0.0, get("bc"))), 0.0)?;
            vec![f64::from(machine.network_bound_from().expect("a number of senders"))]
        }
        other => panic!("no function of ours for hyp.{other}"),
    })
}

/// Section 6 of the paper.
fn of_logp(name: &str, inputs: &Inputs<'_>) -> Values {
    let get = |name| inputs.number(name);
    let n = || u64::from(inputs.count("n"));
    let machine = || LogP::new(get("L"), get("o"), get("g"));
    Ok(match name {
        "logp_params" => pair(machine()?.block()?),
        "logp_time" => vec![machine()?.time_s(n())?],
        "hyp_time_of_logp" => vec![machine()?.time_hyperbolic_s(n())?],
        "logp_ratio" => vec![logp::ratio(Block::new(get("a"), get("b"))?, n())?],
        "send_ratio" => vec![logp::sending_ratio(n())?],
        other => panic!("no function of ours for hyp.{other}"),
    })
}

#[test]
fn golden_values() {
    check(GOLDEN, 104, 1, evaluate);
}

#[test]
fn the_manual_lists_the_misprints() {
    manual_lists_errata(include_str!("../../manual/models/hyperbolic.rs"), GOLDEN, 6);
}

#[test]
fn the_sparcstations_are_the_papers() {
    let printed = |name: &str| number(&parse(GOLDEN)["sparcstation"][name]).expect("a number") * 1e-6;
    let workstation = block((printed("a_W"), printed("b_W")));
    let machine = Network::new(workstation, block((printed("a_C"), printed("b_C"))), printed("a_L")).unwrap();
    for processes in [2, 11, 16] {
        let (ours, theirs) = (Network::SPARCSTATION.broadcast_tree(processes), machine.broadcast_tree(processes));
        let (ours, theirs) = (pair(ours.unwrap()), pair(theirs.unwrap()));
        assert!(ours.iter().zip(theirs).all(|(ours, theirs)| (ours / theirs - 1.0).abs() < 1e-12));
    }
}
