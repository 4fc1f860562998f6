//! lathide's part, with the default configuration.

use std::collections::VecDeque;
use std::time::Instant;

use lathide::{Config, Key, Node, Operator, wait_all};

use super::{Calculation, ROW, Rank, Took, overlapped, processor_s, quantiles};

/// Not secret: all processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";

pub(super) struct Lathide(Node);

/// What a collective needs: there, and touched, before its time begins, as with the other peers.
struct Buffers {
    block: Vec<u8>,
    all: Vec<u8>,
    numbers: Vec<f64>,
}

impl Buffers {
    fn new(kind: &str, bytes: usize, size: usize) -> Self {
        let needs = |kinds: &[&str], count: usize| if kinds.contains(&kind) { count } else { 0 };
        Self {
            block: vec![1; needs(&["broadcast", "gather", "allgather"], bytes) + needs(&["alltoall"], size * bytes)],
            all: vec![1; needs(&["gather", "allgather", "alltoall"], size * bytes)],
            numbers: vec![1.0; needs(&["allreduce"], bytes / 8)],
        }
    }
}

impl Lathide {
    pub(super) fn join(rank: u32, size: u32, root: &str) -> Self {
        let mut config = Config::new(rank, size, Some(root.to_owned()));
        config.key = Key::from_bytes(KEY);
        Self(lathide::init_with(config).expect("all join"))
    }

    fn peer(&self) -> u32 {
        u32::from(self.0.rank() == 0)
    }

    fn write(&self, tag: u32, buffer: Vec<u8>) -> Vec<u8> {
        self.0.initwrite(self.peer(), tag, buffer).and_then(|write| write.wait()).expect("the other rank reads")
    }

    fn read(&self, tag: u32, buffer: Vec<u8>) -> Vec<u8> {
        self.0.initread(self.peer(), tag, buffer).and_then(|read| read.wait()).expect("the other rank writes")
    }

    /// From the reader, at the end of a row or a stream.
    fn answer(&self, value: f64) -> f64 {
        let own = value.to_le_bytes().to_vec();
        let said = if self.0.rank() == 1 { self.write(3, own) } else { self.read(3, own) };
        f64::from_le_bytes(said.try_into().expect("8 bytes"))
    }

    fn ping_pong(&self, bytes: usize, count: u64) {
        let mut buffer = vec![1u8; bytes];
        let writes_first = self.0.rank() == 0;
        for turn in 0..2 * count {
            let writes = (turn % 2 == 0) == writes_first;
            buffer = if writes { self.write(1, buffer) } else { self.read(1, buffer) };
        }
    }

    fn exchange(&self, bytes: usize, count: u64) {
        let (mut mine, mut theirs) = (vec![1u8; bytes], vec![0u8; bytes]);
        for _ in 0..count {
            let read = self.0.initread(self.peer(), 1, theirs).expect("two ranks");
            let write = self.0.initwrite(self.peer(), 1, mine).expect("two ranks");
            mine = write.wait().expect("the other rank reads");
            theirs = read.wait().expect("the other rank writes");
        }
    }

    /// Short messages in a row, each waited for.
    fn row(&self, bytes: usize) {
        let mut buffer = vec![1u8; bytes];
        for _ in 0..ROW {
            buffer = if self.0.rank() == 0 { self.write(2, buffer) } else { self.read(2, buffer) };
        }
        self.answer(0.0);
    }

    /// The same, posted at once. The buffers are those of the row before.
    fn posted_row(&self, buffers: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let post = |buffer| match self.0.rank() == 0 {
            true => self.0.initwrite(self.peer(), 2, buffer).expect("two ranks"),
            false => self.0.initread(self.peer(), 2, buffer).expect("two ranks"),
        };
        let under_way: Vec<_> = buffers.into_iter().map(post).collect();
        let buffers = wait_all(under_way).expect("the other rank is there");
        self.answer(0.0);
        buffers
    }

    /// Long messages in a row, several under way at a time; seconds of both processors per message, too.
    fn stream(&self, bytes: usize, count: u64) -> Took {
        let mut free = vec![vec![1u8; bytes]; if bytes < 1 << 19 { (1 << 20) / bytes } else { 2 }];
        let mut under_way = VecDeque::new();
        self.0.barrier().expect("two ranks");
        let (began, before_s) = (Instant::now(), processor_s());
        for _ in 0..count {
            if free.is_empty() {
                let oldest: lathide::Handle<Vec<u8>> = under_way.pop_front().expect("all are under way");
                free.push(oldest.wait().expect("the other rank is there"));
            }
            let buffer = free.pop().expect("one is free");
            under_way.push_back(match self.0.rank() == 0 {
                true => self.0.initwrite(self.peer(), 2, buffer).expect("two ranks"),
                false => self.0.initread(self.peer(), 2, buffer).expect("two ranks"),
            });
        }
        wait_all(under_way).expect("the other rank is there");
        let own_s = processor_s() - before_s;
        let theirs_s = self.answer(own_s);
        let mut took = Took::since(began, count);
        took.values[1] = (own_s + theirs_s) / count as f64;
        took.values[2] = (bytes as u64 * count) as f64;
        took
    }

