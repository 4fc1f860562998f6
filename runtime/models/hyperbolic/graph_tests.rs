//! Graphs reduce to what the formulas say, or say why not.

use proptest::prelude::*;

use super::*;

/// Blocks in series and in parallel, within each other.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(Block),
    Parallel(Vec<Tree>),
    Series(Vec<Tree>),
}

fn block() -> impl Strategy<Value = Block> {
    (0.0..10.0, prop_oneof![9 => 0.01..10.0, 1 => Just(0.0)]).prop_map(|(a, b)| Block::new(a, b).unwrap())
}

fn tree() -> impl Strategy<Value = Tree> {
    block().prop_map(Tree::Leaf).prop_recursive(3, 12, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..=3);
        prop_oneof![some().prop_map(Tree::Parallel), some().prop_map(Tree::Series)]
    })
}

impl Tree {
    /// By the rules alone.
    fn by_formula(&self, dependence: Dependence) -> Block {
        let all = |trees: &[Self]| trees.iter().map(|tree| tree.by_formula(dependence)).collect::<Vec<_>>();
        match self {
            Self::Leaf(block) => *block,
            Self::Parallel(trees) => parallel(&all(trees), dependence).unwrap(),
            Self::Series(trees) => serial(&all(trees), dependence).unwrap(),
        }
    }

    /// Every way through, with its blocks put into the graph.
    fn ways(&self, add: &mut impl FnMut(Block) -> BlockId) -> Vec<Vec<BlockId>> {
        match self {
            Self::Leaf(block) => vec![vec![add(*block)]],
            Self::Parallel(trees) => trees.iter().flat_map(|tree| tree.ways(add)).collect(),
            Self::Series(trees) => trees.iter().fold(vec![Vec::new()], |fronts, tree| {
                let backs = tree.ways(add);
                fronts.iter().flat_map(|front| backs.iter().map(|back| [&front[..], back].concat())).collect()
            }),
        }
    }
}

fn reduced(tree: &Tree, dependence: Dependence) -> Block {
    let mut graph = Graph::new();
    let shared = graph.processor();
    let message = graph.message("s", "d", 1.0).unwrap();
    let ways = tree.ways(&mut |block| match dependence {
        Dependence::Dependent => graph.block_on(shared, "dependent", block).unwrap(),
        Dependence::Independent => graph.block("independent", block),
    });
    for way in ways {
        graph.way(message, &way).unwrap();
    }
    graph.reduce(message).unwrap()
}

fn close(one: Block, other: Block) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(other.abs());
    near(one.a_s(), other.a_s()) && near(one.b_s_per_byte(), other.b_s_per_byte())
}

/// Workstations that each have a block for sending and one for receiving, joined by one network.
struct Office {
    graph: Graph,
    network: BlockId,
    ends: Vec<(BlockId, BlockId)>,
}

impl Office {
    fn new(machine: (Block, Block), processes: u32) -> Self {
        let mut graph = Graph::new();
        let network = graph.block("network", machine.1);
        let end = |_| (graph.block("sender", machine.0), graph.block("receiver", machine.0));
        let ends = (0..processes).map(end).collect();
        Self { graph, network, ends }
    }

    fn send(&mut self, from: u32, to: u32, delay_s: f64) -> MessageId {
        let delay = self.graph.block("delay", Block::delay(delay_s).unwrap());
        let message = self.graph.message(&from.to_string(), &to.to_string(), 1000.0).unwrap();
        let way = [self.ends[from as usize].0, self.network, delay, self.ends[to as usize].1];
        self.graph.way(message, &way).unwrap();
        message
    }
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn a_graph_reduces_to_the_formula(tree in tree()) {
        for dependence in [Dependence::Independent, Dependence::Dependent] {
            let (graph, formula) = (reduced(&tree, dependence), tree.by_formula(dependence));
            prop_assert!(close(graph, formula), "{dependence:?}: {graph:?}, not {formula:?}");
        }
    }

