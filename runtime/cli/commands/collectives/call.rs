//! Calls of any collective, blocking or not.

use lathide::collective::Collective;
use lathide::{Handle, Node, Operator, Result};

use super::plan;

/// What a collective begins with, made before the clock runs.
pub(super) enum Input {
    Nothing,
    Bytes(Vec<u8>),
    Numbers(Vec<f64>),
}

/// A collective under way.
pub(super) enum Pending {
    Barrier(Handle<()>),
    Bytes(Handle<Vec<u8>>),
    Numbers(Handle<Vec<f64>>),
    AtRoot(Handle<Option<Vec<u8>>>),
    NumbersAtRoot(Handle<Option<Vec<f64>>>),
}

/// What this rank gives to a call with so many bytes.
pub(super) fn input(node: &Node, operation: Collective, bytes: u64) -> Input {
    let count = plan::call(operation, node.size(), bytes).blocks.longest() as usize;
    match operation {
        Collective::Barrier => Input::Nothing,
        Collective::Allreduce | Collective::Reduce => Input::Numbers(vec![1.0; count]),
        Collective::Alltoall => Input::Bytes(vec![1; count * node.size() as usize]),
        Collective::Scatter if node.rank() == 0 => Input::Bytes(vec![1; count * node.size() as usize]),
        Collective::Scatter => Input::Bytes(Vec::new()),
        Collective::Allgather | Collective::Broadcast | Collective::Gather => Input::Bytes(vec![1; count]),
    }
}

/// Begins.
pub(super) fn begin(node: &Node, operation: Collective, bytes: u64, input: Input) -> Result<Pending> {
    let (numbers, block) = match input {
        Input::Nothing => (Vec::new(), Vec::new()),
        Input::Bytes(bytes) => (Vec::new(), bytes),
        Input::Numbers(numbers) => (numbers, Vec::new()),
    };
    Ok(match operation {
        Collective::Allgather => Pending::Bytes(node.initallgather(block)?),
        Collective::Allreduce => Pending::Numbers(node.initallreduce(&Operator::sum(), numbers)?),
        Collective::Alltoall => Pending::Bytes(node.initalltoall(block)?),
        Collective::Barrier => Pending::Barrier(node.initbarrier()?),
        Collective::Broadcast => Pending::Bytes(node.initbroadcast(0, block)?),
        Collective::Gather => Pending::AtRoot(node.initgather(0, block)?),
        Collective::Reduce => Pending::NumbersAtRoot(node.initreduce(0, &Operator::sum(), numbers)?),
        Collective::Scatter => Pending::Bytes(node.initscatter(0, bytes as usize, block)?),
    })
}

impl Pending {
    pub(super) fn wait(self) -> Result<()> {
        match self {
            Pending::Barrier(handle) => handle.wait(),
            Pending::Bytes(handle) => handle.wait().map(drop),
            Pending::Numbers(handle) => handle.wait().map(drop),
            Pending::AtRoot(handle) => handle.wait().map(drop),
            Pending::NumbersAtRoot(handle) => handle.wait().map(drop),
        }
    }
}
