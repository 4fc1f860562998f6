//! Step 1: the heat equation on one processor.

use std::time::Instant;

const ROWS: usize = 20_000;
const COLUMNS: usize = 384;
const STEPS: usize = 50;

/// The temperatures of a column at the beginning.
fn initial(column: usize) -> Vec<f64> {
    (0..ROWS).map(|row| ((column * 31 + row * 17) % 97) as f64).collect()
}

/// A column of the next time step, from three of this one. The first and the last row keep their temperature.
fn relax([west, here, east]: [&[f64]; 3], next: &mut [f64]) {
    for row in 1..ROWS - 1 {
        let around = west[row] + east[row] + here[row - 1] + here[row + 1];
        next[row] = here[row] + 0.2 * (around - 4.0 * here[row]);
    }
}

fn main() {
    // The domain is a ring: the last column is a neighbour of the first. Column 0 and the one behind the last are copies.
    let mut old: Vec<Vec<f64>> = (0..COLUMNS + 2).map(|at| initial((at + COLUMNS - 1) % COLUMNS)).collect();
    let mut new = old.clone();

    let start = Instant::now();
    for _ in 0..STEPS {
        for at in 1..=COLUMNS {
            relax([&old[at - 1], &old[at], &old[at + 1]], &mut new[at]);
        }
        new[0] = new[COLUMNS].clone();
        new[COLUMNS + 1] = new[1].clone();
        std::mem::swap(&mut old, &mut new);
    }
    let step = start.elapsed() / STEPS as u32;

    let sums = old[1..=COLUMNS].iter().map(|column| column.iter().sum::<f64>());
    println!("alone: {step:.1?} per step, the sum of all temperatures is {:.6}", sums.sum::<f64>());
}