    /// Section 3.3 and eq. (16): rules 1 and 3 on the graph of the whole pattern.
    #[test]
    fn patterns_are_their_graphs(
        workstation in block(), network in block(), delay_s in 0.0..5.0, n in 2u32..9, k in 1u32..8,
    ) {
        let machine = Network::new(workstation, network, delay_s).unwrap();
        let mut office = Office::new((workstation, network), 2 * n);
        let messages: Vec<MessageId> = (0..n).map(|pair| office.send(2 * pair, 2 * pair + 1, delay_s)).collect();
        for message in messages {
            prop_assert!(close(office.graph.reduce(message).unwrap(), machine.pairs(n).unwrap()));
        }
        let k = k.min(n - 1);
        let mut office = Office::new((workstation, network), n);
        let all = (0..n).flat_map(|from| (1..=k).map(move |step| (from, (from + step) % n)));
        let messages: Vec<MessageId> = all.map(|(from, to)| office.send(from, to, delay_s)).collect();
        for message in messages {
            let (graph, formula) = (office.graph.reduce(message).unwrap(), machine.neighbours_by_rule_3(n, k).unwrap());
            prop_assert!(close(graph, formula), "{graph:?}, not {formula:?}");
        }
    }

    /// Any ways over a few blocks: an error that says why, or a block of numbers; never a panic.
    #[test]
    fn any_graph_is_reduced_or_refused(
        nodes in prop::collection::vec((block(), 0usize..4), 1..7),
        ways in prop::collection::vec((0usize..3, prop::collection::vec(0usize..7, 0..5)), 1..12),
    ) {
        let mut graph = Graph::new();
        let processors: Vec<Processor> = (0..4).map(|_| graph.processor()).collect();
        let blocks: Vec<BlockId> =
            nodes.iter().map(|&(block, on)| graph.block_on(processors[on], "CB", block).unwrap()).collect();
        let messages: Vec<MessageId> = (1..4).map(|bytes| graph.message("s", "d", f64::from(bytes)).unwrap()).collect();
        for (message, way) in ways {
            let way: Vec<BlockId> = way.into_iter().filter_map(|place| blocks.get(place).copied()).collect();
            let repeats = way.iter().enumerate().any(|(place, block)| way[..place].contains(block));
            let result = graph.way(messages[message], &way);
            prop_assert!(!(repeats || way.is_empty()) || result.is_err());
        }
        for message in messages {
            match graph.reduce(message) {
                Ok(block) => prop_assert!(block.a_s().is_finite() && block.b_s_per_byte().is_finite()),
                Err(error) => prop_assert!(error.to_string().contains("from s to d"), "{error}"),
            }
        }
    }
}

fn unit() -> Block {
    Block::new(1.0, 1.0).unwrap()
}

/// Ways through blocks named A, B, C, D, each on the processor given.
fn ways<const N: usize>(processors: [usize; N], ways: &[&[usize]]) -> Result<Block, GraphError> {
    let mut graph = Graph::new();
    let available: Vec<Processor> = (0..N).map(|_| graph.processor()).collect();
    let blocks: Vec<BlockId> = processors
        .into_iter()
        .zip(["A", "B", "C", "D", "E", "F"])
        .map(|(processor, name)| graph.block_on(available[processor], name, unit()).unwrap())
        .collect();
    let message = graph.message("1", "2", 1.0)?;
    for way in ways {
        graph.way(message, &way.iter().map(|&place| blocks[place]).collect::<Vec<_>>())?;
    }
    graph.reduce(message)
}

#[test]
fn empty_graphs_are_errors() {
    let mut graph = Graph::new();
    let message = graph.message("1", "2", 1.0).unwrap();
    let text = graph.reduce(message).unwrap_err().to_string();
    assert_eq!(text, "the graph is empty; a message passes at least one communication block");
    let text = graph.way(message, &[]).unwrap_err().to_string();
    assert!(text.starts_with("message from 1 to 2: the way is empty"), "{text}");
    graph.block("A", unit());
    let text = graph.reduce(message).unwrap_err().to_string();
    assert!(text.starts_with("message from 1 to 2: its list of ways is empty"), "{text}");
}

#[test]
fn cycles_are_errors_that_name_the_blocks() {
    let text = ways([0, 1, 2], &[&[0, 1, 2], &[1, 0]]).unwrap_err().to_string();
    assert_eq!(text, "message from 1 to 2: its ways form a cycle through A, B; a packet passes each block once");
    let text = ways([0, 1], &[&[0, 1, 1]]).unwrap_err().to_string();
    assert!(text.contains("cycle through B;"), "{text}");
}

