//! The bounded channel from the node's threads to the file with its events, and the thread that writes it.
//!
//! A thread that tells of an event never waits: while the channel is full, events are dropped and counted. The writer
//! takes what is there fifty times a second, so that a process that is killed leaves a file that lacks little; and nobody who
//! tells of an event has to wake it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use parking_lot::Mutex;
use serde::Serialize;

use super::event::{Event, Head, Tail, What};
use super::thread_number;
use super::threads::OwnThread;

/// Events the channel holds.
const ROOM: usize = 1 << 16;
/// Events of all ranks of a job in their files: more than a viewer likes.
const JOB_EVENTS_MAX: u64 = 4 << 20;
/// But every rank may have so many.
const RANK_EVENTS_MIN: u64 = 16 << 10;
/// How often the writer looks.
const TURN: Duration = Duration::from_millis(20);

/// Where events go.
pub(crate) struct Tape {
    events: Sender<Event>,
    /// The threads whose names are told.
    threads: Mutex<Vec<u32>>,
    /// Events that may still be taken.
    left: AtomicU64,
    dropped: AtomicU64,
    writer: Mutex<Option<Writer>>,
}

/// The thread that writes: what its drop ends, and what it has met.
struct Writer {
    goes_on: Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

/// The file of one rank, beside the file that all are merged into.
pub fn rank_file(trace: &Path, rank: u32) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(format!(".rank{rank}"));
    name.into()
}

impl Tape {
    /// Opens `path`, which begins with `head`, and starts the writer.
    pub(crate) fn start(path: PathBuf, head: &Head) -> io::Result<Tape> {
        let mut file = BufWriter::new(File::create(path)?);
        line(&mut file, head)?;
        file.flush()?;
        let left = (JOB_EVENTS_MAX / u64::from(head.size.max(1))).max(RANK_EVENTS_MIN);
        let (events, taken) = bounded(ROOM);
        let (goes_on, over) = bounded(0);
        let write = move || {
            let _own = OwnThread::here();
            write(&mut file, &taken, &over)
        };
        let thread = std::thread::Builder::new().name(format!("lathide-trace-{}", head.rank)).spawn(write)?;
        Ok(Tape {
            events,
            threads: Mutex::default(),
            left: AtomicU64::new(left),
            dropped: AtomicU64::new(0),
            writer: Mutex::new(Some(Writer { goes_on, thread })),
        })
    }

    /// Tells of an event on the calling thread. Never waits for the file.
    pub(crate) fn tell(&self, at_ns: u64, what: What) {
        let thread = thread_number();
        let one_less = |left: u64| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut threads = self.threads.lock();
        if !threads.contains(&thread) {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            if self.events.try_send(Event { at_ns, thread, what: What::Thread { name } }).is_ok() {
                threads.push(thread);
            }
        }
        drop(threads);
        if self.events.try_send(Event { at_ns, thread, what }).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes what is left, and the last line.
    ///
    /// # Errors
    /// If something could not be written.
    pub(crate) fn end(&self, now_ns: u64, path: &Path) -> io::Result<()> {
        let Some(Writer { goes_on, thread }) = self.writer.lock().take() else { return Ok(()) };
        drop(goes_on);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer of the timeline has panicked")))?;
        let mut file = File::options().append(true).open(path)?;
        let dropped = self.dropped.load(Ordering::Relaxed);
        line(&mut file, &Tail { ended_ns: now_ns, dropped })
    }
}

/// Writes events until it is `over`, and then what has been told by then.
fn write(file: &mut BufWriter<File>, events: &Receiver<Event>, over: &Receiver<()>) -> io::Result<()> {
    loop {
        let is_over = over.recv_timeout(TURN) == Err(RecvTimeoutError::Disconnected);
        if !events.is_empty() {
            events.try_iter().take(ROOM).try_for_each(|event| line(file, &event))?;
            file.flush()?;
        }
        if is_over {
            return Ok(());
        }
    }
}

/// One JSON object on a line of its own, written in one piece.
fn line(file: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(object)?;
    text.push(b'\n');
    file.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::super::event::{Line, SCHEMA};
    use super::*;
    use crate::ids::Rank;

    fn head(size: u32) -> Head {
        let (schema, host) = (SCHEMA.to_owned(), "h".to_owned());
        Head { schema, job: 7, rank: Rank(0), size, process: 1, host, boot: None, began_ns: 0, overlap: true }
    }

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("lathide-tape-{name}-{}", std::process::id()))
    }

    fn lines(path: &Path) -> Vec<Line> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn what_is_told_is_in_the_file() {
        let path = path("told");
        let tape = Tape::start(path.clone(), &head(1)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|at| tape.tell(at, What::Waited)));
            }
        });
        tape.end(9, &path).unwrap();
        tape.end(10, &path).unwrap();
        let lines = lines(&path);
        assert_eq!(lines[0], Line::Head(head(1)));
        assert_eq!(*lines.last().unwrap(), Line::Tail(Tail { ended_ns: 9, dropped: 0 }));
        let count = |wanted: fn(&What) -> bool| {
            lines.iter().filter(|line| matches!(line, Line::Event(event) if wanted(&event.what))).count()
        };
        assert_eq!(count(|what| *what == What::Waited), 4000);
        assert_eq!(count(|what| matches!(what, What::Thread { .. })), 4);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let path = path("dropped");
        let tape = Tape::start(path.clone(), &head(60_000)).unwrap();
        let told = 2 * RANK_EVENTS_MIN;
        (0..told).for_each(|at| tape.tell(at, What::Waited));
        tape.end(told, &path).unwrap();
        let lines = lines(&path);
        let Some(Line::Tail(Tail { dropped, .. })) = lines.last() else { panic!("{:?}", lines.last()) };
        assert!(*dropped >= told - RANK_EVENTS_MIN, "{dropped}");
        // Head, tail and the thread's name are beside what was told.
        assert_eq!(lines.len() as u64 - 3 + dropped, told);
        std::fs::remove_file(path).unwrap();
    }
}
