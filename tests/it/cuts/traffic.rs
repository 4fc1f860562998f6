//! Traffic of which every byte is known: who wrote it, with what tag, as which message of its tag, and where in it it stands.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use lathide::{
    Bytes, Element, ElementType, Handle, Node, Operator, Part, Result, Update, Window, WriteBuffer, WriteHandle,
};

use crate::chance::Chance;
use crate::spmd::programs::block_on;

/// Lengths at which something ends: copies, fragments, calls, acknowledgements, what is kept; and beside these.
const EDGES: [usize; 14] =
    [0, 1, 8, 511, 512, 513, 4095, 4096, 4097, 65_536, 262_143, 262_144, 1 << 20, (1 << 20) + (1 << 18)];
/// The pattern comes again after so many bytes, but for its number: a prime, so that no unit of the protocol divides it.
const PERIOD: usize = 65_521;
/// Tags of messages read in order; [`ANY`] are read from whoever comes.
const TAGS: u32 = 4;
const ANY: u32 = 50;
const OF_THREADS: u32 = 60;

/// Bytes of a message.
pub(crate) struct Pattern {
    bytes: Vec<u8>,
}

impl Pattern {
    pub(crate) fn new(seed: u64) -> Pattern {
        Pattern { bytes: Chance(seed).bytes(2 * PERIOD) }
    }

    /// The message of this stamp: a pattern that begins elsewhere for each, with its stamp and a number in each period.
    pub(crate) fn message(&self, stamp: u64, bytes: usize) -> Vec<u8> {
        let begin = Chance(stamp).below(PERIOD);
        let mut message = Vec::with_capacity(bytes + PERIOD);
        for number in 0..bytes.div_ceil(PERIOD) as u64 {
            let at = message.len();
            message.extend_from_slice(&self.bytes[begin..begin + PERIOD]);
            message[at..at + 8].copy_from_slice(&(stamp.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number).to_le_bytes());
        }
        message.truncate(bytes);
        message
    }

    /// Whether a message is the one of this stamp; says where it is not.
    #[track_caller]
    pub(crate) fn check(&self, got: &[u8], stamp: u64, bytes: usize, what: &dyn Fn() -> String) {
        let wanted = self.message(stamp, bytes);
        if got != wanted {
            let at = got.iter().zip(&wanted).position(|(got, wanted)| got != wanted);
            panic!("{}: {} bytes instead of {bytes}, wrong from {at:?} on", what(), got.len());
        }
    }
}

/// A buffer of the program's own, of which lathide can have no second.
pub(crate) struct Own(pub(crate) Vec<u8>);

impl WriteBuffer for Own {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A write under way, whose buffer is used again at once when it is back.
enum Write {
    Vec(WriteHandle<Vec<u8>>),
    Own(WriteHandle<Own>),
    Part(WriteHandle<Part<Vec<u8>>>),
    Bytes(WriteHandle<Bytes>),
    Arc(WriteHandle<Arc<[u8]>>),
}

impl Write {
    fn start(node: &Node, to: u32, tag: u32, kind: u64, message: Vec<u8>) -> Result<Option<Write>> {
        Ok(Some(match kind {
            0 | 1 => Write::Vec(node.initwrite(to, tag, message)?),
            2 => Write::Own(node.initwrite(to, tag, Own(message))?),
            3 => {
                let range = 3..3 + message.len();
                let around = [&[9; 3], &message[..], &[9; 5]].concat();
                Write::Part(node.initwrite(to, tag, Part::new(around, range))?)
            }
            4 => Write::Bytes(node.initwrite(to, tag, Bytes::from(message))?),
            5 => Write::Arc(node.initwrite(to, tag, Arc::<[u8]>::from(message))?),
            // Nobody waits for it.
            _ => {
                drop(node.initwrite(to, tag, message)?);
                return Ok(None);
            }
        }))
    }

