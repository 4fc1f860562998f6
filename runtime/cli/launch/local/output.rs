//! What the ranks write: cut into whole lines, one thread that passes them on.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{mpsc, oneshot};

use super::event::Event;
use crate::launch::agent::lines::raw;
use lathide::ids::Rank;

/// A line longer than this is passed on in pieces, so that memory stays bounded.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Pieces of output under way to the sink; a sink that is slow makes the ranks wait, as a pipe does.
pub(super) const QUEUE_MAX: usize = 64;
/// How many of a rank's last lines on standard error are kept, and how much of each.
const TAIL_LINES_MAX: usize = 20;
const TAIL_LINE_BYTES_MAX: usize = 1000;

/// Takes what the ranks write; runs on a thread of its own. An error ends the job.
pub(crate) type Sink = Box<dyn FnMut(Output) -> io::Result<()> + Send>;

/// Something to show: one or more whole lines of one rank, or a message of the launcher.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Output {
    /// Who wrote it; `None`: the launcher.
    pub rank: Option<Rank>,
    /// Where to.
    pub stream: Stream,
    /// The lines, each with its newline; a piece of a very long line has none.
    #[serde(with = "raw")]
    pub bytes: Vec<u8>,
}

/// Where a rank wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Stream {
    /// Standard error.
    Stderr,
    /// Standard output.
    Stdout,
}

impl Output {
    pub(crate) fn note(text: &str) -> Self {
        Output { rank: None, stream: Stream::Stderr, bytes: format!("lathide: {text}\n").into_bytes() }
    }
}

/// A sink that writes whole lines at a time, each behind the label of its rank, such as `[3] `, if it has one.
///
/// Without a label, bytes pass unchanged, except that a rank's last line is completed where it would run into another's.
pub(crate) fn prefixed(
    mut stdout: impl Write + Send + 'static,
    mut stderr: impl Write + Send + 'static,
    label: impl Fn(Rank) -> Option<String> + Send + 'static,
) -> Sink {
    Box::new(move |output| {
        let mut bytes = output.bytes;
        if let Some(prefix) = output.rank.and_then(&label) {
            let mut tagged = Vec::with_capacity(bytes.len() + 16 * prefix.len());
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                tagged.extend(prefix.as_bytes());
                tagged.extend(line);
            }
            if tagged.last() != Some(&b'\n') {
                tagged.push(b'\n');
            }
            bytes = tagged;
        }
        // One call for each batch of lines: nothing else comes between them.
        match output.stream {
            Stream::Stdout => stdout.write_all(&bytes).and_then(|()| stdout.flush()),
            Stream::Stderr => stderr.write_all(&bytes).and_then(|()| stderr.flush()),
        }
    })
}

/// The last lines on standard error.
#[derive(Default)]
pub(crate) struct Tail(VecDeque<String>);

impl Tail {
    pub(crate) fn add(&mut self, lines: &[u8]) {
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            if self.0.len() == TAIL_LINES_MAX {
                self.0.pop_front();
            }
            let shown = &line[..line.len().min(TAIL_LINE_BYTES_MAX)];
            self.0.push_back(String::from_utf8_lossy(shown).into_owned());
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}

/// Passes one stream of one rank on, in whole lines, until it ends.
pub(super) async fn pass_on(
    mut source: impl AsyncRead + Unpin,
    rank: Rank,
    stream: Stream,
    complete: bool,
    lines: mpsc::Sender<Output>,
) {
    let mut pending = Vec::new();
    let mut open_line = false;
    loop {
        // An error on a pipe means what its end means: there is nothing more to pass on.
        let at_end = source.read_buf(&mut pending).await.unwrap_or(0) == 0;
        if at_end && complete && pending.last().map_or(open_line, |&last| last != b'\n') {
            pending.push(b'\n');
        }
        let cut = whole_lines(&pending, at_end);
        if cut > 0 {
            let rest = pending.split_off(cut);
            let bytes = std::mem::replace(&mut pending, rest);
            open_line = bytes.last() != Some(&b'\n');
            if lines.send(Output { rank: Some(rank), stream, bytes }).await.is_err() {
                return;
            }
        }
        if at_end {
            return;
        }
        pending.reserve(8 << 10);
    }
}

/// How much of `pending` can go: up to the last newline, or all of it at the end and if it is too long to keep.
fn whole_lines(pending: &[u8], at_end: bool) -> usize {
    if at_end || pending.len() >= LINE_BYTES_MAX && !pending.contains(&b'\n') {
        return pending.len();
    }
    pending.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1)
}

