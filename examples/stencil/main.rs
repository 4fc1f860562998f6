//! The 2-D explicit heat equation of Strumpen 1994, section 2, in the paper's versions I.1, I.2 and I.3.
//!
//! The domain is cut into strips of columns, one per rank. A step needs the neighbours' boundary columns of the
//! step before: they are the ghost columns. Rank 0 gathers the result and compares it with the sequential one.
//!
//! `lathide run -n 4 target/debug/examples/stencil --version i3 --rows 1000 --columns 64 --steps 50`
//!
//! `--halo 8` has 8 ghost columns on each side, and calculates 8 steps for each exchange (`deep.rs`).

mod deep;

use std::mem::take;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use deep::Deep;
use lathide::{Node, Rank, Tag};

const HALO: Tag = Tag(1);
const RESULT: Tag = Tag(2);
/// The paper's r_x and r_y; stable while their sum is at most 1/2.
const RX: f64 = 0.2;
const RY: f64 = 0.15;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stencil: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let node = lathide::init()?;
    let (rank, size) = (node.rank(), node.size());
    if size as usize > options.columns {
        return Err(format!("{size} ranks, but only {} columns: every rank needs one", options.columns).into());
    }

    let columns = share(options.columns, rank, size);
    let narrowest = options.columns / size as usize;
    if options.halo.is_some_and(|halo| halo > narrowest) {
        return Err(
            format!("--halo is wider than the narrowest strip, {narrowest} columns: a neighbour has no more").into()
        );
    }
    let mut strip = match options.halo {
        Some(halo) => Columns::Deep(Deep::new(&options, halo, columns, &node)),
        None => Columns::Strip(Strip::new(&options, columns)),
    };
    node.barrier()?;
    let (start, solve) = (Instant::now(), node.region("solve"));
    match &mut strip {
        Columns::Deep(deep) => deep.run(&node, options.version, options.steps)?,
        Columns::Strip(strip) => strip.run(&node, options.version, options.steps)?,
    }
    drop(solve);
    node.barrier()?;
    let time = start.elapsed();

    let mine = match strip {
        Columns::Deep(deep) => deep.columns(),
        Columns::Strip(strip) => strip.old.concat(),
    };
    if let Some(result) = gather(&node, mine, &options)? {
        let mut sequential = Strip::new(&options, 0..options.columns);
        for _ in 0..options.steps {
            sequential.calculate(0..options.columns);
            sequential.advance();
        }
        let expected = sequential.old.concat();
        if let Some(wrong) = (0..expected.len()).find(|at| result[*at].to_bits() != expected[*at].to_bits()) {
            let (column, row) = (wrong / options.rows, wrong % options.rows);
            return Err(format!("column {column}, row {row}: {} instead of {}", result[wrong], expected[wrong]).into());
        }
        let Options { version, halo, rows, columns, steps } = options;
        let ghosts = halo.map_or(String::new(), |halo| format!(" with {halo} ghost columns"));
        println!(
            "{version:?}{ghosts}: {rows} x {columns} points, {steps} steps on {size} ranks in {time:.3?}, correct to the bit"
        );
    }
    Ok(node.finalize()?)
}

/// The columns of one rank. The first ranks take one more where it does not come out even.
fn share(columns: usize, rank: Rank, size: u32) -> Range<usize> {
    let start = |rank: usize| rank * (columns / size as usize) + rank.min(columns % size as usize);
    start(rank.index())..start(rank.index() + 1)
}

enum Columns {
    Deep(Deep),
    Strip(Strip),
}

/// The values of time step 0 in column `c`.
fn initial(c: usize, column: &mut [f64]) {
    column.iter_mut().enumerate().for_each(|(r, value)| *value = ((r * 31 + c * 17) % 101) as f64);
}

/// The five-point stencil: the new values of a column from the old ones of the left one, itself, and the right one.
fn update([left, here, right]: [&[f64]; 3], new: &mut [f64]) {
    let last = here.len() - 1;
    for (r, new) in new.iter_mut().enumerate() {
        let above = if r == 0 { 0.0 } else { here[r - 1] };
        let below = if r == last { 0.0 } else { here[r + 1] };
        *new = RX * (left[r] + right[r]) + (1.0 - 2.0 * RX - 2.0 * RY) * here[r] + RY * (above + below);
    }
}

/// A rank's columns at two consecutive time steps, and the ghost columns to the left and right of the older ones.
/// Outside of the domain it is always 0.
struct Strip {
    old: Vec<Vec<f64>>,
    new: Vec<Vec<f64>>,
    ghost: [Vec<f64>; 2],
}

impl Strip {
    fn new(options: &Options, columns: Range<usize>) -> Self {
        let rows = options.rows;
        let column = |c: usize| {
            let mut column = vec![0.0; rows];
            initial(c, &mut column);
            column
        };
        // Time step 0 is known to all, so the first ghost columns need not be sent.
        let ghost = |c: Option<usize>| c.filter(|c| *c < options.columns).map_or(vec![0.0; rows], column);
        Strip {
            old: columns.clone().map(column).collect(),
            new: vec![vec![0.0; rows]; columns.len()],
            ghost: [ghost(columns.start.checked_sub(1)), ghost(Some(columns.end))],
        }
    }