    fn wait(self) -> Result<()> {
        match self {
            Write::Vec(write) => write.wait()?.fill(0xee),
            Write::Own(write) => write.wait()?.0.fill(0xee),
            Write::Part(write) => write.wait()?.into_inner().fill(0xee),
            Write::Bytes(write) => drop(write.wait()?),
            Write::Arc(write) => {
                if let Some(bytes) = Arc::get_mut(&mut write.wait()?) {
                    bytes.fill(0xee);
                }
            }
        }
        Ok(())
    }
}

/// A message that comes.
struct Read {
    stamp: u64,
    bytes: usize,
    handle: Handle<Vec<u8>>,
}

/// What the ranks of a job say to each other; made alike on all of them.
pub(crate) struct Traffic {
    pub(crate) seed: u64,
    /// Messages are not longer.
    pub(crate) bytes_max: usize,
    pattern: Pattern,
    /// Bytes that all ranks have checked so far.
    verified: Arc<AtomicU64>,
}

/// What one rank has seen.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seen {
    pub(crate) rounds: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// Connections that the ranks have ended since a checksum was wrong.
    pub(crate) wrong_checksums: u64,
    /// What a counter of all ranks said last.
    pub(crate) ticket: Option<u64>,
}

impl Traffic {
    pub(crate) fn new(seed: u64, bytes_max: usize, verified: Arc<AtomicU64>) -> Traffic {
        Traffic { seed, bytes_max, pattern: Pattern::new(seed), verified }
    }

    /// Rounds until rank 0 wants no more.
    pub(crate) fn run(&self, node: &Node, goes_on: impl Fn() -> bool) -> Result<Seen> {
        let mut seen = Seen::default();
        let window = node.window(vec![0u64; 1 + 3 * 5000])?;
        loop {
            let is_last = node.rank() == 0 && !goes_on();
            let is_last = node.broadcast(0, vec![u8::from(is_last)])?[0] == 1;
            let before = seen.bytes;
            self.round(node, &window, &mut seen)?;
            self.verified.fetch_add(seen.bytes - before, Ordering::Relaxed);
            seen.rounds += 1;
            if is_last {
                break;
            }
        }
        window.fence()?;
        let all = seen.rounds * u64::from(node.size());
        let tickets = window.into_inner()?[0];
        assert!(node.rank() != 0 || tickets == all, "{tickets} tickets instead of {all} were taken");
        Ok(seen)
    }

    fn bytes(&self, chance: &mut Chance) -> usize {
        let bytes = match chance.below(4) {
            0 => chance.below(100),
            1 => chance.pick(&EDGES),
            2 => chance.pick(&EDGES) + chance.below(17_usize),
            _ => chance.below(self.bytes_max + 1),
        };
        bytes.min(self.bytes_max)
    }

    fn stamp(&self, round: u64, from: u32, to: u32, tag: u32, number: u64) -> u64 {
        round << 32 ^ u64::from(from) << 24 ^ u64::from(to) << 16 ^ u64::from(tag) << 8 ^ number
    }

    fn round(&self, node: &Node, window: &Window<u64>, seen: &mut Seen) -> Result<()> {
        let round = seen.rounds;
        let mut chance = Chance(self.seed.wrapping_mul(31).wrapping_add(round));
        let collective = self.begin_collectives(node, round, &mut chance)?;
        self.exchange(node, &mut chance, seen)?;
        match round % 4 {
            0 => self.one_sided(node, window, round, &mut chance)?,
            1 => self.any(node, seen, &mut chance)?,
            2 => self.threads(node, round, &mut chance)?,
            _ => drop(window.fetch_update(0, 0, 0, Update::Sum)?),
        }
        // Each rank takes one; at the end they are counted.
        let ticket = window.fetch_update(0, 0, 1, Update::Sum)?.wait()?;
        assert!(seen.ticket.is_none_or(|before| before < ticket), "round {round}: ticket {ticket} after {seen:?}");
        seen.ticket = Some(ticket);
        collective(node)
    }

