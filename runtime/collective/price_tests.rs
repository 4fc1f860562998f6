//! The simulated makespan is the price: the papers' where they give one, ours elsewhere.

use std::sync::Arc;

use super::choose::Prices;
use super::exchange::Shift;
use super::prepared::Prepared;
use super::price::{self, Line};
use super::simulate::makespan;
use super::{Algorithm, Call, allgather, allreduce, alltoall, broadcast, exchange, reduce_scatter, scatter};
use crate::cost::{Block, CostModel};
use crate::ids::Rank;
use crate::operation::Collective;

/// Machines on which processor, network and delay matter differently, shared and not.
fn machines() -> Vec<CostModel> {
    let machine = |node: (f64, f64), network: (f64, f64), latency, is_shared| CostModel {
        node: Block { fixed: node.0, per_byte: node.1 },
        network: Block { fixed: network.0, per_byte: network.1 },
        is_shared,
        latency,
        combine: 0.0,
        queue: None,
        ..CostModel::lan()
    };
    vec![
        CostModel::ethernet_1994(),
        CostModel { combine: 0.25e-6, ..CostModel::ethernet_1994() },
        CostModel::lan(),
        machine((1.0, 1.0), (0.0, 0.4), 0.0, true),
        machine((1.0, 1.0), (0.25, 0.3), 7.5, true),
        machine((0.0, 0.5), (1.0, 2.0), 3.0, true),
        machine((2.0, 0.5), (1.0, 2.0), 30.0, false),
    ]
}

fn simulated(call: &Call, algorithm: Algorithm, machine: &CostModel) -> Line {
    let bytes = (call.blocks.longest() * call.element_bytes) as f64;
    price::line(&of_all(call, algorithm), call.element_bytes as f64, bytes, machine).expect("a collective ends")
}

/// All ranks' schedules.
fn of_all(call: &Call, algorithm: Algorithm) -> Vec<Arc<Prepared>> {
    (0..call.ranks).map(|rank| call.schedule(algorithm, Rank(rank)).expect("an algorithm").into()).collect()
}

fn is_close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1e-9)
}

/// Compares with a formula for up to 64 ranks on every machine.
fn compare(collective: Collective, algorithm: Algorithm, formula: impl Fn(&CostModel, u32) -> Line) {
    for machine in machines() {
        for ranks in crate::scale::ranks(64) {
            // A block for each rank of the ring.
            let call = Call::new(collective, ranks, u64::from(ranks), 8);
            let (simulated, formula) = (simulated(&call, algorithm, &machine), formula(&machine, ranks));
            assert!(
                is_close(simulated.fixed, formula.fixed) && is_close(simulated.per_byte, formula.per_byte),
                "{collective} by {algorithm} among {ranks}: {simulated:?}, by formula {formula:?}, on {machine:?}"
            );
        }
    }
}

#[test]
fn serial_broadcast_costs_what_the_paper_says() {
    compare(Collective::Broadcast, Algorithm::Serial, broadcast::serial::price);
    compare(Collective::Scatter, Algorithm::Serial, scatter::serial::price);
}

#[test]
fn tree_broadcast_costs_what_the_paper_says() {
    compare(Collective::Broadcast, Algorithm::Binary { segment: 0 }, broadcast::binary::price);
}

/// 11 processes as in Fig. 10: `8 a_W + 3 a_C + 3 a_L`, and 1, 2, 3, 3, 1 transfers.
#[test]
fn eleven_workstations() {
    let machine = CostModel { latency: 1e-3, ..CostModel::ethernet_1994() };
    let (node, network) = (machine.node, machine.network);
    let call = Call::new(Collective::Broadcast, 11, 4, 8);
    let tree = simulated(&call, Algorithm::Binary { segment: 0 }, &machine);
    assert!(is_close(tree.fixed, 8.0 * node.fixed + 3.0 * network.fixed + 3e-3));
    let rounds = [1.0, 2.0, 3.0, 3.0, 1.0].map(|transfers: f64| (transfers * network.per_byte).max(node.per_byte));
    assert!(is_close(tree.per_byte, rounds.iter().sum()));
    let call = Call::new(Collective::Allreduce, 11, 4, 8);
    let global = simulated(&call, Algorithm::Global, &machine);
    assert!(is_close(global.fixed, 19.0 * node.fixed + 4.0 * network.fixed + 4e-3));
}

