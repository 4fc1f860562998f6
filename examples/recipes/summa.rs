//! SUMMA: C = A B in blocks on a 2-D grid of ranks. The next panels are broadcast while these are multiplied.

use std::error::Error;
use std::mem::replace;
use std::ops::Range;

use lathide::{Grid, Operator, Section};

const WIDTH: usize = 8; // of a panel

fn main() -> Result<(), Box<dyn Error>> {
    let node = lathide::init()?;
    let panels = node.size() as usize;
    let grid = Grid::new(&node, Grid::balanced(panels), [false, false])?;
    let ([height, width], [i, j]) = (grid.dims(), grid.coordinates());
    let (in_row, in_column) = (grid.line(1)?, grid.line(0)?);
    // Every column of ranks owns `height` panels of A, every row `width` panels of B.
    let (n, h, w) = (WIDTH * panels, WIDTH * width, WIDTH * height);
    let (rows, columns) = (i * h..(i + 1) * h, j * w..(j + 1) * w);
    let (a, b) = (matrix(5, rows.clone(), columns.clone()), matrix(7, rows.clone(), columns.clone()));

    let start = |panel: usize| -> lathide::Result<_> {
        let (mut left, mut upper) = (vec![0.0; h * WIDTH], vec![0.0; WIDTH * w]);
        if j == panel / height {
            left = Section::of(&[h, w], &[0..h, panel % height * WIDTH..(panel % height + 1) * WIDTH])?.pack(&a)?;
        }
        if i == panel / width {
            upper.copy_from_slice(&b[panel % width * WIDTH * w..][..WIDTH * w]);
        }
        Ok((in_row.initbroadcast(panel / height, left)?, in_column.initbroadcast(panel / width, upper)?))
    };
    let mut c = vec![0.0; h * w];
    let mut next = start(0)?;
    for panel in 1..panels {
        let (left, upper) = replace(&mut next, start(panel)?);
        multiply(&left.wait()?, &upper.wait()?, &mut c, w);
    }
    multiply(&next.0.wait()?, &next.1.wait()?, &mut c, w);

    let mut expected = vec![0.0; h * w];
    multiply(&matrix(5, rows, 0..n), &matrix(7, 0..n, columns), &mut expected, w);
    match node.allreduce(&Operator::sum(), vec![u32::from(c != expected)])?[0] {
        0 if node.rank() == 0 => println!("summa: {n} x {n} on {height} x {width} ranks, correct to the bit"),
        0 => {}
        wrong => return Err(format!("{wrong} ranks differ from the sequential result").into()),
    }
    Ok(node.finalize()?)
}

fn matrix(seed: usize, rows: Range<usize>, columns: Range<usize>) -> Vec<f64> {
    rows.flat_map(|r| columns.clone().map(move |c| ((r * seed + c * 3) % 11) as f64)).collect()
}

fn multiply(a: &[f64], b: &[f64], c: &mut [f64], width: usize) {
    for (a, c) in a.chunks(b.len() / width).zip(c.chunks_mut(width)) {
        for (a, b) in a.iter().zip(b.chunks(width)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
}
