//! Block Jacobi: Laplace's equation on a 2-D grid of ranks. Ghost edges travel while the interior is computed.

use std::error::Error;
use std::ops::Range;

use lathide::{Grid, Operator, Rank, Section, SectionShift};

const N: usize = 60;
const STEPS: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let node = lathide::init()?;
    let grid = Grid::new(&node, Grid::balanced(node.size() as usize), [false, false])?;
    let ([height, width], [i, j]) = (grid.dims(), grid.coordinates());
    let share = |part: usize, parts: usize| N * part / parts + 1..N * (part + 1) / parts + 1;
    let (rows, columns) = (share(i, height), share(j, width));
    let (h, w) = (rows.len() + 2, columns.len() + 2); // with a frame of ghosts, or of the boundary
    let mut old = initial(rows.start - 1..rows.end + 1, columns.start - 1..columns.end + 1);
    let mut new = old.clone();

    let line = |at: usize| Section::of(&[h, w], &[at..at + 1, 1..w - 1]);
    let column = |at: usize| Section::of(&[h, w], &[1..h - 1, at..at + 1]);
    let with = |rank: Option<Rank>, section| rank.map(|rank| (rank, section));
    let ((above, below), (left, right)) = (grid.shift(0, 1), grid.shift(1, 1));
    let shifts = [
        SectionShift { to: with(above, line(1)?), from: with(below, line(h - 1)?) },
        SectionShift { to: with(below, line(h - 2)?), from: with(above, line(0)?) },
        SectionShift { to: with(left, column(1)?), from: with(right, column(w - 1)?) },
        SectionShift { to: with(right, column(w - 2)?), from: with(left, column(0)?) },
    ];
    for _ in 0..STEPS {
        let ghosts = grid.group().initexchange_sections(&shifts, &old)?;
        relax(&old, &mut new, w, 2..h - 2, 2..w - 2);
        ghosts.wait_into(&mut old)?;
        [1, h - 2].iter().for_each(|&at| relax(&old, &mut new, w, at..at + 1, 1..w - 1));
        [1, w - 2].iter().for_each(|&at| relax(&old, &mut new, w, 1..h - 1, at..at + 1));
        std::mem::swap(&mut old, &mut new);
    }

    let mut whole = initial(0..N + 2, 0..N + 2); // the same on one rank
    (0..STEPS).for_each(|_| relax(&whole.clone(), &mut whole, N + 2, 1..N + 1, 1..N + 1));
    let expected = Section::of(&[N + 2, N + 2], &[rows, columns])?.pack(&whole)?;
    let is_wrong = Section::of(&[h, w], &[1..h - 1, 1..w - 1])?.pack(&old)? != expected;
    match node.allreduce(&Operator::sum(), vec![u32::from(is_wrong)])?[0] {
        0 if node.rank() == 0 => println!("jacobi: {N} x {N} points on {height} x {width} ranks, correct to the bit"),
        0 => {}
        wrong => return Err(format!("{wrong} ranks differ from the sequential result").into()),
    }
    Ok(node.finalize()?)
}

fn initial(rows: Range<usize>, columns: Range<usize>) -> Vec<f64> {
    rows.flat_map(|r| columns.clone().map(move |c| ((31 * r + 17 * c) % 101) as f64)).collect()
}

fn relax(old: &[f64], new: &mut [f64], width: usize, rows: Range<usize>, columns: Range<usize>) {
    for at in rows.flat_map(|r| columns.clone().map(move |c| r * width + c)) {
        new[at] = (old[at - width] + old[at - 1] + old[at + 1] + old[at + width]) / 4.0;
    }
}
