//! Raw TCP's part, as an expert writes it: blocking calls, or polled ones that never sleep.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::{Calculation, ROW, Rank, Took, overlapped, processor_s, quantiles};

/// Bytes per call of a stream.
const CALL_BYTES: usize = 256 << 10;

pub(super) struct Raw {
    connection: TcpStream,
    /// For what is long, so that short messages need not wait behind it.
    second: TcpStream,
    is_first: bool,
}

impl Raw {
    pub(super) fn connect(is_first: bool, address: &str, is_polled: bool) -> Self {
        let listener = is_first.then(|| TcpListener::bind(address).expect("a free port"));
        let connect = || match &listener {
            Some(listener) => listener.accept().expect("the other process connects").0,
            None => loop {
                match TcpStream::connect(address) {
                    Ok(connection) => break connection,
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            },
        };
        let (connection, second) = (connect(), connect());
        connection.set_nodelay(true).and_then(|()| connection.set_nonblocking(is_polled)).expect("a TCP socket");
        Self { connection, second, is_first }
    }

    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.connection.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                Err(error) => panic!("the other process reads: {error}"),
            }
        }
    }

    fn read(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            match self.connection.read(bytes) {
                Ok(0) => panic!("the other process has ended"),
                Ok(read) => bytes = &mut bytes[read..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                Err(error) => panic!("the other process writes: {error}"),
            }
        }
    }

    /// From the reader, at the end of a row or a stream.
    fn answer(&mut self, value: f64) -> f64 {
        let mut said = value.to_le_bytes();
        if self.is_first {
            self.read(&mut said)
        } else {
            self.write(&said)
        }
        f64::from_le_bytes(said)
    }

    /// Short writes in a row. The reader takes as many as there are.
    fn row(&mut self, bytes: usize) {
        if self.is_first {
            let message = vec![1; bytes];
            (0..ROW).for_each(|_| self.write(&message));
        } else {
            let (mut buffer, mut left) = ([0; 64 << 10], ROW as usize * bytes);
            while left > 0 {
                match self.connection.read(&mut buffer[..left.min(64 << 10)]) {
                    Ok(read) if read > 0 => left -= read,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                    other => panic!("the other process writes: {other:?}"),
                }
            }
        }
        self.answer(0.0);
    }

    fn stream(&mut self, bytes: usize, count: u64) -> Took {
        let mut buffer = vec![1; bytes];
        self.synchronise();
        let (began, before_s) = (Instant::now(), processor_s());
        for _ in 0..count {
            for part in buffer.chunks_mut(CALL_BYTES) {
                if self.is_first { self.write(part) } else { self.read(part) }
            }
        }
        let own_s = processor_s() - before_s;
        let theirs_s = self.answer(own_s);
        let mut took = Took::since(began, count);
        took.values[1] = (own_s + theirs_s) / count as f64;
        took.values[2] = (bytes as u64 * count) as f64;
        took
    }

    /// Seconds of so many steps of a message and a calculation: what the socket takes or has is moved before the calculation,
    /// the rest behind it.
    fn steps(&mut self, bytes: usize, count: u64, moves: bool, work: &Calculation) -> f64 {
        let mut buffer = vec![1; if moves { bytes } else { 0 }];
        self.synchronise();
        let began = Instant::now();
        for at in 0..count {
            let writes = (at % 2 == 0) == self.is_first;
            self.connection.set_nonblocking(true).expect("a TCP socket");
            let mut done = 0;
            while done < buffer.len() {
                let moved = match writes {
                    true => self.connection.write(&buffer[done..]),
                    false => self.connection.read(&mut buffer[done..]),
                };
                match moved {
                    Ok(moved) if moved > 0 => done += moved,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    other => panic!("the other process is there: {other:?}"),
                }
            }
            work.run();
            self.connection.set_nonblocking(false).expect("a TCP socket");
            if writes { self.write(&buffer[done..]) } else { self.read(&mut buffer[done..]) }
        }
        let own_s = began.elapsed().as_secs_f64();
        let theirs_s = self.answer(own_s);
        own_s.max(theirs_s)
    }

    fn overlap(&mut self, bytes: usize, count: u64) -> Took {
        let (work, none) = (Calculation::of_link(bytes), Calculation(0));
        let passes = [(false, &work), (true, &none), (true, &work), (false, &work)];
        overlapped(passes.map(|(moves, work)| self.steps(bytes, count, moves, work)), count)
    }

    /// Short messages to and fro until a long one has left, which has a thread and a connection of its own.
    fn beside(&mut self, bytes: usize) -> Took {
        let (is_first, mut buffer) = (self.is_first, vec![1; bytes]);
        let mut second = self.second.try_clone().expect("a TCP socket");
        self.synchronise();
        let (began, mut samples) = (Instant::now(), Vec::new());
        thread::scope(|scope| {
            let bulk = scope.spawn(move || {
                let done = if is_first { second.write_all(&buffer) } else { second.read_exact(&mut buffer) };
                done.expect("the other process is there");
            });
            let mut ping = [0; 8];
            while ping[0] == 0 {
                let sent = Instant::now();
                if is_first {
                    ping[0] = u8::from(bulk.is_finished());
                    self.write(&ping);
                }
                self.read(&mut ping);
                if !is_first {
                    self.write(&ping);
                }
                samples.push(sent.elapsed().as_secs_f64() / 2.0);
            }
        });
        quantiles(began, samples)
    }

    fn synchronise(&mut self) {
        self.agree(0);
        self.answer(0.0);
    }
}

impl Rank for Raw {
    fn agree(&mut self, count: u64) -> u64 {
        let mut said = count.to_le_bytes();
        if self.is_first {
            self.write(&said)
        } else {
            self.read(&mut said)
        }
        u64::from_le_bytes(said)
    }

    fn cell(&mut self, kind: &str, bytes: usize, count: u64) -> Took {
        let mut buffer = vec![1; bytes];
        self.synchronise();
        let (began, mut units) = (Instant::now(), count);
        match kind {
            "pingpong" => {
                units = 2 * count;
                for turn in 0..units {
                    if (turn % 2 == 0) == self.is_first { self.write(&buffer) } else { self.read(&mut buffer) }
                }
            }
            "exchange" => {
                for _ in 0..count {
                    self.write(&buffer);
                    self.read(&mut buffer);
                }
            }
            "rate" => {
                units = ROW * count;
                (0..count).for_each(|_| self.row(bytes));
            }
            "stream" => return self.stream(bytes, count),
            "overlap" => return self.overlap(bytes, count),
            "beside" => return self.beside(bytes),
            _ => panic!("{kind}: no such cell"),
        }
        Took::since(began, units)
    }

    fn end(self: Box<Self>) {}
}
