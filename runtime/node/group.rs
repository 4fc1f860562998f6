//! Groups of ranks, with collectives of their own.

use std::fmt;
use std::sync::Arc;

use crate::buffer::ElementType;
use crate::collective::execute::{Members, Start, Typed};
use crate::collective::{Blocks, Prepared, allgather};
use crate::cost::{COST_WORDS, CostModel};
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::{Misuse, Result};
use crate::handle::Handle;
use crate::ids::Rank;
use crate::kernel::{Kernel, Team};
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::GROUP_BITS;

/// Some ranks of the job, which call collectives among themselves. [`Node::group`](crate::Node#method.group) and
/// [`Node::split`](crate::Node#method.split) make one, and so do the same calls of a group. A [`Node`](crate::Node) is
/// the group of all ranks of its job.
///
/// The ranks of a group are numbered `0..size` anew; the roots of its collectives and the shifts of its exchanges are such
/// numbers. Reads and writes are calls of the node, by ranks of the job ([`Group::world`]).
///
/// Collectives of different groups never meet, whoever calls them in what order: two threads of a rank may each have a group
/// ([threads](Group#threads)). If the ranks of a group disagree, or one fails, its collectives fail, and other groups go on.
///
/// Clones refer to the same group. A group opens no connection, and is dropped at any time, earlier on one rank than on
/// another, also with collectives of it under way. When the last clone is dropped, this rank calls no more collectives of it; a
/// rank that calls more than another has called gets [`Error::Collective`]. A group does not keep its node: when the last
/// clone of that is dropped, the node leaves the job.
///
/// ```
/// use lathide::Operator;
/// let node = lathide::init()?;
/// let parity = node.split(node.rank().0 % 2, 0)?;                       // even ranks, and odd ranks
/// let sum = parity.allreduce(&Operator::sum(), vec![1u32])?;
/// assert_eq!(sum, [parity.size()]);
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
#[derive(Clone)]
pub struct Group {
    inner: Arc<Inner>,
}

struct Inner {
    kernel: Arc<Kernel>,
    team: Arc<Team>,
}

/// # Members
impl Group {
    pub(super) fn new(kernel: Arc<Kernel>, team: Arc<Team>) -> Self {
        Group { inner: Arc::new(Inner { kernel, team }) }
    }

    /// This rank's number in the group, `0..size`.
    pub fn rank(&self) -> Rank {
        self.team().members.own()
    }

    /// The number of ranks in the group.
    pub fn size(&self) -> u32 {
        self.team().members.size()
    }

    /// The ranks in the job, in the order of the group.
    pub fn ranks(&self) -> &[Rank] {
        self.team().members.ranks()
    }

    /// The rank in the job of `rank` of the group; `None` if the group has no such rank.
    pub fn world(&self, rank: impl Into<Rank>) -> Option<Rank> {
        self.ranks().get(rank.into().index()).copied()
    }

