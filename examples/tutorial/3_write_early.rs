//! Step 3: the edges first, and their messages leave before the interior is calculated (version I.2).

use std::mem::take;
use std::time::Instant;

use lathide::Tag;

const ROWS: usize = 20_000;
const COLUMNS: usize = 384;
const STEPS: usize = 50;
const WESTWARD: Tag = Tag(1);
const EASTWARD: Tag = Tag(2);

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

fn main() -> lathide::Result<()> {
    let node = lathide::init()?;
    let (rank, size) = (node.rank(), node.size());
    let (west, east) = (rank.on_ring(-1, size), rank.on_ring(1, size));

    // Each rank has a strip of columns, and a copy of the column beside it on either side: the ghost columns.
    let own = COLUMNS / size as usize;
    assert!(own * size as usize == COLUMNS && own >= 2, "{COLUMNS} columns for {size} ranks");
    let first = rank.index() * own;
    let mut old: Vec<Vec<f64>> = (0..own + 2).map(|at| initial((first + at + COLUMNS - 1) % COLUMNS)).collect();
    let mut new = old.clone();

    let (start, solve) = (Instant::now(), node.region("solve"));
    for _ in 0..STEPS {
        for at in [1, own] {
            relax([&old[at - 1], &old[at], &old[at + 1]], &mut new[at]);
        }
        node.initwrite(west, WESTWARD, new[1].clone())?.wait()?;
        node.initwrite(east, EASTWARD, new[own].clone())?.wait()?;
        for at in 2..own {
            relax([&old[at - 1], &old[at], &old[at + 1]], &mut new[at]);
        }
        new[own + 1] = node.initread(east, WESTWARD, take(&mut new[own + 1]))?.wait()?;
        new[0] = node.initread(west, EASTWARD, take(&mut new[0]))?.wait()?;
        std::mem::swap(&mut old, &mut new);
    }
    drop(solve);
    let step = start.elapsed() / STEPS as u32;

    let sums = old[1..=own].iter().map(|column| column.iter().sum()).collect();
    if let Some(sums) = node.gather(0, sums)? {
        println!("I.2: {step:.1?} per step, the sum of all temperatures is {:.6}", sums.iter().sum::<f64>());
    }
    node.finalize()
}