/// The global operation is priced for short messages only.
#[test]
fn global_operation_costs_what_the_paper_says() {
    compare(Collective::Allreduce, Algorithm::Global, |machine, ranks| {
        let call = Call::new(Collective::Allreduce, ranks, u64::from(ranks), 8);
        let simulated = simulated(&call, Algorithm::Global, machine);
        Line { fixed: allreduce::global::price_fixed(machine, ranks), ..simulated }
    });
}

/// Where all ranks do the same at the same time, rounds add up.
#[test]
fn symmetric_schedules_cost_their_rounds() {
    compare(Collective::Allgather, Algorithm::Ring, allgather::ring::price);
    compare(Collective::Allgather, Algorithm::Bruck, allgather::bruck::price);
    compare(Collective::Allreduce, Algorithm::Ring, allreduce::ring::price);
    compare(Collective::Alltoall, Algorithm::Pairwise { window: 1 }, alltoall::pairwise::price);
    compare(Collective::ReduceScatter, Algorithm::Ring, reduce_scatter::ring::price);
    compare(Collective::Barrier, Algorithm::Dissemination, |machine, ranks| {
        let rounds = f64::from(ranks.next_power_of_two().trailing_zeros());
        Line { fixed: rounds * machine.exchange_fixed(), per_byte: 0.0 }
    });
}

/// Rounds that do not wait for each other drift, so that their price is nearly what is simulated.
#[test]
fn rounds_at_once_cost_at_least_their_messages() {
    for machine in machines() {
        for ranks in crate::scale::ranks(64) {
            let call = Call::new(Collective::Alltoall, ranks, 1, 8);
            let line = simulated(&call, Algorithm::Pairwise { window: 0 }, &machine);
            let formula = alltoall::pairwise::price_at_once(&machine, ranks);
            assert!(is_close(line.per_byte, formula.per_byte), "{ranks}: {line:?}, {formula:?}, {machine:?}");
            let least = formula.fixed * (1.0 - 1e-9);
            assert!(
                (least..=formula.fixed * 1.25).contains(&line.fixed),
                "{ranks}: {line:?}, {formula:?}, {machine:?}"
            );
        }
    }
}

/// Numbers the paper's formulas give for its SparcStations, in microseconds.
#[test]
fn workstations_of_1994() {
    let machine = CostModel::ethernet_1994();
    let fixed =
        |collective, algorithm, ranks| simulated(&Call::new(collective, ranks, 1, 8), algorithm, &machine).fixed * 1e6;
    for (ranks, expected) in [(2, 4129.28), (6, 10491.52), (12, 18572.8), (15, 22010.88), (16, 22870.4)] {
        let global = fixed(Collective::Allreduce, Algorithm::Global, ranks);
        assert!((global - expected).abs() < 1e-6, "{ranks}: {global}");
    }
    for (ranks, expected) in [(3, 2924.16), (7, 5848.32), (8, 6193.92), (16, 8772.48)] {
        let tree = fixed(Collective::Broadcast, Algorithm::Binary { segment: 0 }, ranks);
        assert!((tree - expected).abs() < 1e-6, "{ranks}: {tree}");
    }
}