    /// Messages between all pairs, several of each tag under way; read in the order of their tags.
    fn exchange(&self, node: &Node, chance: &mut Chance, seen: &mut Seen) -> Result<()> {
        let (own, size, round) = (node.rank().0, node.size(), seen.rounds);
        let (mut writes, mut reads) = (VecDeque::new(), VecDeque::new());
        let way = chance.below(4_u64);
        for number in 0..2 * u64::from(size) + chance.below(6_u64) {
            let (from, to, tag) = (chance.below(size), chance.below(size), chance.below(TAGS));
            let (bytes, kind) = (self.bytes(chance), chance.below(7_u64));
            let stamp = self.stamp(round, from, to, tag, number);
            if to == own {
                let handle = match kind % 3 {
                    0 => node.initread_vec::<u8>(from, tag, bytes)?,
                    _ => node.initread(from, tag, vec![0x55u8; bytes + kind as usize % 3])?,
                };
                reads.push_back(Read { stamp, bytes, handle });
            }
            if from == own {
                let message = self.pattern.message(stamp, bytes);
                writes.extend(Write::start(node, to, tag, kind, message)?);
                // Some are waited for at once, while their bytes may be on their way.
                if way == 0 && to != own {
                    writes
                        .pop_back()
                        .map_or(Ok(()), |write: Write| if kind == 0 { wait_soon(write) } else { write.wait() })?;
                }
            }
        }
        if way == 1 {
            writes.drain(..).try_for_each(Write::wait)?;
        }
        for Read { stamp, bytes, handle } in reads.drain(..) {
            let got = if way == 2 { block_on(handle)? } else { handle.wait()? };
            self.pattern.check(&got, stamp, bytes, &|| format!("round {round}, message {stamp:x} at rank {own}"));
            seen.messages += 1;
            seen.bytes += bytes as u64;
        }
        writes.into_iter().try_for_each(Write::wait)
    }

    /// Each rank writes to rank 0, which reads what comes; those of one rank in its order.
    fn any(&self, node: &Node, seen: &mut Seen, chance: &mut Chance) -> Result<()> {
        const EACH: u64 = 3;
        let (own, size, round) = (node.rank().0, node.size(), seen.rounds);
        let bytes: Vec<usize> = (0..EACH).map(|_| self.bytes(chance)).collect();
        if own != 0 {
            for (number, &bytes) in (0..).zip(&bytes) {
                let message = self.pattern.message(self.stamp(round, own, 0, ANY, number), bytes);
                node.initwrite(0, ANY, message)?.wait()?.fill(0xee);
            }
            return Ok(());
        }
        let mut come = vec![0; size as usize];
        for _ in 0..EACH * u64::from(size - 1) {
            let (from, got) = node.initread_any_vec::<u8>(ANY, self.bytes_max)?.wait()?;
            let number = come[from.index()];
            come[from.index()] += 1;
            let what = || format!("round {round}, message {number} of rank {from}, read from any");
            self.pattern.check(&got, self.stamp(round, from.0, 0, ANY, number), bytes[number as usize], &what);
            seen.messages += 1;
            seen.bytes += got.len() as u64;
        }
        Ok(())
    }

