//! Two sides of a conversation, and a connection between them that is cut anywhere, again and again.

use proptest::prelude::*;

use super::*;

/// Two sides, what each has heard, and what is under way to it.
#[derive(Default)]
struct Pair {
    sides: [Session; 2],
    heard: [Vec<Vec<u8>>; 2],
    under_way: [Vec<u8>; 2],
}

impl Pair {
    fn say(&mut self, side: usize, text: String) {
        self.sides[side].say(text.into_bytes());
    }

    /// One side puts a line on its way.
    fn send(&mut self, side: usize) -> bool {
        self.sides[side].poll_transmit(&mut self.under_way[1 - side])
    }

    fn acknowledge(&mut self, side: usize) {
        self.sides[side].acknowledge(&mut self.under_way[1 - side]);
    }

    /// So many bytes of what is under way come to `side`, as far as they are whole lines.
    fn deliver(&mut self, side: usize, bytes: usize) {
        let bytes = bytes.min(self.under_way[side].len());
        let whole = self.under_way[side][..bytes].iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let lines: Vec<u8> = self.under_way[side].drain(..whole).collect();
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            match Line::parse(line).unwrap() {
                Line::Message { number, acknowledged, body } => {
                    if self.sides[side].handle_message(number, acknowledged, body.len()).unwrap() {
                        self.heard[side].push(body.to_vec());
                    }
                }
                Line::Acknowledgement(acknowledged) => self.sides[side].handle_acknowledgement(acknowledged).unwrap(),
                Line::LastWord => panic!("nobody has said it"),
            }
        }
    }

    /// What is under way is lost; both go on over another connection.
    fn cut(&mut self) {
        self.under_way = Default::default();
        let expected = [self.sides[0].expected(), self.sides[1].expected()];
        self.sides[0].resume(expected[1]).unwrap();
        self.sides[1].resume(expected[0]).unwrap();
    }

    fn settle(&mut self) {
        for side in [0, 1] {
            while self.send(side) {}
        }
        for side in [0, 1] {
            self.deliver(side, usize::MAX);
            self.acknowledge(side);
        }
        for side in [0, 1] {
            self.deliver(side, usize::MAX);
            assert!(self.sides[side].is_taken() && self.sides[side].kept_bytes == 0);
        }
    }
}

fn text(side: usize, number: usize) -> String {
    format!("{side} says {number} {}", "x".repeat(number % 5))
}

#[test]
fn a_cut_at_any_byte_of_a_conversation_loses_and_doubles_nothing() {
    let mut cuts = 0;
    for delivered in 0..100 {
        for back in 0..20 {
            let mut pair = Pair::default();
            for number in 0..3 {
                pair.say(0, text(0, number));
                pair.say(1, text(1, number));
            }
            while pair.send(0) {}
            pair.deliver(1, delivered);
            // Some of the answers, which acknowledge, come too.
            while pair.send(1) {}
            pair.acknowledge(1);
            pair.deliver(0, back * 5);
            pair.cut();
            // And a second cut, in the middle of what is said again.
            while pair.send(0) {}
            pair.deliver(1, back);
            pair.cut();
            cuts += 2;
            pair.settle();
            for side in [0, 1] {
                let said: Vec<_> = (0..3).map(|number| text(1 - side, number).into_bytes()).collect();
                assert_eq!(pair.heard[side], said, "cut after {delivered} and {back}");
            }
        }
    }
    println!("{cuts} cuts");
}

#[test]
fn what_was_never_said_cannot_be_acknowledged() {
    let mut session = Session::default();
    assert_eq!(session.resume(1), Err(SessionError::NeverSaid { acknowledged: 1, said: 0 }));
    session.say(b"one".to_vec());
    session.say(b"two".to_vec());
    assert!(session.handle_acknowledgement(1).is_err(), "it has not gone yet");
    let mut lines = Vec::new();
    assert!(session.poll_transmit(&mut lines));
    assert_eq!(lines, b"0 0 one\n");
    assert_eq!(session.handle_acknowledgement(2), Err(SessionError::NeverSaid { acknowledged: 2, said: 1 }));
    session.handle_acknowledgement(1).unwrap();
    session.handle_acknowledgement(0).unwrap();
    assert_eq!(session.resume(0), Err(SessionError::Forgotten { wanted: 0, acknowledged: 1 }));
    assert_eq!(session.resume(3), Err(SessionError::NeverSaid { acknowledged: 3, said: 2 }));
    assert_eq!(session.resume(u64::MAX), Err(SessionError::NeverSaid { acknowledged: u64::MAX, said: 2 }));
    session.resume(2).unwrap();
    assert!(session.is_taken() && !session.poll_transmit(&mut lines));
}

