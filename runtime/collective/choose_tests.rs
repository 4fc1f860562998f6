//! What is chosen, and that everybody chooses alike.

use super::choose::{Choice, Prices, Sequence};
use super::{Algorithm, Blocks, Call};
use crate::cost::{CostModel, Hosts, Queue};
use crate::ids::Rank;
use crate::operation::Collective;

/// A port of 1 Gbit/s with a queue of 128 KiB.
fn short_queue() -> CostModel {
    CostModel { queue: Some(Queue { bytes: 131_072.0, gap_ratio: 1.0, timeout: 0.2 }), ..CostModel::lan() }
}

#[track_caller]
fn chooses(machine: CostModel, collective: Collective, ranks: u32, bytes: u64, name: &str) {
    let choice = Prices::new(machine).choose(&Call::new(collective, ranks, bytes, 1));
    assert_eq!(choice.best().algorithm.name(), name, "{collective} of {bytes} among {ranks}: {choice}");
}

/// Alone a ring and halving move as many bytes; where ranks share cores, the shorter pieces of a ring stay in the caches.
#[test]
fn long_allreduces_of_ranks_that_share_cores_go_round() {
    for ranks in [4, 8] {
        let crowded = CostModel {
            ranks_per_core: f64::from(ranks) / 2.0,
            ..CostModel::lan().with_link(10e-6, 0.5e-9).with_overhead(5e-6)
        };
        chooses(crowded, Collective::Allreduce, ranks, 4 << 20, "ring");
        chooses(CostModel { ranks_per_core: 1.0, ..crowded }, Collective::Allreduce, ranks, 4 << 20, "halving");
    }
}

/// Where all send to one rank at once, more than the queue in front of it holds costs the transport's timer.
#[test]
fn what_goes_to_one_rank_at_once_overflows_its_queue() {
    use Collective::{Allgather, Allreduce, Alltoall};
    for (collective, algorithm) in [
        (Allgather, Algorithm::Serial),
        (Allgather, Algorithm::Simple),
        (Allgather, Algorithm::Binomial { segment: 0 }),
        (Allreduce, Algorithm::Serial),
        (Allreduce, Algorithm::Simple),
        (Alltoall, Algorithm::Serial),
    ] {
        let more_s = |bytes| {
            let call = Call::new(collective, 16, bytes, 1);
            let [with, without] =
                [short_queue(), CostModel::lan()].map(|machine| Prices::new(machine).seconds(&call, algorithm));
            with.expect("a price") - without.expect("a price")
        };
        assert_eq!(more_s(8), 0.0, "{collective} by {algorithm}");
        assert!((more_s(32 << 10) - 0.2).abs() < 1e-9, "{collective} by {algorithm}: {}", more_s(32 << 10));
    }
}

/// Where ranks share cores, the fewest messages cost least; where each has its own, the fewest one after the other.
#[test]
fn barriers_send_fewer_messages_where_ranks_share_cores() {
    let named =
        |machine, ranks| Prices::new(machine).choose(&Call::new(Collective::Barrier, ranks, 0, 1)).best().algorithm;
    let crowded =
        CostModel { ranks_per_core: 4.0, hosts: Some(Hosts::of(8)), ..CostModel::of_link(10e-6, 0.1e-9, 5e-6) };
    assert_eq!(named(crowded, 8).name(), "serial");
    for (ranks, name) in [(2, "dissemination"), (3, "simple"), (8, "simple"), (64, "dissemination")] {
        assert_eq!(named(CostModel::lan(), ranks).name(), name, "{ranks}");
    }
}