/// A torus of 4 x 4 as in Fig. 14. The paper's price holds where all messages meet on the network; without a network
/// cost per message, the processors' work is what is left.
#[test]
fn neighbour_exchange_costs_what_the_paper_says() {
    let schedules = || -> Vec<_> {
        let shifts = |rank: u32| {
            let at = |x: u32, y: u32| Rank(x % 4 + y % 4 * 4);
            let (x, y) = (rank % 4, rank / 4);
            let around = [(at(x + 1, y), at(x + 3, y)), (at(x, y + 1), at(x, y + 3))];
            let both = around.into_iter().flat_map(|(up, down)| [(up, down), (down, up)]);
            both.map(|(to, from)| Shift { to: Some((to, 8)), from: Some((from, 8)) }).collect::<Vec<_>>()
        };
        (0..16).map(|rank| exchange::schedule(Rank(rank), &shifts(rank)).into()).collect()
    };
    for machine in machines().into_iter().filter(|machine| machine.is_shared) {
        let formula = exchange::price(&machine, 16, 4);
        let line = price::line(&schedules(), 1.0, 8.0, &machine).unwrap();
        assert!(is_close(line.per_byte, formula.per_byte), "{line:?}, by formula {formula:?} on {machine:?}");
        assert!(line.fixed <= formula.fixed * (1.0 + 1e-9), "rule 3 is an upper bound");
        let free = CostModel { network: Block { fixed: 0.0, ..machine.network }, latency: 0.0, ..machine };
        let line = price::line(&schedules(), 1.0, 8.0, &free).unwrap();
        assert!(is_close(line.fixed, exchange::price(&free, 16, 4).fixed));
    }
}

/// Segments fill the chain: `ranks - 2 + s` of them, one after the other.
#[test]
fn long_chains_cost_little_more_than_one_message() {
    let machine = CostModel::lan();
    for ranks in [2u32, 3, 8, 33] {
        for segments in [1u64, 2, 16] {
            let call = Call::new(Collective::Broadcast, ranks, segments * 4, 1);
            let line = simulated(&call, Algorithm::Chain { segment: 4 }, &machine);
            let rounds = f64::from(ranks - 2) + segments as f64;
            assert!(is_close(line.per_byte, rounds / segments as f64 * machine.node.per_byte));
        }
    }
}

/// What many segments cost follows from what a few do, once these fill the pipeline.
#[test]
fn many_segments_cost_what_a_few_show() {
    const SEGMENT: u64 = 1024;
    for machine in machines() {
        let mut prices = Prices::new(machine);
        for (ranks, segments) in
            [2u32, 3, 5, 8].into_iter().flat_map(|ranks| [16u64, 32, 64].map(|count| (ranks, count)))
        {
            for collective in [Collective::Broadcast, Collective::Reduce] {
                for algorithm in ["chain", "binary", "binomial"] {
                    let call = Call::new(collective, ranks, segments * SEGMENT, 8);
                    let all = call.algorithms().into_iter();
                    let algorithm =
                        all.map(|known| known.with_segment(SEGMENT)).find(|known| known.name() == algorithm);
                    let algorithm = algorithm.expect("it is one of them");
                    let bytes = (segments * SEGMENT * 8) as f64;
                    let simulated_s = simulated(&call, algorithm, &machine).seconds(bytes);
                    let priced_s = prices.seconds(&call, algorithm).expect("a price");
                    assert!(
                        (priced_s / simulated_s - 1.0).abs() < 0.05,
                        "{collective} by {algorithm} among {ranks}: {priced_s}, simulated {simulated_s}, {machine:?}"
                    );
                }
            }
        }
    }
}

