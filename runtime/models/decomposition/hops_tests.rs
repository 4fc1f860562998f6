//! The numbers of hops are those that a search finds.

use super::{Channel, Crossing, Topology};

/// The nodes that one node is joined to, by the definition of each network.
fn neighbours(topology: Topology, p: u32, node: u32) -> Vec<u32> {
    let rows = (1..=p).filter(|rows| p.is_multiple_of(*rows) && rows * rows <= p).max().unwrap();
    let columns = p / rows;
    let (row, column) = (node / columns, node % columns);
    let joined = |other: u32| {
        let (other_row, other_column) = (other / columns, other % columns);
        let near = |one: u32, two: u32| one.abs_diff(two) == 1;
        let around = |one: u32, two: u32, all: u32| near(one, two) || one.abs_diff(two) == all - 1;
        match topology {
            Topology::Bus | Topology::Crossbar => true,
            Topology::Hypercube => (node ^ other).count_ones() == 1,
            Topology::Mesh => {
                (row == other_row && near(column, other_column)) || (column == other_column && near(row, other_row))
            }
            Topology::Ring => around(node, other, p),
            Topology::Torus => {
                (row == other_row && around(column, other_column, columns))
                    || (column == other_column && around(row, other_row, rows))
            }
        }
    };
    (0..p).filter(|&other| other != node && joined(other)).collect()
}

/// The hops from one node to each, breadth first.
fn distances(topology: Topology, p: u32, from: u32) -> Vec<u32> {
    let mut hops = vec![u32::MAX; p as usize];
    hops[from as usize] = 0;
    let mut reached = vec![from];
    let mut next = 0;
    while next < reached.len() {
        let node = reached[next];
        for other in neighbours(topology, p, node) {
            if hops[other as usize] == u32::MAX {
                hops[other as usize] = hops[node as usize] + 1;
                reached.push(other);
            }
        }
        next += 1;
    }
    hops
}

#[test]
fn hops_are_what_a_search_finds() {
    for topology in Topology::ALL {
        for p in (2..=40u32).chain([49, 64]) {
            if topology == Topology::Hypercube && !p.is_power_of_two() {
                continue;
            }
            let all: Vec<u32> = (0..p).flat_map(|from| distances(topology, p, from)).collect();
            let mean = f64::from(all.iter().sum::<u32>()) / f64::from(p * (p - 1));
            assert_eq!(topology.most_hops(p), Ok(*all.iter().max().unwrap()), "{topology:?} of {p}");
            let ours = topology.mean_hops(p).unwrap();
            assert!((ours - mean).abs() < 1e-12 * mean, "{topology:?} of {p}: {ours}, not {mean}");
        }
    }
}

#[test]
fn hops_of_no_network() {
    for topology in Topology::ALL {
        assert_eq!((topology.most_hops(1), topology.mean_hops(1)), (Ok(0), Ok(0.0)), "{topology:?}");
        assert_eq!(topology.mean_hops(0).unwrap_err().name, "p");
        // None of these can be left: neither 2^32 - 1 nor 2^31 nodes overflow.
        let p = if topology == Topology::Hypercube { 1 << 31 } else { u32::MAX };
        assert!(topology.mean_hops(p).unwrap() <= f64::from(topology.most_hops(p).unwrap()), "{topology:?}");
    }
    let refused = Topology::Hypercube.most_hops(12).unwrap_err().to_string();
    assert_eq!(refused, "p is 12, but must be a power of two for a hypercube");
    let far = Crossing { words: 1, hops: -1.0, hop_s: 1.0 };
    assert_eq!(Channel::FDDI.cut_through_s(&far).unwrap_err().name, "l_h");
}

/// Section 4.2 is linear in the hops, so the mean of the times is the time of the mean.
#[test]
fn the_mean_of_the_hops_gives_the_mean_of_the_times() {
    let crossing = |hops| Crossing { words: 100, hops, hop_s: 20e-6 };
    let others = distances(Topology::Torus, 12, 0);
    let one_by_one = others[1..].iter().map(|&hops| f64::from(hops));
    for time in [Channel::cut_through_s, Channel::store_and_forward_s] {
        let sum: f64 = one_by_one.clone().map(|hops| time(&Channel::FDDI, &crossing(hops)).unwrap()).sum();
        let of_mean = time(&Channel::FDDI, &crossing(Topology::Torus.mean_hops(12).unwrap())).unwrap();
        assert!((sum / 11.0 - of_mean).abs() < 1e-12);
    }
}
