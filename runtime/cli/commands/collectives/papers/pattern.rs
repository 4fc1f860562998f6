//! The papers' operations, message by message, as they describe them: without the segments that the library would cut.

use lathide::{Bytes, Collective, Handle, Node, Overrides, Rank, Tag};

use super::plan::{Pattern, Point};
use crate::commands::collectives::call::Data;
use crate::launch::failed::{Failed, Result};

const DATA: Tag = Tag(10);

/// What a rank does, ready to begin: its buffers are there.
pub(super) struct Ready {
    pattern: Pattern,
    bytes: usize,
    /// Of the library's own operation.
    data: Data,
    /// To send from, and to receive into.
    buffers: Vec<Vec<u8>>,
}

impl Ready {
    /// Makes the buffers, and has the library use the algorithm that is meant.
    pub(super) fn new(node: &Node, point: &Point) -> Result<Self> {
        let Point { pattern, bytes } = *point;
        let buffers = |count: usize| vec![vec![1_u8; bytes]; count];
        let (data, buffers) = match pattern {
            Pattern::Simple | Pattern::Windowed { .. } => {
                let forced = match pattern {
                    Pattern::Windowed { window } => format!("gather:windowed/{window}"),
                    _ => "gather:simple".to_owned(),
                };
                node.override_algorithms(Overrides::parse(&forced).map_err(Failed::new)?);
                (Data::new(node, Collective::Gather, bytes as u64), Vec::new())
            }
            Pattern::Packets { packets } => (Data::default(), buffers(packets as usize)),
            Pattern::Tree | Pattern::Serial => (Data::default(), buffers(1)),
            Pattern::Exchange { neighbours } => (Data::default(), buffers(2 * neighbours as usize)),
        };
        Ok(Ready { pattern, bytes, data, buffers })
    }

    /// Carries it out.
    pub(super) fn run(&mut self, node: &Node) -> lathide::Result<()> {
        let buffers = std::mem::take(&mut self.buffers);
        match self.pattern {
            Pattern::Simple | Pattern::Windowed { .. } => {
                self.data.call(node, (Collective::Gather, Rank(0)), self.bytes as u64, || ())?;
                node.override_algorithms(Overrides::none());
                Ok(())
            }
            Pattern::Packets { .. } => packets(node, buffers),
            Pattern::Tree => {
                let rank = node.rank().0;
                let parent = (rank > 0).then(|| Rank((rank.max(1) - 1) / 2));
                down(node, parent, &[2 * rank + 1, 2 * rank + 2], buffers)
            }
            Pattern::Serial if node.rank() == 0 => down(node, None, &(1..node.size()).collect::<Vec<u32>>(), buffers),
            Pattern::Serial => down(node, Some(Rank(0)), &[], buffers),
            Pattern::Exchange { neighbours } => exchange(node, neighbours, buffers),
        }
    }
}

/// Receives a message, and sends it to one after another, as far as there are such ranks.
fn down(node: &Node, parent: Option<Rank>, children: &[u32], buffers: Vec<Vec<u8>>) -> lathide::Result<()> {
    for mut buffer in buffers {
        if let Some(parent) = parent {
            buffer = node.initread(parent, DATA, buffer)?.wait()?;
        }
        for &child in children.iter().filter(|child| **child < node.size()) {
            buffer = node.initwrite(child, DATA, buffer)?.wait()?;
        }
    }
    Ok(())
}

/// Each buffer down the binomial tree; nobody waits until a packet has left before the next one follows.
fn packets(node: &Node, buffers: Vec<Vec<u8>>) -> lathide::Result<()> {
    let (parent, children) = binomial(node.rank().0, node.size());
    let mut writes = Vec::new();
    let mut write = |packet: Vec<u8>| -> lathide::Result<()> {
        let packet = Bytes::from(packet);
        for &child in &children {
            writes.push(node.initwrite(child, DATA, packet.clone())?);
        }
        Ok(())
    };
    match parent {
        None => buffers.into_iter().try_for_each(&mut write)?,
        Some(parent) => {
            let reads = buffers.into_iter().map(|buffer| node.initread(parent, DATA, buffer));
            for read in reads.collect::<lathide::Result<Vec<_>>>()? {
                write(read.wait()?)?;
            }
        }
    }
    writes.into_iter().try_for_each(|write| write.wait().map(drop))
}

/// Whom a rank receives from in the binomial tree below rank 0, and whom it sends to: the largest subtree first.
fn binomial(rank: u32, size: u32) -> (Option<u32>, Vec<u32>) {
    let span = if rank == 0 { size.next_power_of_two() } else { rank & rank.wrapping_neg() };
    let parent = (rank > 0).then(|| rank - span);
    let steps = std::iter::successors(Some(span / 2), |step| Some(step / 2)).take_while(|step| *step > 0);
    (parent, steps.map(|step| rank + step).filter(|child| *child < size).collect())
}

/// To each of so many neighbours on the ring, and from as many.
fn exchange(node: &Node, neighbours: u32, buffers: Vec<Vec<u8>>) -> lathide::Result<()> {
    let mut buffers = buffers.into_iter();
    let mut handles: Vec<Handle<Vec<u8>>> = Vec::new();
    let on_ring = |by: i64| node.rank().on_ring(by, node.size());
    for by in steps(neighbours) {
        handles.push(node.initread(on_ring(-by), DATA, buffers.next().unwrap_or_default())?);
    }
    for by in steps(neighbours) {
        handles.push(node.initwrite(on_ring(by), DATA, buffers.next().unwrap_or_default())?);
    }
    lathide::wait_all(handles).map(drop)
}

/// How far away on the ring the neighbours are: on both sides in turn.
fn steps(neighbours: u32) -> impl Iterator<Item = i64> {
    (0..i64::from(neighbours)).map(|at| if at % 2 == 0 { at / 2 + 1 } else { -(at / 2 + 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_tam_and_wang() {
        assert_eq!(binomial(0, 8), (None, vec![4, 2, 1]));
        assert_eq!(binomial(4, 8), (Some(0), vec![6, 5]));
        assert_eq!(binomial(7, 8), (Some(6), vec![]));
        assert_eq!(binomial(0, 6), (None, vec![4, 2, 1]));
        for size in [2, 3, 6, 8, 16] {
            for rank in 1..size {
                let parent = binomial(rank, size).0.unwrap();
                assert!(binomial(parent, size).1.contains(&rank), "{parent} sends to {rank} of {size}");
            }
        }
    }

    #[test]
    fn neighbours_are_on_both_sides() {
        assert_eq!(
            [1, 2, 4].map(|neighbours| steps(neighbours).collect::<Vec<i64>>()),
            [vec![1], vec![1, -1], vec![1, -1, 2, -2]]
        );
    }
}