    /// Puts, gets and sums in the next rank's part: it has three places, one for each.
    fn one_sided(&self, node: &Node, window: &Window<u64>, round: u64, chance: &mut Chance) -> Result<()> {
        let (own, right) = (u64::from(node.rank().0), node.rank().on_ring(1, node.size()));
        let count = 1 + chance.below(5000_usize);
        let mine: Vec<u64> = (0..count as u64).map(|at| round << 40 ^ own << 32 ^ at).collect();
        let other: Vec<u64> = mine.iter().map(|value| !value).collect();
        let put = window.put(right, 1, mine.clone())?;
        let again = window.put(right, 1 + 5000, other.clone())?;
        let summed = window.accumulate(right, 1 + 10_000, vec![1u64; count], Update::Sum)?;
        let before = window.get(right, 1 + 10_000..1 + 10_000 + count)?.wait()?;
        let got = window.get(right, 1..1 + count)?;
        assert!(got.wait()? == mine, "round {round}: a get after a put");
        put.wait()?.fill(0);
        again.wait()?.fill(0);
        summed.wait()?;
        window.flush(right)?;
        assert!(window.get(right, 1 + 5000..1 + 5000 + count)?.wait()? == other, "round {round}: the second put");
        // Of each place as many as of the first, or one round's less.
        let zero = window.accumulate(
            right,
            1 + 10_000,
            before.iter().map(|n| n.wrapping_neg()).collect::<Vec<_>>(),
            Update::Sum,
        )?;
        zero.wait()?;
        assert!(
            window.get(right, 1 + 10_000..1 + 10_000 + count)?.wait()?.iter().all(|n| *n == 0),
            "round {round}: sums"
        );
        Ok(())
    }

    /// Two threads of each rank speak with the same of the next.
    fn threads(&self, node: &Node, round: u64, chance: &mut Chance) -> Result<()> {
        let (own, size) = (node.rank(), node.size());
        let (left, right) = (own.on_ring(-1, size), own.on_ring(1, size));
        let bytes: Vec<usize> = (0..4).map(|_| self.bytes(chance)).collect();
        let speak = |thread: u32| -> Result<()> {
            for (number, &bytes) in (0..).zip(&bytes) {
                let tag = OF_THREADS + thread;
                let read = node.initread(left, tag, vec![0u8; bytes])?;
                let mine = self.pattern.message(self.stamp(round, own.0, right.0, tag, number), bytes);
                let mut write = node.initwrite(right, tag, mine)?.wait()?;
                write.fill(0xee);
                let got = if thread == 0 { read.wait()? } else { block_on(read)? };
                let what = || format!("round {round}, thread {thread}, message {number}");
                self.pattern.check(&got, self.stamp(round, left.0, own.0, tag, number), bytes, &what);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|thread| scope.spawn(move || speak(thread))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("see above"))
        })
    }

    /// A collective that is under way meanwhile, and another after it.
    fn begin_collectives(&self, node: &Node, round: u64, chance: &mut Chance) -> Result<Rest> {
        let (own, size) = (node.rank().0, node.size());
        let (root, bytes) = (chance.below(size), self.bytes(chance));
        let stamp = move |rank| round << 32 ^ u64::from(rank) << 8 ^ 0xff;
        let data = self.pattern.message(stamp(root), bytes);
        let buffer = if own == root { data.clone() } else { vec![0; bytes] };
        let broadcast = node.initbroadcast(root, buffer)?;
        let sum = node.initallreduce(&Operator::sum(), vec![u64::from(own) + round; bytes / 64])?;
        let block = |rank| self.pattern.message(stamp(rank), bytes / 8);
        let all: Vec<u8> = (0..size).flat_map(block).collect();
        let mine = block(own);
        Ok(Box::new(move |node: &Node| {
            assert!(broadcast.wait()? == data, "round {round}: a broadcast");
            let total = u64::from(size * (size - 1) / 2) + round * u64::from(size);
            assert!(sum.wait()?.iter().all(|value| *value == total), "round {round}: a sum");
            match round % 3 {
                0 => node.barrier()?,
                1 => assert!(node.allgather(mine)? == all, "round {round}: an allgather"),
                _ => {
                    let got = node.gather(root, mine)?;
                    assert!(got.is_none_or(|got| got == all), "round {round}: a gather");
                }
            }
            Ok(())
        }))
    }
}

/// What is done at the end of a round.
type Rest = Box<dyn FnOnce(&Node) -> Result<()>>;

/// Asks for a while, so that bytes move in between.
fn wait_soon(write: Write) -> Result<()> {
    thread::yield_now();
    write.wait()
}
