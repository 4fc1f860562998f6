//! The side for an efficiency is the least that has it.

use proptest::prelude::*;

use super::*;
use crate::property_support_tests::{anything, sane};

fn at(channel: &Channel, shape: Shape, side: u64, p: u32, t_c: f64, other: &Overheads) -> f64 {
    let calculation_s = calculation_s(side * side, t_c, p).unwrap();
    efficiency(calculation_s, &channel.overheads(shape, side, p, other).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn the_side_is_the_least(
        wanted in 0.01..0.999, p in 9..100_000u32, t_c in 1e-10..1e-6, t_s in 0.0..1e-3, t_w in 0.0..1e-6, syn in 0.0..1e-3,
    ) {
        let channel = Channel::new(t_s, t_w).unwrap();
        let other = Overheads { synchronisation_s: syn, ..Overheads::default() };
        for shape in [Shape::Blocks, Shape::Strips] {
            let side = match channel.side_for_efficiency(wanted, shape, p, t_c, &other) {
                Ok(side) => side,
                // No matrix is so large.
                Err(bad) => {
                    prop_assert!(bad.name == "n" && bad.value > 4e9, "{bad}");
                    continue;
                }
            };
            let near = 1e-9 * wanted;
            prop_assert!(at(&channel, shape, side, p, t_c, &other) >= wanted - near, "{shape:?} {side}");
            prop_assert!(side == 1 || at(&channel, shape, side - 1, p, t_c, &other) < wanted + near, "{shape:?} {side}");
            // Section 5: where E is above one half, w = max(T_comp, h) is T_comp.
            let calculation_s = calculation_s(side * side, t_c, p).unwrap();
            let overheads = channel.overheads(shape, side, p, &other).unwrap();
            if wanted > 0.51 {
                prop_assert_eq!(isoefficiency_s(calculation_s, &overheads).unwrap(), calculation_s);
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    /// Whatever is put in, a number comes out, or an error.
    #[test]
    fn no_argument_gives_a_wrong_number(
        [wanted, t_c, t_s, t_w, other, hops] in prop::array::uniform6(anything()), p: u32, part in 0.0..1.0,
    ) {
        let overheads = Overheads { synchronisation_s: other, communication_s: t_c, ..Overheads::default() };
        sane(efficiency(t_c, &overheads))?;
        for topology in Topology::ALL {
            sane(topology.mean_hops(p))?;
        }
        let Ok(channel) = Channel::new(t_s, t_w) else { return Ok(()) };
        sane(channel.cut_through_s(&Crossing { words: p.into(), hops, hop_s: other }))?;
        for shape in [Shape::Blocks, Shape::Strips] {
            for wanted in [wanted, part] {
                let side = channel.side_for_efficiency(wanted, shape, p, t_c, &overheads);
                sane(side.map(|side| side as f64))?;
                prop_assert!(side.is_err() || (1..=u64::from(u32::MAX)).contains(&side.unwrap()));
            }
        }
    }
}

/// t_s = 9, t_w = 1, t_c = 1, E = 1/2: n^2 / p = h. With 16 strips n^2 = 16 * 4 (9 + n), n = 71.999...
#[test]
fn sides_by_hand() {
    let channel = Channel::new(9.0, 1.0).unwrap();
    let none = Overheads::default();
    assert_eq!(channel.side_for_efficiency(0.5, Shape::Strips, 16, 1.0, &none), Ok(72));
    // n^2 = 16 * 8 (9 + n/4): n = 16 + sqrt(256 + 1152) = 53.5.
    assert_eq!(channel.side_for_efficiency(0.5, Shape::Blocks, 16, 1.0, &none), Ok(54));
    let free = Channel::new(0.0, 0.0).unwrap();
    assert_eq!(free.side_for_efficiency(0.999, Shape::Strips, 16, 1.0, &none), Ok(1), "nothing to outweigh");
    assert_eq!(efficiency(3.0, &Overheads { communication_s: 1.0, ..none }), Ok(0.75));
}

#[test]
fn no_such_side() {
    let channel = Channel::ETHERNET;
    let side = |e, shape, p, t_c, other| channel.side_for_efficiency(e, shape, p, t_c, &other).map_err(|bad| bad.name);
    let none = Overheads::default;
    for bad in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
        assert_eq!(side(bad, Shape::Strips, 16, 1e-9, none()), Err("E"));
    }
    assert_eq!(side(0.5, Shape::Strips, 0, 1e-9, none()), Err("p"));
    assert_eq!(side(0.5, Shape::Blocks, 8, 1e-9, none()), Err("p"));
    assert_eq!(side(0.5, Shape::Strips, 2, 0.0, none()), Err("t_c"));
    assert_eq!(side(0.5, Shape::Strips, 2, 1e-300, none()), Err("n"));
    assert_eq!(side(0.5, Shape::Strips, 2, 1.0, Overheads { architecture_s: -1.0, ..none() }), Err("T_arch"));
    assert_eq!(efficiency(0.0, &none()).unwrap_err().name, "T_comp");
    assert_eq!(
        channel.overheads(Shape::Strips, 8, 4, &Overheads { communication_s: f64::NAN, ..none() }).unwrap_err().name,
        "T_comm"
    );
}
