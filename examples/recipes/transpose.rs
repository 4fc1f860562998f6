//! A transform in two dimensions, as an FFT: rows, transposition, columns. The first half of a rank's rows travels while the
//! second one is transformed. Neither dimension need be a multiple of the number of ranks.

use std::error::Error;
use std::f64::consts::PI;
use std::ops::Range;

use lathide::{Operator, Section};

const ROWS: usize = 45;
const COLUMNS: usize = 58;

fn main() -> Result<(), Box<dyn Error>> {
    let node = lathide::init()?;
    let (size, rank) = (node.size() as usize, node.rank().index());
    let share = |count, part, parts| count * part / parts..count * (part + 1) / parts;
    let rows = |rank, half| share(ROWS, 2 * rank + half, 2 * size);
    let columns = |rank| share(COLUMNS, rank, size);
    let width = columns(rank).len();
    let start = |half| {
        let rows_here = rows(rank, half);
        let done = transform_rows(&input(rows_here.clone()), COLUMNS);
        let block = |to| Section::of(&[rows_here.len(), COLUMNS], &[0..rows_here.len(), columns(to)])?.pack(&done);
        let blocks = (0..size).map(block).collect::<lathide::Result<Vec<_>>>()?;
        let sent: Vec<usize> = blocks.iter().map(Vec::len).collect();
        let received: Vec<usize> = (0..size).map(|from| rows(from, half).len() * width).collect();
        node.initalltoall_counts(&sent, &received, blocks.concat())
    };
    let mut transposed = vec![0.0; width * ROWS];
    for (half, blocks) in [start(0)?, start(1)?].into_iter().enumerate() {
        let (blocks, mut first) = (blocks.wait()?, 0);
        for rows in (0..size).map(|from| rows(from, half)) {
            let block = &blocks[first..first + rows.len() * width];
            Section::at(rows.start).by(rows.len(), 1).by(width, ROWS as isize).unpack(block, &mut transposed)?;
            first += block.len();
        }
    }
    let result = transform_rows(&transposed, ROWS);

    let whole = transform_rows(&input(0..ROWS), COLUMNS); // the same on one rank
    let column = |at| whole.iter().skip(at).step_by(COLUMNS).copied();
    let is_wrong = result != transform_rows(&columns(rank).flat_map(column).collect::<Vec<_>>(), ROWS);
    match node.allreduce(&Operator::sum(), vec![u32::from(is_wrong)])?[0] {
        0 if rank == 0 => println!("transpose: {ROWS} x {COLUMNS} on {size} ranks, correct to the bit"),
        0 => {}
        wrong => return Err(format!("{wrong} ranks differ from the sequential result").into()),
    }
    Ok(node.finalize()?)
}

fn input(rows: Range<usize>) -> Vec<f64> {
    rows.flat_map(|r| (0..COLUMNS).map(move |c| ((31 * r + 17 * c) % 101) as f64)).collect()
}

/// The cosine transform of each row.
fn transform_rows(rows: &[f64], length: usize) -> Vec<f64> {
    let angle = |x: usize, k: usize| PI / length as f64 * (x as f64 + 0.5) * k as f64;
    let sum = |row: &[f64], k| row.iter().enumerate().map(|(x, value)| value * angle(x, k).cos()).sum::<f64>();
    rows.chunks(length).flat_map(|row| (0..length).map(move |k| sum(row, k))).collect()
}