/// Whoever asks, in whatever order and with whatever prices known before, gets the same: the first of the
/// cheapest, with a schedule for every rank.
#[test]
fn everybody_chooses_alike() {
    let mut calls = Vec::new();
    for collective in Collective::ALL {
        for ranks in [1u32, 2, 3, 7, 16, 31] {
            for count in [0u64, 1, 1000, 300_000] {
                for is_commutative in [true, false] {
                    let call = Call::new(collective, ranks, count, 8);
                    calls.push(Call { root: Rank(ranks / 2), is_commutative, ..call });
                }
            }
        }
    }
    for machine in [CostModel::lan(), CostModel::ethernet_1994(), short_queue(), CostModel::of_link(50e-3, 2e-8, 20e-6)]
    {
        let mut forwards = Prices::new(machine);
        let choices: Vec<Choice> = calls.iter().map(|call| forwards.choose(call)).collect();
        let mut backwards = Prices::new(machine);
        for (call, choice) in calls.iter().zip(&choices).rev() {
            assert_eq!(&backwards.choose(call), choice, "{call:?}");
            let best = choice.best();
            assert_eq!(choice.candidates.len(), call.algorithms().len(), "{call:?}: {choice}");
            for (index, candidate) in choice.candidates.iter().enumerate() {
                assert!(candidate.seconds.is_finite() && candidate.seconds >= 0.0, "{call:?}: {choice}");
                assert!(candidate.seconds > best.seconds || index >= choice.chosen, "{call:?}: {choice}");
                assert!(candidate.seconds >= best.seconds, "{call:?}: {choice}");
            }
            for rank in 0..call.ranks {
                assert!(call.schedule(best.algorithm, Rank(rank)).is_some(), "{call:?}: {choice}");
            }
        }
    }
}

#[test]
fn sizes_decide() {
    let lan = CostModel::lan();
    chooses(lan, Collective::Broadcast, 16, 8, "serial");
    chooses(lan, Collective::Broadcast, 64, 8, "binomial");
    chooses(lan, Collective::Broadcast, 16, 8 << 20, "chain");
    chooses(lan, Collective::Allreduce, 16, 8, "doubling");
    chooses(lan, Collective::Allreduce, 16, 128 << 10, "halving");
    // Of 15 ranks seven hand all that they have to a neighbour first.
    chooses(lan, Collective::Allreduce, 15, 8 << 20, "ring");
    chooses(lan, Collective::Allgather, 16, 8, "doubling");
    chooses(lan, Collective::Allgather, 4, 8, "simple");
    chooses(lan, Collective::Allgather, 8, 64 << 10, "doubling");
    chooses(lan, Collective::Allgather, 31, 8, "bruck");
    chooses(lan, Collective::Scatter, 16, 1 << 20, "serial");
    chooses(lan, Collective::ReduceScatter, 16, 8, "halving");
    chooses(lan, Collective::Scan, 16, 8, "doubling");
    chooses(lan, Collective::Exscan, 16, 8 << 20, "chain");
    // A delay of 50 ms: who sends to all at once waits once.
    let wide = CostModel::of_link(50e-3, 2e-8, 20e-6);
    chooses(wide, Collective::Broadcast, 16, 8, "serial");
    for collective in [Collective::Allgather, Collective::Allreduce, Collective::Barrier] {
        chooses(wide, collective, 8, 8, "simple");
    }
}

/// Four ranks on each core: few messages count, since all ranks' work adds up; bytes pass best between neighbours, since nobody is
/// in step with others; and pieces are not worth the turns that they take.
#[test]
fn ranks_that_share_cores() {
    let crowded = CostModel { ranks_per_core: 4.0, ..CostModel::of_link(20e-6, 8e-9, 10e-6) };
    let alone = CostModel { ranks_per_core: 1.0, ..crowded };
    for (collective, bytes, by, by_alone) in [
        (Collective::Barrier, 0, "serial", "dissemination"),
        (Collective::Allgather, 16 << 10, "ring", "doubling"),
        (Collective::Allreduce, 64 << 10, "halving", "halving"),
        (Collective::Allreduce, 1 << 20, "ring", "halving"),
    ] {
        chooses(crowded, collective, 8, bytes, by);
        chooses(alone, collective, 8, bytes, by_alone);
    }
    let loopback = CostModel { ranks_per_core: 4.0, ..CostModel::of_link(20e-6, 0.7e-9, 5e-6) };
    let choice = Prices::new(loopback).choose(&Call::new(Collective::Broadcast, 8, 1 << 20, 1));
    let seconds = |name| choice.named(name).expect("a way to broadcast").seconds;
    assert!(seconds("chain") < seconds("binomial"), "{choice}");
    assert_eq!(choice.best().algorithm.name(), "binomial", "{choice}");
}

