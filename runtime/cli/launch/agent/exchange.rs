//! Carries a conversation over one connection after the other.

use std::io;
use std::pin::pin;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::lines;
use super::session::{Line, Session, SessionError};

/// An acknowledgement waits so long for a message that takes it along.
const ACKNOWLEDGE_AFTER: Duration = Duration::from_millis(10);
/// How long the rest of what has come may take, when nothing goes to the other side any more, or it is not understood.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// About so many bytes are written at a time.
const WRITE_BYTES: usize = 64 << 10;

/// One side of a conversation, and who waits for what in it.
#[derive(Default)]
pub(super) struct Exchange {
    state: Mutex<State>,
    /// There may be something to send.
    to_send: Notify,
    /// Something has changed for those who wait.
    changed: Notify,
}

#[derive(Default)]
struct State {
    session: Session,
    /// The other side has said all.
    is_over: bool,
    /// There is no time to wait for another connection.
    is_urgent: bool,
}

/// How a connection ended.
#[derive(Debug, PartialEq)]
pub(super) enum Ended {
    /// The launcher has said, or somebody for it, that there is nothing more to come.
    LastWord,
    /// It was cut.
    Cut,
    /// The two sides do not understand each other, or nobody listens here: another connection would not help.
    Useless,
}

impl Exchange {
    /// Goes on with a conversation that has begun.
    pub(super) fn new(session: Session) -> Self {
        Exchange { state: Mutex::new(State { session, ..State::default() }), ..Exchange::default() }
    }

    /// Says something. It waits here until a connection takes it along; who says much waits for [`Self::room`] before.
    pub(super) fn say(&self, message: &impl Serialize) {
        // Every message can be written down: they have no maps with odd keys.
        let Ok(body) = serde_json::to_vec(message) else { return };
        self.state.lock().session.say(body);
        self.to_send.notify_one();
    }

    /// Waits until the other side has taken so much that more may be said.
    pub(super) async fn room(&self) {
        self.until(|state| state.session.has_room()).await;
    }

    /// Waits until the other side has taken all.
    pub(super) async fn taken(&self) {
        self.until(|state| state.session.is_taken()).await;
    }

