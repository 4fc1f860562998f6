//! Strips against the whole domain, point by point, and in all orders of calculation and exchange.

use super::*;

/// The whole domain at once, point by point, without blocks, lanes or strips.
fn plain(shape: Shape, steps: u32) -> Vec<Vec<f64>> {
    let Shape { rows, columns, work } = shape;
    let mut grid: Vec<Vec<f64>> = (0..2 * columns)
        .map(|c| {
            let mut column = vec![0.0; rows];
            match c.checked_sub(columns) {
                Some(distance) => start(&mut column, Side::Right, distance),
                None => start(&mut column, Side::Left, columns - 1 - c),
            }
            column
        })
        .collect();
    let at = |grid: &[Vec<f64>], c: isize, r: isize| -> f64 {
        let column = usize::try_from(c).ok().and_then(|c| grid.get(c));
        column.and_then(|column| column.get(usize::try_from(r).ok()?)).copied().unwrap_or(0.0)
    };
    for _ in 0..steps {
        let mut next = grid.clone();
        for (c, column) in next.iter_mut().enumerate() {
            for (r, value) in column.iter_mut().enumerate() {
                let (c, r) = (c as isize, r as isize);
                let sides = at(&grid, c - 1, r) + at(&grid, c + 1, r);
                let line = at(&grid, c, r - 1) + at(&grid, c, r + 1);
                *value = RX * sides + (1.0 - 2.0 * RX - 2.0 * RY) * at(&grid, c, r) + RY * line;
                for _ in 0..work {
                    *value += LOSS / f64::from(work) * (SURROUNDINGS - *value);
                }
            }
        }
        grid = next;
    }
    grid
}

/// Two strips with their exchange, calculated in the order of version I.1 or of I.2 and I.3.
fn strips(shape: Shape, steps: u32, boundary_first: bool) -> [Strip; 2] {
    let mut strips = [Strip::new(shape, Side::Left), Strip::new(shape, Side::Right)];
    for _ in 0..steps {
        for strip in &mut strips {
            if boundary_first {
                strip.calculate(strip.boundary());
                let edge = strip.take_boundary();
                strip.calculate(strip.interior());
                strip.put_boundary(edge);
            } else {
                strip.calculate(strip.all());
            }
        }
        let [left, right] = &mut strips;
        let (to_right, to_left) = (left.take_boundary(), right.take_boundary());
        left.put_ghost(to_left.clone());
        right.put_ghost(to_right.clone());
        left.put_boundary(to_right);
        right.put_boundary(to_left);
        left.advance();
        right.advance();
    }
    strips
}

#[test]
fn strips_equal_the_plain_grid_to_the_bit() {
    for (rows, columns, work) in [(1, 1, 0), (1, 2, 3), (2, 3, 1), (40, 4, 2), (BLOCK + 17, 2, 1), (2 * BLOCK, 1, 0)] {
        let shape = Shape { rows, columns, work };
        let expected = plain(shape, 5);
        for boundary_first in [false, true] {
            let [left, right] = strips(shape, 5, boundary_first);
            let whole: Vec<&Vec<f64>> = left.old.iter().rev().chain(&right.old).collect();
            for (c, (got, expected)) in whole.into_iter().zip(&expected).enumerate() {
                let bits = |column: &[f64]| column.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(got), bits(expected), "{shape:?}, column {c}, boundary first: {boundary_first}");
            }
            assert_eq!([left.checksum(), right.checksum()], sequential(shape, 5), "{shape:?}");
        }
    }
}

/// Several steps for each exchange of ghost columns, the independent ones before it or all after it.
#[test]
fn ghost_columns_do_for_as_many_steps() {
    for (rows, columns, ghosts) in [(1, 1, 1), (3, 4, 1), (20, 5, 2), (7, 6, 6), (BLOCK + 3, 9, 4)] {
        let shape = Shape { rows, columns, work: 2 };
        let mut strips = [Side::Left, Side::Right].map(|side| Strip::with_ghosts(shape, side, ghosts));
        for _ in 0..3 {
            let edges = strips.each_ref().map(|strip| {
                let mut edge = vec![0.0; ghosts * rows];
                strip.copy_edge(&mut edge);
                edge
            });
            for (strip, edge) in strips.iter_mut().zip(edges.iter().rev()) {
                for step in 1..=ghosts {
                    strip.calculate(strip.independent(step));
                    strip.advance();
                }
                // As many advances come back to the step of the exchange only if they are even.
                (0..ghosts % 2).for_each(|_| strip.advance());
                strip.copy_to_ghosts(edge);
                for step in 1..=ghosts {
                    strip.calculate(strip.dependent(step));
                    strip.advance();
                }
            }
        }
        let got = strips.map(|strip| strip.checksum());
        assert_eq!(got, sequential(shape, 3 * ghosts as u32), "{shape:?}, {ghosts} ghost columns");
    }
}

#[test]
fn checksums_see_single_bits_and_places() {
    let shape = Shape { rows: 50, columns: 3, work: 1 };
    let strip = || Strip::new(shape, Side::Left);
    let sum = strip().checksum();
    let mut bit = strip();
    bit.old[1][7] = f64::from_bits(bit.old[1][7].to_bits() ^ 1);
    assert_ne!(bit.checksum(), sum);
    let mut swapped = strip();
    swapped.old[2].swap(3, 4);
    assert_ne!(swapped.checksum(), sum);
    let mut again = strip();
    again.calculate(again.all());
    again.advance();
    again.restart(shape.work);
    assert_eq!(again.checksum(), sum, "restart is complete");
}

#[test]
fn heat_spreads_and_is_lost() {
    let shape = Shape { rows: 30, columns: 4, work: 5 };
    let mut strip = Strip::new(shape, Side::Left);
    for _ in 0..2000 {
        strip.calculate(strip.all());
        strip.advance();
    }
    let inside = strip.old[2][15];
    assert!(inside > 0.0 && inside < SURROUNDINGS, "between the cold edge and the surroundings: {inside}");
}
