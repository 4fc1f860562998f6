//! Hybrid with rayon: heat on a cylinder, in strips of rows. While the pool's threads compute the interior of a strip, this one
//! exchanges the edges with the neighbours; only it calls the library.

use std::error::Error;

use lathide::{Operator, Shift};
use rayon::prelude::*;

const ROWS: usize = 64; // round the cylinder
const WIDTH: usize = 100;
const STEPS: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let node = lathide::init()?;
    let (rank, size) = (node.rank(), node.size());
    let (above, below) = ((rank.on_ring(-1, size), WIDTH), (rank.on_ring(1, size), WIDTH));
    let shifts = [(above, below), (below, above)].map(|(to, from)| Shift { to: Some(to), from: Some(from) });
    let [first, last] = [0, 1].map(|end| ROWS * (rank.index() + end) / size as usize);
    let rows = last - first;
    // One row of ghosts at each end.
    let initial = |at: usize| ((31 * ((at / WIDTH + ROWS - 1) % ROWS) + 17 * (at % WIDTH)) % 101) as f64;
    let mut old: Vec<f64> = (first * WIDTH..(last + 2) * WIDTH).map(initial).collect();
    let mut new = old.clone();
    for _ in 0..STEPS {
        let edges = [&old[WIDTH..2 * WIDTH], &old[rows * WIDTH..(rows + 1) * WIDTH]].concat();
        let ghosts = node.initexchange(&shifts, edges)?;
        let ghosts = rayon::in_place_scope(|scope| {
            scope.spawn(|_| relax(&old, &mut new, 2..rows));
            ghosts.wait()
        })?;
        old[(rows + 1) * WIDTH..].copy_from_slice(&ghosts[..WIDTH]);
        old[..WIDTH].copy_from_slice(&ghosts[WIDTH..]);
        [1, rows].iter().for_each(|&at| relax(&old, &mut new, at..at + 1));
        std::mem::swap(&mut old, &mut new);
    }

    let mut whole: Vec<f64> = (0..(ROWS + 2) * WIDTH).map(initial).collect(); // the same on one rank
    for _ in 0..STEPS {
        let before = whole.clone();
        relax(&before, &mut whole, 1..ROWS + 1);
        whole.copy_within(ROWS * WIDTH..(ROWS + 1) * WIDTH, 0);
        whole.copy_within(WIDTH..2 * WIDTH, (ROWS + 1) * WIDTH);
    }
    let is_wrong = old[WIDTH..(rows + 1) * WIDTH] != whole[(first + 1) * WIDTH..(last + 1) * WIDTH];
    match node.allreduce(&Operator::sum(), vec![u32::from(is_wrong)])?[0] {
        0 if rank == 0 => println!("hybrid: {ROWS} rows on {size} ranks of {} threads", rayon::current_num_threads()),
        0 => {}
        wrong => return Err(format!("{wrong} ranks differ from the sequential result").into()),
    }
    Ok(node.finalize()?)
}

fn relax(old: &[f64], new: &mut [f64], rows: std::ops::Range<usize>) {
    let rows = rows.start * WIDTH..rows.end * WIDTH;
    new[rows.clone()].par_chunks_mut(WIDTH).zip(rows.into_par_iter().step_by(WIDTH)).for_each(|(new, start)| {
        for at in start + 1..start + WIDTH - 1 {
            new[at - start] = (old[at - WIDTH] + old[at - 1] + old[at + 1] + old[at + WIDTH]) / 4.0;
        }
    });
}