    /// The other side has said all: it is told that this has come, and the end of the connection is no cut.
    pub(super) fn finish(&self) {
        self.state.lock().is_over = true;
        self.to_send.notify_one();
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// From now on nobody waits for another connection.
    pub(super) fn hurry(&self) {
        self.state.lock().is_urgent = true;
        self.changed.notify_waiters();
    }

    /// Waits until there is no time to wait for another connection.
    pub(super) async fn urgent(&self) {
        self.until(|state| state.is_urgent).await;
    }

    async fn until(&self, condition: impl Fn(&State) -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if condition(&self.state.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// The number of the next message to come.
    pub(super) fn expected(&self) -> u64 {
        self.state.lock().session.expected()
    }

    /// The next connection goes on at what the other side wants.
    pub(super) fn resume(&self, wanted: u64) -> Result<(), SessionError> {
        self.state.lock().session.resume(wanted)?;
        self.changed.notify_waiters();
        Ok(())
    }

    /// Carries messages in both directions until the connection ends. What has come goes to `incoming`. Whoever stops
    /// waiting for this loses nothing, but must use another connection.
    pub(super) async fn carry<M: DeserializeOwned>(
        &self,
        from: &mut (impl AsyncBufRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
        incoming: &mpsc::Sender<M>,
    ) -> Ended {
        let mut received = pin!(self.receive(from, incoming));
        tokio::select! {
            ended = &mut received => ended,
            // What is still under way from the other side is taken.
            _ = self.transmit(to) => timeout(LAST_WORDS, received).await.unwrap_or(Ended::Cut),
        }
    }

    async fn receive<M: DeserializeOwned>(
        &self,
        from: &mut (impl AsyncBufRead + Unpin),
        incoming: &mpsc::Sender<M>,
    ) -> Ended {
        while let Ok(line) = lines::next(from).await {
            let taken = match Line::parse(&line) {
                Ok(Line::LastWord) => return Ended::LastWord,
                Ok(Line::Acknowledgement(number)) => self.state.lock().session.handle_acknowledgement(number),
                Ok(Line::Message { number, acknowledged, body }) => {
                    // First the place, then what goes there: it is not lost if nobody waits for this any more.
                    let Ok(place) = incoming.reserve().await else { return Ended::Useless };
                    let Ok(message) = serde_json::from_slice(body) else { return Ended::Useless };
                    let is_new = self.state.lock().session.handle_message(number, acknowledged, body.len());
                    is_new.map(|is_new| {
                        if is_new {
                            place.send(message)
                        }
                    })
                }
                Err(error) => Err(error),
            };
            self.changed.notify_waiters();
            self.to_send.notify_one();
            match taken {
                Ok(()) => {}
                Err(SessionError::NeverSaid { .. }) => return Ended::Useless,
                // The launcher was killed in the middle of a line, perhaps.
                Err(_) => return timeout(LAST_WORDS, last_word(from)).await.unwrap_or(Ended::Cut),
            }
        }
        Ended::Cut
    }

    /// Returns why nothing can be sent any more.
    async fn transmit(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut lines = Vec::new();
        loop {
            lines.clear();
            let owes = {
                let State { session, is_over, .. } = &mut *self.state.lock();
                while lines.len() < WRITE_BYTES && session.poll_transmit(&mut lines) {}
                if session.owes_much() || *is_over {
                    session.acknowledge(&mut lines);
                }
                session.owes_acknowledgement()
            };
            if lines.is_empty() && owes && timeout(ACKNOWLEDGE_AFTER, self.to_send.notified()).await.is_err() {
                self.state.lock().session.acknowledge(&mut lines);
            } else if lines.is_empty() && !owes {
                self.to_send.notified().await;
            }
            if !lines.is_empty() {
                to.write_all(&lines).await?;
                to.flush().await?;
            }
        }
    }
}

/// Looks for the last word behind what is not understood.
async fn last_word(from: &mut (impl AsyncBufRead + Unpin)) -> Ended {
    while let Ok(line) = lines::next(from).await {
        if Line::parse(&line) == Ok(Line::LastWord) {
            return Ended::LastWord;
        }
    }
    Ended::Cut
}

#[cfg(test)]
mod tests {
    use tokio::io::{BufReader, duplex, split};

    use super::*;

    const WATCHDOG: Duration = Duration::from_secs(60);

    /// Both sides over a connection that takes `bytes` in each direction at a time, until it is cut after so long.
    async fn carried(sides: &[Exchange; 2], heard: &[mpsc::Sender<u32>; 2], cut: Duration) {
        let (one, other) = duplex(64);
        let (mut ends, mut carrying) = ([one, other].map(split).into_iter(), Vec::new());
        for (side, heard) in sides.iter().zip(heard) {
            let (from, mut to) = ends.next().unwrap();
            carrying.push(async move { side.carry(&mut BufReader::new(from), &mut to, heard).await });
        }
        let _ = timeout(cut, super::super::together::together(carrying)).await;
        let expected = [sides[0].expected(), sides[1].expected()];
        sides[0].resume(expected[1]).unwrap();
        sides[1].resume(expected[0]).unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_conversation_outlives_its_connections() {
        const COUNT: u32 = 2000;
        let sides = [Exchange::default(), Exchange::default()];
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel(3)).unzip();
        let senders: [mpsc::Sender<u32>; 2] = senders.try_into().unwrap();
        let said = |side: usize| {
            let side = &sides[side];
            async move {
                for number in 0..COUNT {
                    side.room().await;
                    side.say(&number);
                }
                side.taken().await;
            }
        };
        let heard = async |receiver: &mut mpsc::Receiver<u32>| {
            let mut all = Vec::new();
            while all.len() < COUNT as usize {
                all.push(receiver.recv().await.unwrap());
            }
            all
        };
        let (one, other) = receivers.split_at_mut(1);
        let carrying = async {
            for cut in 0.. {
                carried(&sides, &senders, Duration::from_micros(cut % 7 * 300)).await;
            }
        };
        let all = async { tokio::join!(said(0), said(1), heard(&mut one[0]), heard(&mut other[0])) };
        let (_, _, one, other) = tokio::select! {
            all = timeout(WATCHDOG, all) => all.expect("it does not end"),
            () = carrying => unreachable!(),
        };
        let expected: Vec<u32> = (0..COUNT).collect();
        assert!(one == expected && other == expected);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_last_word_is_told_from_a_cut() {
        let (sender, _heard) = mpsc::channel::<u32>(64);
        for (input, expected) in [
            ("", Ended::Cut),
            ("0 0 1\n", Ended::Cut),
            ("0 0 1\nbye\n", Ended::LastWord),
            ("0 0 {\"half of a mes\nbye\n", Ended::Useless),
            ("0 0 1\n1 0\nbye\n", Ended::LastWord),
            ("0 0 1\n1\n", Ended::Cut),
            ("bye", Ended::Cut),
            ("0 7 1\n", Ended::Useless),
        ] {
            let exchange = Exchange::default();
            let (mut input, mut output) = (input.as_bytes(), tokio::io::sink());
            let ended = timeout(WATCHDOG, exchange.carry(&mut input, &mut output, &sender)).await;
            assert_eq!(ended, Ok(expected), "{input:?}");
        }
    }
}
