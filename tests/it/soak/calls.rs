//! Collectives that are waited for, in a row, as most programs call them: each begins while others may still be in the one before.

use lathide::{Node, Operator, Result};

use super::Load;
use crate::chance::Chance;

const KINDS: u64 = 11;

/// Some calls of one kind or of several, of one size or of several.
pub(super) fn calls(load: &Load, node: &Node, round: u64, numbers: &mut Chance) -> Result<()> {
    let (kind, bytes) = (numbers.below(KINDS), size(load, numbers));
    let (is_one_kind, is_one_size) = (numbers.once_in(2), numbers.once_in(2));
    let mut kept = Kept::default();
    for number in 0..1 + numbers.below(8) {
        let other = (numbers.below(KINDS), size(load, numbers));
        let kind = if is_one_kind { kind } else { other.0 };
        let bytes = if is_one_size { bytes } else { other.1 };
        let call = Call { load, node, round, number: 600 + number, root: numbers.below(node.size()), bytes };
        call.make(kind, &mut kept)?;
    }
    Ok(())
}

fn size(load: &Load, numbers: &mut Chance) -> usize {
    load.bytes(numbers).min(load.bytes_max as usize / 8)
}

/// Buffers that are used again from call to call.
#[derive(Default)]
struct Kept {
    sent: Vec<u8>,
    received: Vec<u8>,
}

struct Call<'a> {
    load: &'a Load,
    node: &'a Node,
    round: u64,
    number: u64,
    root: u32,
    bytes: usize,
}

impl Call<'_> {
    fn make(&self, kind: u64, Kept { sent, received }: &mut Kept) -> Result<()> {
        let &Call { node, root, bytes, .. } = self;
        let (rank, size) = (node.rank().0, node.size());
        let is_root = rank == root;
        match kind {
            0 => node.barrier()?,
            1 => {
                let buffer = if is_root { self.block(root) } else { vec![0; bytes] };
                self.check("broadcast", node.broadcast(root, buffer)? == self.block(root));
            }
            2 => {
                *sent = self.block(rank);
                node.gather_into(root, sent, received)?;
                self.check("gather", *sent == self.block(rank) && (!is_root || *received == self.blocks(0..size)));
            }
            3 => {
                node.allgather_into(&self.block(rank), received)?;
                self.check("allgather", *received == self.blocks(0..size));
            }
            4 => {
                *sent = self.blocks((0..size).map(|to| rank * size + to));
                node.alltoall_into(sent, received)?;
                self.check("alltoall", *received == self.blocks((0..size).map(|from| from * size + rank)));
            }
            5 => {
                let blocks = if is_root { self.blocks(0..size) } else { Vec::new() };
                self.check("scatter", node.scatter(root, bytes, blocks)? == self.block(rank));
            }
            _ => self.reduce(kind)?,
        }
        Ok(())
    }

    fn reduce(&self, kind: u64) -> Result<()> {
        let &Call { node, root, .. } = self;
        let rank = node.rank().0;
        let sums =
            |ranks: u32| self.numbers(|at| (0..ranks).fold(0, |sum: u64, rank| sum.wrapping_add(value(rank, at))));
        let mine = self.numbers(|at| value(rank, at));
        match kind {
            6 => self.check("allreduce", node.allreduce(&Operator::sum(), mine)? == sums(node.size())),
            // The program's own, not commutative.
            7 => {
                let second = Operator::new("second", false, |_, second: u64| second);
                let of_last = self.numbers(|at| value(node.size() - 1, at));
                self.check("allreduce by the program's operator", node.allreduce(&second, mine)? == of_last);
            }
            8 => {
                let sum = node.reduce(root, &Operator::sum(), mine)?;
                self.check("reduce", sum == (rank == root).then(|| sums(node.size())));
            }
            9 => self.check("scan", node.scan(&Operator::sum(), mine)? == sums(rank + 1)),
            _ => {
                let sum = node.exscan(&Operator::sum(), mine)?;
                self.check("exscan", sum == (rank > 0).then(|| sums(rank)));
            }
        }
        Ok(())
    }

    /// The block of a rank, or of a pair of them.
    fn block(&self, of: u32) -> Vec<u8> {
        self.load.message(self.round, of, self.number, self.bytes)
    }

    fn blocks(&self, of: impl IntoIterator<Item = u32>) -> Vec<u8> {
        of.into_iter().flat_map(|of| self.block(of)).collect()
    }

    fn numbers(&self, value: impl Fn(u64) -> u64) -> Vec<u64> {
        (0..self.bytes as u64 / 8).map(|at| value(at + self.number)).collect()
    }

    fn check(&self, what: &str, is_right: bool) {
        let Call { round, number, bytes, .. } = self;
        assert!(is_right, "round {round}, call {number}: {what} of {bytes} bytes is wrong");
    }
}

/// What a rank contributes at one place.
fn value(rank: u32, at: u64) -> u64 {
    Chance(u64::from(rank) << 40 ^ at).next()
}
