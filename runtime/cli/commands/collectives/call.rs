//! Calls of any collective, with something to do meanwhile.

use lathide::Collective;
use lathide::{Handle, Node, Operator, Rank, Result};

use super::plan;

/// What a collective begins and ends with: numbers for a reduction, else bytes.
#[derive(Default)]
pub(super) struct Data {
    bytes: Vec<u8>,
    numbers: Vec<f64>,
}

impl Data {
    /// What this rank gives to a call with so many bytes, made before the clock runs.
    pub(super) fn new(node: &Node, operation: Collective, bytes: u64) -> Self {
        let count = plan::call(operation, node.size(), bytes).blocks.longest() as usize;
        let (bytes, numbers) = match operation {
            Collective::Barrier => (0, 0),
            Collective::Allreduce | Collective::Exscan | Collective::Reduce | Collective::Scan => (0, count),
            Collective::ReduceScatter => (0, count * node.size() as usize),
            Collective::Alltoall => (count * node.size() as usize, 0),
            Collective::Scatter if node.rank() == 0 => (count * node.size() as usize, 0),
            Collective::Scatter => (0, 0),
            Collective::Allgather | Collective::Broadcast | Collective::Gather => (count, 0),
        };
        Data { bytes: vec![1; bytes], numbers: vec![1.0; numbers] }
    }

    /// Carries out the operation with it, with this root if it has one, and does something meanwhile. What it ends with is
    /// cut to as many elements, so that the next call may begin with it.
    pub(super) fn call(
        &mut self,
        node: &Node,
        (operation, root): (Collective, Rank),
        bytes: u64,
        meanwhile: impl FnOnce(),
    ) -> Result<()> {
        let Data { bytes: block, numbers } = std::mem::take(self);
        let counts = [block.len(), numbers.len()];
        match operation {
            Collective::Allgather => self.bytes = wait(node.initallgather(block)?, meanwhile)?,
            Collective::Allreduce => self.numbers = wait(node.initallreduce(&Operator::sum(), numbers)?, meanwhile)?,
            Collective::Alltoall => self.bytes = wait(node.initalltoall(block)?, meanwhile)?,
            Collective::Barrier => wait(node.initbarrier()?, meanwhile)?,
            Collective::Broadcast => self.bytes = wait(node.initbroadcast(root, block)?, meanwhile)?,
            Collective::Exscan => {
                let before = node.initexscan(&Operator::sum(), numbers)?;
                self.numbers = wait(before, meanwhile)?.unwrap_or_default();
            }
            Collective::Gather => self.bytes = wait(node.initgather(root, block)?, meanwhile)?.unwrap_or_default(),
            Collective::Reduce => {
                let sum = node.initreduce(root, &Operator::sum(), numbers)?;
                self.numbers = wait(sum, meanwhile)?.unwrap_or_default();
            }
            Collective::ReduceScatter => {
                self.numbers = wait(node.initreduce_scatter(&Operator::sum(), numbers)?, meanwhile)?;
            }
            Collective::Scan => self.numbers = wait(node.initscan(&Operator::sum(), numbers)?, meanwhile)?,
            Collective::Scatter => self.bytes = wait(node.initscatter(root, bytes as usize, block)?, meanwhile)?,
        }
        self.bytes.truncate(counts[0]);
        self.numbers.truncate(counts[1]);
        Ok(())
    }
}

fn wait<T: Send + 'static>(handle: Handle<T>, meanwhile: impl FnOnce()) -> Result<T> {
    meanwhile();
    handle.wait()
}