#[test]
fn a_refused_way_changes_nothing() {
    let mut graph = Graph::new();
    let (first, second) = (graph.block("A", unit()), graph.block("B", unit()));
    let message = graph.message("1", "2", 1.0).unwrap();
    graph.way(message, &[first, second]).unwrap();
    let before = graph.reduce(message).unwrap();
    assert!(matches!(graph.way(message, &[second, first]), Err(GraphError::Cycle { .. })));
    assert_eq!(graph.reduce(message).unwrap(), before);
}

/// Fig. 1: messages in both directions pass the same blocks; no message goes in a circle.
#[test]
fn opposite_messages_are_no_cycle() {
    let mut graph = Graph::new();
    let [left, net, right] = ["left", "network", "right"].map(|name| graph.block(name, unit()));
    let there = graph.message("1", "2", 100.0).unwrap();
    graph.way(there, &[left, net, right]).unwrap();
    let back = graph.message("2", "1", 300.0).unwrap();
    graph.way(back, &[right, net, left]).unwrap();
    assert_eq!(graph.reduce(there).unwrap(), Block::new(6.0, 4.0).unwrap());
    assert!(close(graph.reduce(back).unwrap(), Block::new(6.0, 4.0 / 3.0).unwrap()));
}

#[test]
fn ways_that_the_rules_do_not_cover_are_errors() {
    // A bridge: A or B, then C or D, but not from B to C.
    let bridge = ways([0, 1, 2, 3], &[&[0, 2], &[0, 3], &[1, 3]]).unwrap_err();
    assert!(matches!(&bridge, GraphError::Irreducible { blocks, .. } if blocks == "A, B, C, D"), "{bridge}");
    assert!(bridge.to_string().contains("rule 4"));
    let bypass = ways([0, 1, 2], &[&[0, 1, 2], &[0, 2]]).unwrap_err();
    assert!(matches!(&bypass, GraphError::Irreducible { blocks, .. } if blocks == "A, B, C"), "{bypass}");
    // A works for one branch together with B, and C for the other; A and C share a processor.
    let branches = ways([0, 1, 0], &[&[0, 1], &[2]]).unwrap_err();
    assert!(matches!(&branches, GraphError::Entangled { blocks, .. } if blocks == "A, B, C"), "{branches}");
    // C shares the processor of A, which is in parallel with B.
    let series = ways([0, 1, 0], &[&[0, 2], &[1, 2]]).unwrap_err();
    assert!(matches!(&series, GraphError::Entangled { .. }), "{series}");
}

#[test]
fn dependent_blocks_share_their_processor() {
    // The workstation of section 2.1 as a graph, and A and C of one processor with B between them.
    assert_eq!(ways([0, 0, 1], &[&[0, 1, 2]]).unwrap(), workstation(unit(), unit(), unit()).unwrap());
    assert_eq!(ways([0, 1, 0], &[&[0, 1, 2]]).unwrap(), Block::new(3.0, 2.0).unwrap());
    // Two dependent and one independent in parallel.
    assert_eq!(ways([0, 0, 1], &[&[0], &[1], &[2]]).unwrap(), Block::new(1.0, 0.5).unwrap());
}

/// Rule 4: the broadcast of Fig. 10 is one graph for small messages (the way to process 10, each send and receive a
/// block) and one after another for large ones (rounds of simultaneous pairs).
#[test]
fn rule_4_joins_the_graphs_of_small_and_large_messages() {
    let (w, c) = (Block::new(859.52, 1.42).unwrap(), Block::new(345.6, 0.92).unwrap());
    let mut small = Graph::new();
    let mut way = Vec::new();
    // Process 0 sends to 1 first; 1 sends to 3 and then to 4, 4 sends to 9 and then to 10.
    for sends in [1, 2, 2] {
        way.extend((0..sends).map(|_| small.block("send", w)));
        way.extend(
            [("network", c), ("delay", Block::delay(7.0).unwrap()), ("receive", w)].map(|(n, b)| small.block(n, b)),
        );
    }
    let message = small.message("0", "10", 1.0).unwrap();
    small.way(message, &way).unwrap();
    let rounds = broadcast_tree_rounds(11).unwrap().into_iter().map(|at_once| {
        let mut office = Office::new((w, c), 2 * at_once as u32);
        let messages: Vec<MessageId> =
            (0..at_once as u32).map(|pair| office.send(2 * pair, 2 * pair + 1, 7.0)).collect();
        office.graph.reduce(messages[0]).unwrap()
    });
    let large = serial(&rounds.collect::<Vec<_>>(), Dependence::Dependent).unwrap();
    let joined = general(small.reduce(message).unwrap(), large);
    assert!(close(joined, Network::new(w, c, 7.0).unwrap().broadcast_tree(11).unwrap()), "{joined:?}");
}

