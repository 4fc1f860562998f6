//! Pi, as the integral of 4 / (1 + x^2) from 0 to 1: every rank sums its share of the strips, an allreduce adds them up.
//!
//! The strips are summed in rounds; the sum of one round travels, and is added up by the kernel, while the next is worked
//! out. The last line says how the allreduce was carried out, and what else it could have been.
//!
//! `lathide run -n 4 target/debug/examples/pi 1000000`

use std::process::ExitCode;

use lathide::Operator;

const ROUNDS: u64 = 10;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pi: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let strips: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |strips| strips.parse())?;
    let node = lathide::init()?;
    let (rank, size) = (u64::from(node.rank().0), u64::from(node.size()));
    let share = |round: u64| {
        let mine = (round * size + rank..strips).step_by((ROUNDS * size) as usize);
        mine.map(|strip| 4.0 / (1.0 + ((strip as f64 + 0.5) / strips as f64).powi(2))).sum::<f64>() / strips as f64
    };
    let mut pi = 0.0;
    let mut under_way = node.initallreduce(&Operator::sum(), vec![share(0)])?;
    for round in 1..ROUNDS {
        let next = share(round);
        pi += under_way.wait()?[0];
        under_way = node.initallreduce(&Operator::sum(), vec![next])?;
    }
    let choice = under_way.choice().map(ToString::to_string).unwrap_or_default();
    pi += under_way.wait()?[0];

    // Every rank has the same bits, and they are right.
    let all = node.allgather(vec![pi.to_bits()])?;
    let error = (pi - std::f64::consts::PI).abs();
    // The midpoint rule's own error, and what rounding may add.
    let bound = 1.0 / (strips as f64).powi(2) + 1e-12;
    if all.iter().any(|bits| *bits != pi.to_bits()) || error > bound {
        return Err(format!("{pi} is wrong by {error}, more than {bound}, or ranks differ: {all:x?}").into());
    }
    if rank == 0 {
        println!("{size} ranks: pi = {pi:.12}, wrong by {error:.1e}");
        println!("allreduce by {choice}");
    }
    Ok(node.finalize()?)
}