#[test]
fn a_message_too_early_is_an_error_and_one_too_late_is_known() {
    let mut session = Session::default();
    assert_eq!(session.handle_message(1, 0, 3), Err(SessionError::Gap { number: 1, expected: 0 }));
    assert_eq!(session.handle_message(0, 0, 3), Ok(true));
    assert_eq!(session.handle_message(0, 0, 3), Ok(false));
    assert_eq!(session.expected(), 1);
}

#[test]
fn what_is_kept_is_bounded_and_acknowledgements_come_in_time() {
    let (mut session, mut other) = (Session::default(), Session::default());
    session.say(vec![b'x'; 2 * KEPT_BYTES_MAX]);
    assert!(!session.has_room(), "one message may be longer, but no other may follow");
    let mut session = Session { acknowledged: 0, ..Session::default() };
    let mut count = 0;
    while session.has_room() {
        session.say(b"{}".to_vec());
        count += 1;
    }
    assert_eq!(count, KEPT_MAX);
    for number in 0..UNTOLD_MAX {
        assert!(!other.owes_much());
        other.handle_message(number, 0, 2).unwrap();
    }
    assert!(other.owes_much() && other.owes_acknowledgement());
    let mut lines = Vec::new();
    other.acknowledge(&mut lines);
    other.acknowledge(&mut lines);
    assert_eq!(lines, format!("- {UNTOLD_MAX}\n").as_bytes());
    // A message has room again long before the sender must wait: nobody waits for a delay.
    assert!((UNTOLD_MAX as usize) < KEPT_MAX && UNTOLD_BYTES_MAX < KEPT_BYTES_MAX);
}

#[test]
fn lines_are_read_or_refused() {
    assert_eq!(Line::parse(b"bye\n"), Ok(Line::LastWord));
    assert_eq!(Line::parse(b"- 7\n"), Ok(Line::Acknowledgement(7)));
    assert_eq!(Line::parse(b"5 7 a b \n"), Ok(Line::Message { number: 5, acknowledged: 7, body: b"a b " }));
    for line in ["", "\n", "bye", "bye \n", "- \n", "- -1\n", "5 7\n", "5 x {}\n", "-1 0 {}\n", "- 7 x\n"] {
        assert_eq!(Line::parse(line.as_bytes()), Err(SessionError::Malformed), "{line:?}");
    }
    assert_eq!(Line::parse(b"99999999999999999999 0 {}\n"), Err(SessionError::Malformed));
    assert_eq!(Line::parse(b"0 0 \xff\n"), Ok(Line::Message { number: 0, acknowledged: 0, body: b"\xff" }));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Say(usize),
    Send(usize),
    Acknowledge(usize),
    Deliver(usize, usize),
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2usize).prop_map(Step::Say),
        6 => (0..2usize).prop_map(Step::Send),
        2 => (0..2usize).prop_map(Step::Acknowledge),
        6 => (0..2usize, 0..60usize).prop_map(|(side, bytes)| Step::Deliver(side, bytes)),
        2 => Just(Step::Cut),
    ]
}

proptest! {
    #[test]
    fn any_conversation_with_any_cuts_is_heard_exactly_once_and_in_order(steps in prop::collection::vec(step(), 0..120)) {
        let (mut pair, mut said) = (Pair::default(), [0, 0]);
        for step in steps {
            match step {
                Step::Say(side) => {
                    pair.say(side, text(side, said[side]));
                    said[side] += 1;
                }
                Step::Send(side) => _ = pair.send(side),
                Step::Acknowledge(side) => pair.acknowledge(side),
                Step::Deliver(side, bytes) => pair.deliver(side, bytes),
                Step::Cut => pair.cut(),
            }
        }
        pair.settle();
        for side in [0, 1] {
            let all: Vec<_> = (0..said[1 - side]).map(|number| text(1 - side, number).into_bytes()).collect();
            prop_assert_eq!(&pair.heard[side], &all);
        }
    }

    #[test]
    fn no_line_makes_a_panic(line in prop::collection::vec(any::<u8>(), 0..40), wanted in any::<u64>()) {
        let mut session = Session::default();
        session.say(b"one".to_vec());
        match Line::parse(&line) {
            Ok(Line::Message { number, acknowledged, body }) => _ = session.handle_message(number, acknowledged, body.len()),
            Ok(Line::Acknowledgement(acknowledged)) => _ = session.handle_acknowledgement(acknowledged),
            _ => {}
        }
        let _ = session.resume(wanted);
    }
}