    /// Makes a group of these ranks, in this order. `ranks` are ranks of the group that is called, of the job for a
    /// [`Node`](crate::Node). All of them call it with the same list, and no other rank does. It waits for all of them.
    ///
    /// For [threads](Group#threads) it counts as a collective of the group that is called. Groups with members in common are
    /// made in the same order by those members, as collectives are called.
    ///
    /// ```
    /// use lathide::Rank;
    /// let node = lathide::init()?;
    /// let ends = [Rank(0), Rank(node.size() - 1)];
    /// let ends = if ends[0] == ends[1] { &ends[..1] } else { &ends };
    /// if ends.contains(&node.rank()) {
    ///     let group = node.group(ends)?;
    ///     assert_eq!(group.broadcast(0, vec![7u8])?, [7]);
    /// }
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::Group`] if this rank is not in the list, or a rank is twice or does not exist; [`Misuse::Threads`];
    /// [`Error::PeerLost`] and [`Error::Deadlock`] as `wait`, the latter also if ranks give different lists.
    pub fn group(&self, ranks: &[Rank]) -> Result<Group> {
        let (kernel, team) = (self.kernel(), self.team());
        let own = self.noting(self.place_among(ranks))?;
        let _call = self.noting(kernel.call_collective(team))?;
        let ranks: Vec<Rank> = ranks.iter().map(|rank| self.ranks()[rank.index()]).collect();
        let mut terms = team.terms();
        let number = kernel.reserve_group();
        let mut block = vec![u64::from(number)];
        block.extend(terms.model.to_words().map(f64::to_bits));
        let (count, size) = (block.len(), ranks.len());
        let schedule: Arc<Prepared> = allgather::bruck::schedule(own, size as u32, &Blocks::Equal(count as u64)).into();
        let mut all = vec![0u64; count * size];
        all[own.index() * count..][..count].copy_from_slice(&block);
        let operation =
            Operation::new(OperationKind::Exchange, kernel.rank, kernel.rank, None, size_of_val(&all[..]) as u64);
        let work = Box::new(Typed::new(&schedule, Vec::new(), all, None, |_, all: Vec<u64>| all));
        let start = Start { group: number, schedule, signature: None, work, timed: None };
        let (members, key) = Members::founding(own, ranks.clone(), team.members.identity());
        let completion = self.noting(kernel.found(operation, start, (Arc::new(members), key)))?;
        let all = Handle::<Vec<u64>>::new(kernel.clone(), completion).wait()?;
        let numbers = all.chunks_exact(count).map(|block| number_of(block[0])).collect();
        let mut words = [0.0; COST_WORDS];
        words.iter_mut().zip(&all[1..count]).for_each(|(word, bits)| *word = f64::from_bits(*bits));
        // The first member's: others may have learnt more by now, or less.
        terms.model = CostModel::from_words(words);
        let members = Members::new(own, ranks, numbers, team.members.identity());
        Ok(Group::new(kernel.clone(), kernel.establish_group(number, members, terms)))
    }

    /// Makes a group for every `colour`, of the ranks that give it, in the order of their keys; those with the same key in
    /// the order of their ranks. It is a blocking collective of the group that is called: each of its ranks is in one
    /// of the new groups.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let backwards = node.split(0, node.size() - node.rank().0)?;
    /// assert_eq!(backwards.rank(), node.size() - 1 - node.rank().0);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As all collectives.
    pub fn split(&self, colour: u32, key: u32) -> Result<Group> {
        let (kernel, team) = (self.kernel(), self.team());
        let _call = self.noting(kernel.call_collective(team))?;
        let number = kernel.reserve_group();
        let own = vec![u64::from(colour) << 32 | u64::from(key), u64::from(number)];
        let all = self.allgather(own)?;
        let words = all.chunks_exact(2).zip((0..).map(Rank));
        let of_colour = words.filter(|(words, _)| (words[0] >> 32) as u32 == colour);
        let mut chosen: Vec<(u32, Rank, u32)> =
            of_colour.map(|(words, rank)| (words[0] as u32, rank, number_of(words[1]))).collect();
        chosen.sort_unstable();
        let place = chosen.iter().position(|(_, rank, _)| *rank == self.rank());
        let own = Rank(place.expect("this rank gives its own colour") as u32);
        let ranks = chosen.iter().map(|(_, rank, _)| self.ranks()[rank.index()]).collect();
        let numbers = chosen.iter().map(|(.., number)| *number).collect();
        let members = Members::new(own, ranks, numbers, team.members.identity());
        // The same on all of them: they have just called the same collective.
        Ok(Group::new(kernel.clone(), kernel.establish_group(number, members, team.terms())))
    }

    /// This rank's place in a list of ranks.
    fn place_among(&self, ranks: &[Rank]) -> Result<Rank> {
        let rank = self.job_rank();
        let refuse = |why: String| Err(Misuse::Group { rank, why }.into());
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return refuse(format!("a group has each rank once; rank {} is twice in its list", twice[0]));
        }
        if let Some(last) = sorted.last() {
            self.team().check(rank, *last)?;
        }
        match ranks.iter().position(|member| *member == self.rank()) {
            Some(place) => Ok(Rank(place as u32)),
            None => refuse(format!("only members make a group; rank {} is not in its list", self.rank())),
        }
    }

    pub(super) fn kernel(&self) -> &Arc<Kernel> {
        &self.inner.kernel
    }

    pub(super) fn team(&self) -> &Team {
        &self.inner.team
    }

    /// This rank in the job, as errors name it.
    pub(super) fn job_rank(&self) -> Rank {
        self.kernel().rank
    }

    pub(super) fn check_element(&self, element: ElementType, bytes: usize) -> Result<()> {
        let rank = self.job_rank();
        if bytes == 0 { Err(Misuse::NoSize { rank, element }.into()) } else { Ok(()) }
    }

    /// For the flaw of a buffer or a region.
    pub(super) fn check_region(&self, flaw: Option<String>) -> Result<()> {
        let refused = |why| self.noting(Err(Misuse::Region { rank: Some(self.job_rank()), why }.into()));
        flaw.map_or(Ok(()), refused)
    }

    /// Remembers an error that the program is told: a node dropped after one has failed.
    pub(super) fn noting<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.kernel().note_failure(error))
    }
}

/// A member's number of a group, as it came.
fn number_of(word: u64) -> u32 {
    word as u32 & ((1 << GROUP_BITS) - 1)
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.team.is_job() {
            self.kernel.release_group(self.team.number);
        }
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group({} of {})", self.rank(), self.size())
    }
}