/// Runs the sink on its own thread: a terminal or a pipe that is slow to take output holds up nothing else. What the ranks
/// write on standard error is kept. When the sink takes no more, that is an event. Returns what gets the last lines of each
/// rank that has written any, when all has been taken.
pub(super) fn drain(
    mut sink: Sink,
    mut lines: mpsc::Receiver<Output>,
    inbox: mpsc::Sender<Event>,
) -> io::Result<oneshot::Receiver<HashMap<Rank, Tail>>> {
    let (done, all_taken) = oneshot::channel();
    std::thread::Builder::new().name("lathide-output".into()).spawn(move || {
        let (mut works, mut tails) = (true, HashMap::<Rank, Tail>::new());
        while let Some(output) = lines.blocking_recv() {
            if let (Some(rank), Stream::Stderr) = (output.rank, output.stream) {
                tails.entry(rank).or_default().add(&output.bytes);
            }
            // What comes after an error is dropped, so that the ranks do not hang on a full pipe.
            if works && let Err(error) = sink(output) {
                works = false;
                let _ = inbox.blocking_send(Event::OutputBroken(error));
            }
        }
        let _ = done.send(tails);
    })?;
    Ok(all_taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;

    fn passed(pieces: &[&[u8]], complete: bool) -> Vec<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (lines, mut received) = mpsc::channel(64);
            let (mut near, far) = tokio::io::duplex(1 << 20);
            let passing = tokio::spawn(pass_on(far, Rank(1), Stream::Stderr, complete, lines));
            for piece in pieces {
                tokio::io::AsyncWriteExt::write_all(&mut near, piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            drop(near);
            passing.await.unwrap();
            let mut all = Vec::new();
            while let Some(output) = received.recv().await {
                all.push(output.bytes);
            }
            all
        })
    }

    #[test]
    fn lines_leave_whole() {
        assert_eq!(passed(&[b"ab", b"c\nde", b"f\n"], true), [b"abc\n".to_vec(), b"def\n".to_vec()]);
        assert_eq!(passed(&[b"a\nb"], true).concat(), b"a\nb\n", "the last line is completed");
        assert_eq!(passed(&[b"a\nb"], false).concat(), b"a\nb", "unless it may not be");
        assert!(passed(&[], true).is_empty());
    }

    #[test]
    fn a_line_without_end_leaves_in_pieces() {
        let long = vec![b'x'; 10 * LINE_BYTES_MAX];
        let pieces = passed(&[&long], true);
        assert!(pieces.len() >= 5 && pieces.iter().all(|piece| piece.len() <= 2 * LINE_BYTES_MAX));
        assert_eq!(pieces.concat().len(), long.len() + 1);
    }

    #[test]
    fn every_line_gets_its_tag() {
        #[derive(Clone, Default)]
        struct Shared(Arc<Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().extend(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for (tagged, expected) in [(true, "[3] a\n[3] b\n[3] piece\n"), (false, "a\nb\npiece")] {
            let stdout = Shared::default();
            let mut sink = prefixed(stdout.clone(), io::sink(), move |rank| tagged.then(|| format!("[{rank}] ")));
            for bytes in ["a\nb\n", "piece"] {
                sink(Output { rank: Some(Rank(3)), stream: Stream::Stdout, bytes: bytes.into() }).unwrap();
            }
            assert_eq!(String::from_utf8(stdout.0.lock().clone()).unwrap(), expected);
        }
    }

    #[test]
    fn the_tail_keeps_the_last_lines() {
        let mut tail = Tail::default();
        for n in 0..100 {
            tail.add(format!("line {n}\n\n").as_bytes());
        }
        tail.add(&[b'y'; 5000]);
        let lines = tail.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (TAIL_LINES_MAX, "line 81"));
        assert_eq!(lines[TAIL_LINES_MAX - 1].len(), TAIL_LINE_BYTES_MAX);
    }
}