    /// Roots change from call to call, so that none runs ahead of the others.
    fn collectives(&self, kind: &str, count: u64, Buffers { block, all, numbers }: &mut Buffers) {
        let (node, size, sum) = (&self.0, self.0.size(), Operator::sum());
        for at in 0..count {
            let root = (at % u64::from(size)) as u32;
            match kind {
                "barrier" => node.barrier(),
                "broadcast" => node.broadcast(root, std::mem::take(block)).map(|same| *block = same),
                "gather" => node.gather_into(root, block, all),
                "allgather" => node.allgather_into(block, all),
                "alltoall" => node.alltoall_into(block, all),
                "allreduce" => node.allreduce(&sum, std::mem::take(numbers)).map(|sums| *numbers = sums),
                _ => panic!("{kind}: no such cell"),
            }
            .expect("all call it");
        }
    }

    /// Seconds of so many steps of a message and a calculation, by the slowest rank.
    fn steps(&self, kind: &str, bytes: usize, count: u64, work: &Calculation) -> f64 {
        let (node, sum) = (&self.0, Operator::sum());
        let (mut block, mut numbers) = (vec![1u8; bytes], vec![0.0f64; bytes / 8]);
        node.barrier().expect("two ranks");
        let began = Instant::now();
        for at in 0..count {
            let root = (at % 2) as u32;
            match kind {
                "" => work.run(),
                "overlap-allreduce" => {
                    let handle = node.initallreduce(&sum, std::mem::take(&mut numbers)).expect("all call it");
                    work.run();
                    numbers = handle.wait().expect("all call it");
                }
                _ => {
                    let own = std::mem::take(&mut block);
                    let handle = match (kind, node.rank() == root) {
                        ("overlap-broadcast", _) => node.initbroadcast(root, own),
                        (_, true) => node.initwrite(self.peer(), 4, own),
                        (_, false) => node.initread(self.peer(), 4, own),
                    };
                    let handle = handle.expect("two ranks");
                    work.run();
                    block = handle.wait().expect("the other rank is there");
                }
            }
        }
        self.most(began.elapsed().as_secs_f64())
    }

    fn overlap(&self, kind: &str, bytes: usize, count: u64) -> Took {
        let (work, none) = (Calculation::of_link(bytes), Calculation(0));
        let passes = [("", &work), (kind, &none), (kind, &work), ("", &work)];
        overlapped(passes.map(|(kind, work)| self.steps(kind, bytes, count, work)), count)
    }

    /// Short messages to and fro until a long one from rank 0 has left.
    fn beside(&self, bytes: usize) -> Took {
        let (leads, buffer) = (self.0.rank() == 0, vec![1u8; bytes]);
        let (mut ping, mut samples) = (vec![0u8; 8], Vec::new());
        self.0.barrier().expect("two ranks");
        let began = Instant::now();
        let bulk = match leads {
            true => self.0.initwrite(1, 5, buffer).expect("two ranks"),
            false => self.0.initread(0, 5, buffer).expect("two ranks"),
        };
        while ping[0] == 0 {
            let sent = Instant::now();
            if leads {
                ping[0] = u8::from(bulk.is_complete());
                ping = self.write(1, ping);
            }
            ping = self.read(1, ping);
            if !leads {
                ping = self.write(1, ping);
            }
            samples.push(sent.elapsed().as_secs_f64() / 2.0);
        }
        bulk.wait().expect("the other rank is there");
        quantiles(began, samples)
    }

    fn most(&self, own_s: f64) -> f64 {
        self.0.allreduce(&Operator::max(), vec![own_s]).expect("all call it")[0]
    }

    /// As long as the slowest rank.
    fn slowest(&self, own: Took) -> Took {
        let total_s = self.most(own.total_s);
        let scale = total_s / own.total_s;
        Took { total_s, values: [own.values[0] * scale, own.values[1], own.values[2], own.values[3]] }
    }
}

impl Rank for Lathide {
    fn agree(&mut self, count: u64) -> u64 {
        self.0.broadcast(0, vec![count]).expect("all call it")[0]
    }

    fn cell(&mut self, kind: &str, bytes: usize, count: u64) -> Took {
        let mut buffers = vec![vec![1u8; bytes]; if kind == "posted" { ROW as usize } else { 0 }];
        let mut of_collectives = Buffers::new(kind, bytes, self.0.size() as usize);
        self.0.barrier().expect("all call it");
        let (began, mut units) = (Instant::now(), count);
        match kind {
            "pingpong" => (units = 2 * count, self.ping_pong(bytes, count)).1,
            "exchange" => self.exchange(bytes, count),
            "rate" => (units = ROW * count, (0..count).for_each(|_| self.row(bytes))).1,
            "posted" => {
                (0..count).for_each(|_| buffers = self.posted_row(std::mem::take(&mut buffers)));
                units = ROW * count;
            }
            "stream" => return self.stream(bytes, count),
            "beside" => return self.beside(bytes),
            _ if kind.starts_with("overlap") => return self.overlap(kind, bytes, count),
            _ => self.collectives(kind, count, &mut of_collectives),
        }
        self.slowest(Took::since(began, units))
    }

    fn end(self: Box<Self>) {
        self.0.finalize().expect("all finalize");
    }
}