    /// Step by step.
    fn run(&mut self, node: &Node, version: Version, steps: usize) -> lathide::Result<()> {
        (0..steps).try_for_each(|_| match version {
            Version::I1 => self.step_i1(node),
            Version::I2 => self.step_i2(node),
            Version::I3 => self.step_i3(node),
        })
    }

    /// A step on some of the columns.
    fn calculate(&mut self, columns: Range<usize>) {
        for c in columns {
            let left = if c == 0 { &self.ghost[0] } else { &self.old[c - 1] };
            let right = self.old.get(c + 1).unwrap_or(&self.ghost[1]);
            update([left, &self.old[c], right], &mut self.new[c]);
        }
    }

    /// The columns that the neighbours need; they are one and the same if the strip has only one.
    fn calculate_boundary(&mut self) {
        let last = self.new.len() - 1;
        self.calculate(0..1);
        self.calculate(last.max(1)..last + 1);
    }

    fn calculate_interior(&mut self) {
        self.calculate(1..self.new.len().saturating_sub(1).max(1));
    }

    fn advance(&mut self) {
        std::mem::swap(&mut self.old, &mut self.new);
    }

    /// I.1: calculate, write, read. Nothing overlaps.
    fn step_i1(&mut self, node: &Node) -> lathide::Result<()> {
        self.calculate(0..self.new.len());
        self.write(node)?;
        self.read(node)?;
        self.advance();
        Ok(())
    }

    /// I.2: boundary, blocking write, interior, read. Only what the system buffers can overlap.
    fn step_i2(&mut self, node: &Node) -> lathide::Result<()> {
        self.calculate_boundary();
        self.write(node)?;
        self.calculate_interior();
        self.read(node)?;
        self.advance();
        Ok(())
    }

    /// I.3: boundary, initread, initwrite, interior, wait, wait. The interior hides the communication.
    fn step_i3(&mut self, node: &Node) -> lathide::Result<()> {
        self.calculate_boundary();
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (side, neighbour) in self.neighbours(node) {
            reads.push((side, node.initread(neighbour, HALO, take(&mut self.ghost[side]))?));
        }
        for (side, neighbour) in self.neighbours(node) {
            writes.push(node.initwrite(neighbour, HALO, self.edge(side))?);
        }
        self.calculate_interior();
        for write in writes {
            write.wait()?;
        }
        for (side, read) in reads {
            self.ghost[side] = read.wait()?;
        }
        self.advance();
        Ok(())
    }

    fn write(&self, node: &Node) -> lathide::Result<()> {
        for (side, neighbour) in self.neighbours(node) {
            node.initwrite(neighbour, HALO, self.edge(side))?.wait()?;
        }
        Ok(())
    }

    fn read(&mut self, node: &Node) -> lathide::Result<()> {
        for (side, neighbour) in self.neighbours(node) {
            self.ghost[side] = node.initread(neighbour, HALO, take(&mut self.ghost[side]))?.wait()?;
        }
        Ok(())
    }

    /// A copy of the newest column on one side: 0 is left, 1 is right.
    fn edge(&self, side: usize) -> Vec<f64> {
        self.new[side * (self.new.len() - 1)].clone()
    }

    /// The sides that have a neighbour.
    fn neighbours(&self, node: &Node) -> impl Iterator<Item = (usize, Rank)> + use<> {
        [node.rank().below(), node.rank().above(node.size())].into_iter().enumerate().filter_map(|(s, n)| Some((s, n?)))
    }
}

/// All columns one after the other, at rank 0.
fn gather(node: &Node, mine: Vec<f64>, options: &Options) -> lathide::Result<Option<Vec<f64>>> {
    if node.rank() != 0 {
        node.initwrite(0, RESULT, mine)?.wait()?;
        return Ok(None);
    }
    let mut all = mine;
    for rank in (1..node.size()).map(Rank) {
        let points = share(options.columns, rank, node.size()).len() * options.rows;
        all.extend(node.initread(rank, RESULT, vec![0.0; points])?.wait()?);
    }
    Ok(Some(all))
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Version {
    I1,
    I2,
    I3,
}

struct Options {
    version: Version,
    /// Ghost columns on each side; `None` for the paper's own versions, with one.
    halo: Option<usize>,
    rows: usize,
    columns: usize,
    steps: usize,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = Options { version: Version::I3, halo: None, rows: 1000, columns: 64, steps: 50 };
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            let number = || value.parse::<usize>().map_err(|error| format!("{name} {value}: {error}"));
            match name.as_str() {
                "--halo" => options.halo = Some(number()?),
                "--rows" => options.rows = number()?,
                "--columns" => options.columns = number()?,
                "--steps" => options.steps = number()?,
                "--version" => {
                    options.version = match value.as_str() {
                        "i1" => Version::I1,
                        "i2" => Version::I2,
                        "i3" => Version::I3,
                        _ => return Err(format!("--version {value}: there are i1, i2 and i3").into()),
                    }
                }
                _ => return Err(format!("{name}: there are --version, --halo, --rows, --columns and --steps").into()),
            }
        }
        if options.rows == 0 || options.columns == 0 {
            return Err("--rows and --columns must be at least 1".into());
        }
        if options.halo == Some(0) {
            return Err("--halo must be at least 1".into());
        }
        if options.halo.is_some() && options.version == Version::I2 {
            return Err("--halo goes with --version i1 (nothing is hidden) or i3 (the exchange is)".into());
        }
        Ok(options)
    }
}
