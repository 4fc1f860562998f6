//! Calls of any collective, blocking or not.

use lathide::Collective;
use lathide::{Handle, Node, Operator, Rank, Result};

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

impl Input {
    /// Its number of elements.
    pub(super) fn len(&self) -> usize {
        match self {
            Input::Nothing => 0,
            Input::Bytes(bytes) => bytes.len(),
            Input::Numbers(numbers) => numbers.len(),
        }
    }

    /// Its first `count` elements.
    pub(super) fn cut(mut self, count: usize) -> Self {
        match &mut self {
            Input::Nothing => {}
            Input::Bytes(bytes) => bytes.truncate(count),
            Input::Numbers(numbers) => numbers.truncate(count),
        }
        self
    }
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

/// Begins; `root` if the operation has one.
pub(super) fn begin(node: &Node, (operation, root): (Collective, Rank), bytes: u64, input: Input) -> Result<Pending> {
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
        Collective::Broadcast => Pending::Bytes(node.initbroadcast(root, block)?),
        Collective::Gather => Pending::AtRoot(node.initgather(root, block)?),
        Collective::Reduce => Pending::NumbersAtRoot(node.initreduce(root, &Operator::sum(), numbers)?),
        Collective::Scatter => Pending::Bytes(node.initscatter(root, bytes as usize, block)?),
    })
}

impl Pending {
    /// What it ends with, of which the next one may begin.
    pub(super) fn wait(self) -> Result<Input> {
        match self {
            Pending::Barrier(handle) => handle.wait().map(|()| Input::Nothing),
            Pending::Bytes(handle) => handle.wait().map(Input::Bytes),
            Pending::Numbers(handle) => handle.wait().map(Input::Numbers),
            Pending::AtRoot(handle) => handle.wait().map(|bytes| Input::Bytes(bytes.unwrap_or_default())),
            Pending::NumbersAtRoot(handle) => handle.wait().map(|numbers| Input::Numbers(numbers.unwrap_or_default())),
        }
    }
}