/// The paper's remark (3.1): on a network that all share and that is the bottleneck, no broadcast of long messages
/// beats the serial one; short ones go down a tree.
#[test]
fn the_shared_network_of_1994() {
    let mut machine = CostModel::ethernet_1994();
    let prices = Prices::new(machine).choose(&Call::new(Collective::Broadcast, 16, 8, 1));
    assert!(prices.named("binary").unwrap().seconds < prices.named("serial").unwrap().seconds, "{prices}");
    machine.network.per_byte = machine.node.per_byte;
    let prices = Prices::new(machine).choose(&Call::new(Collective::Broadcast, 16, 1 << 20, 1));
    assert!(prices.named("serial").unwrap().seconds < prices.best().seconds * 1.001, "{prices}");
}

/// Gathers that would flood the queue are held back; those that fit are not.
#[test]
fn the_gather_that_does_not_collapse() {
    let machine = short_queue();
    chooses(machine, Collective::Gather, 17, 4 << 10, "simple");
    let flooded = Prices::new(machine).choose(&Call::new(Collective::Gather, 17, 256 << 10, 1));
    assert!(flooded.named("simple").unwrap().seconds > 0.2, "{flooded}");
    assert!(flooded.best().seconds < 0.1, "{flooded}");
    assert!(matches!(flooded.best().algorithm, Algorithm::Windowed { .. } | Algorithm::Granted { .. }), "{flooded}");
    assert_eq!(flooded.named("windowed").unwrap().algorithm, Algorithm::Windowed { window: 1 }, "{flooded}");
    let Algorithm::Granted { window, segment } = flooded.named("granted").unwrap().algorithm else { panic!() };
    assert!(u64::from(window) * segment <= 128 << 10, "{flooded}");
    let middle = Prices::new(machine).choose(&Call::new(Collective::Gather, 17, 32 << 10, 1));
    assert_eq!(middle.named("windowed").unwrap().algorithm, Algorithm::Windowed { window: 5 }, "{middle}");
    // Blocks that differ: the longest decides about the window.
    let each = [0u64, 1, 32 << 10].into_iter().cycle().take(17).collect();
    let call = Call { blocks: Blocks::Each(each), ..Call::new(Collective::Gather, 17, 0, 1) };
    let uneven = Prices::new(machine).choose(&call);
    assert_eq!(uneven.named("windowed").unwrap().algorithm, Algorithm::Windowed { window: 5 }, "{uneven}");
}

/// A ring combines in another order than that of ranks: not for operators that are not commutative.
#[test]
fn the_operator_decides() {
    let call = Call { is_commutative: false, ..Call::new(Collective::Allreduce, 8, 1 << 20, 8) };
    let choice = Prices::new(CostModel::lan()).choose(&call);
    assert_eq!(choice.named("ring"), None, "{choice}");
    assert_eq!(call.schedule(Algorithm::Ring, Rank(0)), None);
    assert_eq!(choice.best().algorithm.name(), "chain", "{choice}");
}

/// The choice says in words what it was between.
#[test]
fn the_choice_in_words() {
    let choice = Prices::new(CostModel::lan()).choose(&Call::new(Collective::Scatter, 4, 100, 8));
    let words = choice.to_string();
    assert!(words.starts_with(&format!("{} (serial: ", choice.best().algorithm)), "{words}");
    assert!(words.contains("; binomial: "), "{words}");
}

