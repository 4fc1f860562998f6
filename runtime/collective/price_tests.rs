//! The simulated makespan is the price: the papers' where they give one, ours elsewhere.

use super::price::{self, Block, Line, Machine};
use super::{Algorithm, Call, Collective, allgather, allreduce, alltoall, broadcast, exchange, scatter};
use crate::ids::Rank;

/// Machines on which processor, network and delay matter differently, shared and not.
fn machines() -> Vec<Machine> {
    let machine = |node: (f64, f64), network: (f64, f64), latency, is_shared| Machine {
        node: Block { fixed: node.0, per_byte: node.1 },
        network: Block { fixed: network.0, per_byte: network.1 },
        is_shared,
        latency,
        combine: 0.0,
        queue: None,
    };
    vec![
        Machine::ethernet_1994(),
        Machine { combine: 0.25e-6, ..Machine::ethernet_1994() },
        Machine::lan(),
        machine((1.0, 1.0), (0.0, 0.4), 0.0, true),
        machine((1.0, 1.0), (0.25, 0.3), 7.5, true),
        machine((0.0, 0.5), (1.0, 2.0), 3.0, true),
        machine((2.0, 0.5), (1.0, 2.0), 30.0, false),
    ]
}

fn simulated(call: &Call, algorithm: Algorithm, machine: &Machine) -> Line {
    let schedules = (0..call.ranks).map(|rank| call.schedule(algorithm, Rank(rank)).expect("an algorithm"));
    let bytes = (call.blocks.longest() * call.element_bytes) as f64;
    price::line(schedules.collect(), call.element_bytes as f64, bytes, machine).expect("a collective ends")
}

fn is_close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1e-9)
}

/// Compares with a formula for up to 64 ranks on every machine.
fn compare(collective: Collective, algorithm: Algorithm, formula: impl Fn(&Machine, u32) -> Line) {
    for machine in machines() {
        for ranks in 1..=64u32 {
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
    compare(Collective::Broadcast, Algorithm::Binary { segment: 0 }, |machine, ranks| {
        let price = broadcast::binary::price(machine, ranks);
        // The rounds of long messages are kept where all have the same number of transfers or the network is shared.
        price
    });
}

/// 11 processes as in Fig. 10: `8 a_W + 3 a_C + 3 a_L`, and 1, 2, 3, 3, 1 transfers.
#[test]
fn eleven_workstations() {
    let machine = Machine { latency: 1e-3, ..Machine::ethernet_1994() };
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
    compare(Collective::Alltoall, Algorithm::Pairwise { window: 1 }, alltoall::price);
    compare(Collective::Barrier, Algorithm::Dissemination, |machine, ranks| {
        let rounds = f64::from(ranks.next_power_of_two().trailing_zeros());
        Line { fixed: rounds * machine.exchange_fixed(), per_byte: 0.0 }
    });
}