/// A path keeps the sender's and the receiver's blocks apart, for T_s and T_r.
#[test]
fn a_path_has_its_ends() {
    let mut graph = Graph::new();
    let (here, there) = (graph.processor(), graph.processor());
    let (small, large) = (Block::new(1.0, 2.0).unwrap(), Block::new(3.0, 7.0).unwrap());
    let sender = [graph.block_on(here, "program", small).unwrap(), graph.block_on(here, "system", small).unwrap()];
    let net = graph.block("network", large);
    let receiver = graph.block_on(there, "receiver", small).unwrap();
    let message = graph.message("1", "2", 10.0).unwrap();
    graph.way(message, &[sender[0], sender[1], net, receiver]).unwrap();
    let path = graph.path(message).unwrap();
    assert_eq!(path.blocks(), [Block::new(2.0, 4.0).unwrap(), large, small]);
    assert_eq!(path.sending(Primitive::NonPreemptive).unwrap(), Block::new(2.0, 7.0).unwrap());
    assert_eq!(path.receiving(Primitive::Preemptive).most, small);
}

/// Fig. 7 for the message from 1 to 4: CB_1, CB'_c = (3 a_c, b_c X/x_1) and CB'_4 = (2 a_4, b_4 (x_1 + x_3)/x_1).
#[test]
fn stages_are_the_blocks_that_are_left() {
    let mut graph = Graph::new();
    let [one, two, three, four, five, net] = ["1", "2", "3", "4", "5", "net"].map(|name| graph.block(name, unit()));
    let [first, second, third] =
        [("1", "4", 2.0), ("2", "5", 3.0), ("3", "4", 5.0)].map(|(s, d, x)| graph.message(s, d, x).unwrap());
    for (message, way) in [(first, [one, net, four]), (second, [two, net, five]), (third, [three, net, four])] {
        graph.way(message, &way).unwrap();
    }
    let stage = |a, b, member| Stage { block: Block::new(a, b).unwrap(), members: vec![member] };
    assert_eq!(graph.stages(first).unwrap(), [stage(1.0, 1.0, one), stage(3.0, 5.0, net), stage(2.0, 3.5, four)]);
    assert_eq!([one, four, net].map(|block| graph.messages_through(block).unwrap()), [1, 2, 3]);
    assert_eq!(graph.name(net), Ok("net"));
    // What rule 2 joins is one stage of several blocks.
    let mut graph = Graph::new();
    let [here, left, right] = ["here", "left", "right"].map(|name| graph.block(name, unit()));
    let message = graph.message("1", "2", 1.0).unwrap();
    graph.way(message, &[here, left]).unwrap();
    graph.way(message, &[here, right]).unwrap();
    let members = graph.stages(message).unwrap().into_iter().map(|stage| stage.members).collect::<Vec<_>>();
    assert_eq!(members, [vec![here], vec![left, right]]);
    assert!(Graph::new().name(here).is_err() && Graph::new().messages_through(here).is_err());
}

#[test]
fn bad_sizes_and_foreign_names_are_errors() {
    let mut graph = Graph::new();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = graph.message("1", "2", bad).unwrap_err();
        assert!(matches!(&error, GraphError::Parameter(parameter) if parameter.name == "x"), "{error}");
    }
    let message = graph.message("1", "2", 1.0).unwrap();
    let mut other = Graph::new();
    let foreign = (other.processor(), other.block("A", unit()));
    assert_eq!(graph.block_on(foreign.0, "B", unit()), Err(GraphError::Unknown { what: "processor", number: 0 }));
    let error = graph.way(message, &[foreign.1]).unwrap_err();
    assert_eq!(error.to_string(), "block 0 is not of this graph; use what its own methods returned");
    assert_eq!(other.way(message, &[foreign.1]), Err(GraphError::Unknown { what: "message", number: 0 }));
    assert_eq!(other.reduce(message), Err(GraphError::Unknown { what: "message", number: 0 }));
}