/// Ranks that share a port share its bandwidth; within a host messages pass none.
#[test]
fn ranks_of_a_host_share_its_port() {
    let alone = CostModel::of_link(1e-3, 1e-7, 10e-6);
    let hosts = |ranks| CostModel { hosts: Some(Hosts::of(ranks)), ..alone };
    let seconds = |model: CostModel, call: &Call, algorithm| Prices::new(model).seconds(call, algorithm).unwrap();
    let long = 10_000_000;
    // Four ranks of one host to four of another, all at once: four times the bytes pass each port.
    let alltoall = Call::new(Collective::Alltoall, 8, long, 1);
    let pairwise = Algorithm::Pairwise { window: 1 };
    let [apart, together] = [alone, hosts(4)].map(|model| seconds(model, &alltoall, pairwise));
    let bytes_through_a_port = 16.0 * long as f64 * 1e-7;
    assert!((together / bytes_through_a_port - 1.0).abs() < 0.2, "{together} s, alone {apart} s");
    // A chain passes each port once, and is no slower.
    let broadcast = Call::new(Collective::Broadcast, 8, long, 1);
    let chain = Algorithm::Chain { segment: long / 64 };
    let [apart, together] = [alone, hosts(4)].map(|model| seconds(model, &broadcast, chain));
    assert!(together < apart, "{together} s, alone {apart} s");
    // Every rank a host of its own is no host at all.
    for call in [&alltoall, &broadcast, &Call::new(Collective::Allreduce, 8, 4096, 8)] {
        let [one, other] = [alone, hosts(1)].map(|model| Prices::new(model).choose(call));
        for (one, other) in one.candidates.iter().zip(&other.candidates) {
            assert!((one.seconds / other.seconds - 1.0).abs() < 0.01, "{one:?}, {other:?}");
        }
    }
    // Where the root stands within its host matters, not on which host.
    let gather = |root| Call { root: Rank(root), ..Call::new(Collective::Gather, 8, 1000, 1) };
    let [first, second, other] = [0, 1, 4].map(|root| seconds(hosts(4), &gather(root), Algorithm::Simple));
    assert_eq!(first, other);
    assert!(second > 0.0);
}

/// Where ranks share cores, the algorithm with the least work is the fastest.
#[test]
fn ranks_that_share_cores_add_their_work_up() {
    let loopback = CostModel::of_link(10e-6, 0.3e-9, 5e-6);
    let crowded = CostModel { ranks_per_core: 4.0, ..loopback };
    let call = Call::new(Collective::Allreduce, 8, 1, 8);
    assert_eq!(Prices::new(loopback).choose(&call).best().algorithm, Algorithm::Doubling);
    let choice = Prices::new(crowded).choose(&call);
    let seconds = |name: &str| choice.named(name).unwrap().seconds;
    // 24 messages against 14, two ends each, two cores; and half of what three and six messages take that wait for each other.
    let expected = |messages: f64, rounds: f64| messages * 2.0 * 5e-6 / 2.0 + rounds * 2.0 * 5e-6 / 2.0;
    assert!((seconds("doubling") / expected(24.0, 3.0) - 1.0).abs() < 0.01, "{choice}");
    assert!((seconds("binomial") / expected(14.0, 6.0) - 1.0).abs() < 0.01, "{choice}");
    // As many messages as the binomial tree, but two rounds: rank 0 waits for nobody between its own.
    assert!((seconds("serial") / expected(14.0, 2.0) - 1.0).abs() < 0.01, "{choice}");
    assert_eq!(choice.best().algorithm.name(), "serial", "{choice}");
}