/// In a row a chain costs one message, and a root that serves all costs one each, after the first call.
#[test]
fn broadcasts_in_a_row_cost_what_the_busiest_port_does() {
    let machine = CostModel::of_link(25e-3, 160e-9, 10e-6);
    for ranks in [2u32, 4, 8, 33] {
        let call = Call::new(Collective::Broadcast, ranks, 4096, 1);
        let line = |algorithm| {
            let schedules = of_all(&call, algorithm);
            let single = price::line(&schedules, 1.0, 4096.0, &machine).unwrap();
            (single, price::line_in_a_row(&schedules, 1.0, 4096.0, &machine).unwrap())
        };
        let expected = |single: f64, one_more: f64| one_more + (single - one_more) / 16.0;
        let busy = |sends: u32| f64::from(sends) * machine.node.per_byte;
        let (single, row) = line(Algorithm::Chain { segment: 0 });
        assert!(is_close(row.per_byte, expected(single.per_byte, busy(1))), "{row:?}");
        // Who is between two others receives and sends.
        let handled = if ranks > 2 { 2.0 } else { 1.0 } * machine.node.fixed;
        assert!(is_close(row.fixed, expected(single.fixed, handled)), "{row:?} {single:?}");
        let (single, row) = line(Algorithm::Serial);
        assert!(is_close(row.per_byte, expected(single.per_byte, busy(ranks - 1))), "{row:?}");
        assert!(is_close(row.fixed, expected(single.fixed, f64::from(ranks - 1) * machine.node.fixed)), "{row:?}");
    }
}

/// Both costs at once never take longer than both limits together, nor less than either, where no processor has the
/// choice between a message to send and one to receive.
#[test]
fn the_whole_lies_between_the_limits() {
    for machine in machines() {
        for ranks in [2u32, 5, 16, 27] {
            for (collective, algorithm) in [
                (Collective::Broadcast, Algorithm::Binary { segment: 0 }),
                (Collective::Allgather, Algorithm::Ring),
                (Collective::Scatter, Algorithm::Binomial { segment: 0 }),
            ] {
                let call = Call::new(collective, ranks, 24, 8);
                let whole = makespan(&of_all(&call, algorithm), 1, 8.0, &machine).unwrap();
                let line = simulated(&call, algorithm, &machine);
                let limits = [line.fixed, line.per_byte * 192.0];
                assert!(
                    whole >= limits[0].max(limits[1]) * (1.0 - 1e-9),
                    "{collective} by {algorithm} among {ranks}: {whole}, {limits:?}, {machine:?}"
                );
                assert!(
                    whole <= (limits[0] + limits[1]) * (1.0 + 1e-9),
                    "{collective} by {algorithm} among {ranks}: {whole}, {limits:?}, {machine:?}"
                );
            }
        }
    }
}

/// Schedules of different calls do not end, and that is said.
#[test]
fn schedules_that_do_not_fit_have_no_price() {
    let to = |root| Call { root: Rank(root), ..Call::new(Collective::Broadcast, 2, 1, 8) };
    let part = |rank: u32| to(1 - rank).schedule(Algorithm::Serial, Rank(rank)).unwrap().into();
    let schedules = [part(0), part(1)];
    assert_eq!(price::line(&schedules, 8.0, 8.0, &CostModel::lan()), None);
}

/// A message one way takes as long as before; to send to many, or to receive from many, takes longer.
#[test]
fn the_processors_part_of_a_message_changes_nothing_else() {
    let machine = CostModel::of_link(300e-6, 160e-9, 10e-6);
    let price = |machine: &CostModel, ranks| broadcast::serial::price(machine, ranks);
    let busy = machine.with_overhead(40e-6);
    assert!(is_close(busy.exchange_fixed(), 300e-6) && is_close(busy.node.fixed, 40e-6), "{busy:?}");
    let (one, many) = (price(&busy, 2), price(&busy, 4));
    assert!(is_close(one.fixed, 300e-6) && is_close(many.fixed, 380e-6), "{one:?}, {many:?}");
    assert!(is_close(many.per_byte, price(&machine, 4).per_byte), "{many:?}");
    for (overhead, kept) in [(1.0, 150e-6), (-1.0, 0.0)] {
        let machine = machine.with_overhead(overhead);
        assert!(is_close(machine.node.fixed, kept) && is_close(machine.exchange_fixed(), 300e-6), "{machine:?}");
    }
}