/// Where all algorithms have as much to do, the one whose messages wait least for each other is the fastest, however calls follow
/// each other.
#[test]
fn ranks_that_share_cores_wait_for_each_other() {
    let crowded =
        CostModel { ranks_per_core: 2.0, hosts: Some(Hosts::of(4)), ..CostModel::of_link(10e-6, 0.1e-9, 5e-6) };
    for bytes in [64 << 10, 1 << 20] {
        for sequence in [Sequence::Single, Sequence::InARow] {
            let choice = Prices::new(crowded).choose_in(sequence, &Call::new(Collective::Broadcast, 4, bytes, 1));
            let seconds = |name: &str| choice.named(name).unwrap().seconds;
            assert!(seconds("binary") < seconds("chain") && seconds("binomial") < seconds("chain"), "{choice}");
        }
    }
}

/// On a slow network segments are worth it, however many ranks share a core.
#[test]
fn ranks_that_share_cores_cut_into_segments_for_a_slow_network() {
    let crowded = CostModel { ranks_per_core: 2.0, ..CostModel::lan() };
    let choice = Prices::new(crowded).choose(&Call::new(Collective::Broadcast, 8, 1 << 20, 1));
    assert!(choice.best().algorithm.segment().is_some(), "{choice}");
}

/// What a busy machine has a fit say, and what a program may set: prices are found of the worst of numbers, in a time that does
/// not depend on them.
mod any_machine {
    use std::sync::mpsc;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::cost::Block;

    fn number() -> impl Strategy<Value = f64> {
        let odd = [0.0, -0.0, -1.0, f64::MIN_POSITIVE, 5e-324, 1e-300, f64::MAX, f64::INFINITY, f64::NAN];
        prop_oneof![(-30.0..3.0).prop_map(|power| 10_f64.powf(power)), prop::sample::select(odd.to_vec())]
    }

    fn machine() -> impl Strategy<Value = CostModel> {
        let hosts = (1..4_u32, number(), number())
            .prop_map(|(ranks, fixed, per_byte)| Hosts { ranks, local: Block { fixed, per_byte } });
        let queue =
            (number(), number(), number()).prop_map(|(bytes, gap_ratio, timeout)| Queue { bytes, gap_ratio, timeout });
        let numbers = prop::array::uniform7(number());
        (numbers, any::<bool>(), prop::option::of(hosts), prop::option::of(queue)).prop_map(
            |([a_w, b_w, a_c, b_c, latency, combine, ranks_per_core], is_shared, hosts, queue)| CostModel {
                node: Block { fixed: a_w, per_byte: b_w },
                network: Block { fixed: a_c, per_byte: b_c },
                is_shared,
                latency,
                combine,
                queue,
                ranks_per_core,
                hosts,
            },
        )
    }

    /// The best price; `None` if it is not found in a minute.
    fn price(machine: CostModel, sequence: Sequence, call: Call) -> Option<f64> {
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || done.send(Prices::new(machine).choose_in(sequence, &call).best().seconds));
        is_done.recv_timeout(Duration::from_secs(60)).ok()
    }

    proptest! {
        #![proptest_config(crate::scale::cases(300))]

        #[test]
        fn has_prices(
            machine in machine(),
            collective in prop::sample::select(Collective::ALL.to_vec()),
            ranks in 1..10_u32,
            bytes in prop::sample::select(vec![0_u64, 8, 100_000, 1 << 20]),
        ) {
            for sequence in [Sequence::Single, Sequence::InARow] {
                prop_assert!(price(machine, sequence, Call::new(collective, ranks, bytes, 1)).is_some());
            }
        }

        /// The line that a calculation beside others once gave: bytes cost as good as nothing.
        #[test]
        fn bytes_may_cost_nothing(power in -30.0..-9.0_f64, ranks in 2..9_u32) {
            let price = |b: f64| {
                let machine = CostModel::of_link(0.89e-3, b, 0.44e-3);
                price(machine, Sequence::Single, Call::new(Collective::Allreduce, ranks, 24, 8)).expect("it ends")
            };
            let (least, own) = (price(0.0), price(10_f64.powf(power)));
            prop_assert!(least <= own && own <= least * 1.01, "{least} {own}");
        }
    }
}
