//! A whole engine receives what a peer of a small job has sent, with some of it changed: nothing panics, memory is bounded,
//! and every operation ends.
//!
//! A stream is recorded once and cut into frames. Chance changes fields of headers, drops, doubles and exchanges frames and
//! numbers them again, so that what follows is understood; or it changes bytes anywhere.

use std::io::{IoSlice, IoSliceMut, Read};
use std::sync::LazyLock;
use std::time::Duration;

use super::babble::{KINDS, LIMITS, PEER, Victim};
use super::runs::{Counts, each_seed};
use super::world::Verdict;
use crate::buffer::{Element, ElementType};
use crate::chance::Chance;
use crate::engine::{Engine, Limits, OpId, Outcome, Sent};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::mutant;
use crate::wire::frame::{Context, HEADER_BYTES, Header, Kind, MESSAGE_HEADER_BYTES, MatchKey, MessageHeader, Stamp};

const NOW: Duration = Duration::ZERO;
/// After so many bytes the peer acknowledges.
const AT_ONCE_BYTES: u64 = 1000;
const VICTIM: Rank = Rank(0);
/// Seeds, at scale 1.
const STREAMS: u64 = 100_000;
/// Numbers of 48 and 56 bits at which something turns round.
const EXTREMES: [u64; 8] = [0, 1, 0xff, 0xffff, 0xffff_ffff, (1 << 48) - 1, (1 << 55) + 7, (1 << 56) - 1];

type Parts<T> = [T; 3];

/// A frame as it was recorded.
#[derive(Clone)]
struct Frame {
    header: Header,
    message_header: Option<MessageHeader>,
    rest: Vec<u8>,
}

struct Recorded {
    /// The frames until the victim posts its second reads, those until it leaves, and those that follow.
    parts: Parts<Vec<Frame>>,
}

/// What two peers have sent that cut their messages differently.
static RECORDED: LazyLock<[Recorded; 2]> = LazyLock::new(|| [record(150), record(600)]);

fn user(tag: u32) -> MatchKey {
    MatchKey::user(Tag(tag))
}

/// What the victim does at first: reads that fit and one that does not, of one rank and of any, and writes within the window and
/// beyond it.
fn begin(engine: &mut Engine) -> Vec<OpId> {
    let mut ops = Vec::new();
    for (tag, bytes) in [(0, 8), (1, 700), (1, 700), (2, 2800), (3, 10)] {
        ops.extend(engine.initread(NOW, PEER, user(tag), u8::TYPE, Box::new(vec![0u8; bytes])).ok());
    }
    ops.extend(engine.initread_any(NOW, user(4), u8::TYPE, Box::new(vec![0u8; 200])).ok());
    for (tag, bytes) in [(0, 8), (1, 700), (2, 2800), (3, 2800), (4, 2800), (5, 2800)] {
        ops.extend(engine.initwrite(NOW, PEER, user(tag), u8::TYPE, Box::new(vec![1u8; bytes])).ok());
    }
    ops
}

/// And later: reads of what has come meanwhile; in the end it leaves.
fn go_on(engine: &mut Engine, part: usize) -> Vec<OpId> {
    let reads: &[_] = match part {
        0 => return begin(engine),
        1 => &[(5, 300), (6, 1000), (6, 2800), (7, 2800), (8, 2800), (9, 2800), (9, 0)],
        _ => &[],
    };
    if part == 2 {
        engine.goodbye(None);
    }
    let read = |(tag, bytes)| engine.initread(NOW, PEER, user(tag), u8::TYPE, Box::new(vec![0u8; bytes])).ok();
    reads.iter().copied().filter_map(read).collect()
}

/// What the peer does.
fn answer(engine: &mut Engine) {
    let stamp = Stamp { sent_ns: 5, echo_ns: Some(7) };
    engine.ping(VICTIM, stamp, 2);
    let sizes = [
        (0, 8),
        (5, 300),
        (1, 700),
        (3, 20),
        (1, 700),
        (2, 2800),
        (6, 1000),
        (6, 2800),
        (7, 2800),
        (8, 2800),
        (9, 2800),
    ];
    for (tag, bytes) in sizes.into_iter().chain([(9, 0), (4, 100)]) {
        let op = engine.initwrite(NOW, VICTIM, user(tag), u8::TYPE, Box::new(vec![2u8; bytes])).unwrap();
        engine.stamp(VICTIM, op, stamp);
    }
    for (tag, bytes) in [(0, 8), (1, 700), (2, 2800), (3, 2800), (4, 2800), (5, 100)] {
        engine.initread(NOW, VICTIM, user(tag), u8::TYPE, Box::new(vec![0u8; bytes])).unwrap();
    }
    engine.goodbye(None);
}

/// All that `engine` has to send to `to`.
fn sent(engine: &mut Engine, to: Rank) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut write = |slices: &[IoSlice<'_>]| {
        let before = bytes.len();
        slices.iter().for_each(|slice| bytes.extend_from_slice(slice));
        Ok(bytes.len() - before)
    };
    while engine.transmit(to, &mut write).expect("the socket is there") != Sent::All {}
    while engine.poll_pending().is_some() {}
    bytes
}

/// Has `engine` receive `bytes`, at most `piece` at a time.
fn receive(engine: &mut Engine, from: Rank, mut bytes: &[u8], mut piece: impl FnMut() -> usize) {
    while !bytes.is_empty() && engine.failure().is_none() {
        let most = piece().min(bytes.len());
        let mut read = |slices: &mut [IoSliceMut<'_>]| (&bytes[..most]).read_vectored(slices);
        let count = engine.receive(NOW, from, &mut read).expect("the socket is there");
        bytes = &bytes[count..];
    }
}

/// Runs the job, and keeps what the peer has sent.
fn record(fragment_bytes: u32) -> Recorded {
    let limits = [LIMITS, Limits { fragment_bytes, ..LIMITS }];
    let (mut victim, mut peer) = (Engine::new(VICTIM, &limits), Engine::new(PEER, &limits));
    // Told of soon, so that there are acknowledgements among so few bytes.
    peer.links[VICTIM.index()].outgoing.acknowledgement.set_at_once(AT_ONCE_BYTES);
    let mut ops = Vec::new();
    let mut parts = Parts::<Vec<u8>>::default();
    answer(&mut peer);
    for (at, part) in parts.iter_mut().enumerate() {
        ops.extend(go_on(&mut victim, at));
        loop {
            receive(&mut peer, VICTIM, &sent(&mut victim, PEER), || usize::MAX);
            let bytes = sent(&mut peer, VICTIM);
            if bytes.is_empty() {
                break;
            }
            receive(&mut victim, PEER, &bytes, || usize::MAX);
            part.extend(bytes);
        }
    }
    let failure = victim.failure().or(peer.failure());
    assert!(victim.has_left(PEER) && failure.is_none(), "the job runs to its end: {failure:?}");
    let failed = std::iter::from_fn(|| victim.poll_completion());
    let failed = failed.filter(|completion| matches!(completion.outcome, Outcome::Failed(_))).count();
    // The read that is too short, the write whose read is, and reads after goodbye.
    assert!((2..ops.len()).contains(&failed), "{failed} of {}", ops.len());
    Recorded { parts: parts.map(|bytes| frames(&bytes)) }
}

fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() {
        let header = Header::decode(header).expect("a frame");
        let (opening, rest) = rest.split_at(if header.has_opening() { MESSAGE_HEADER_BYTES } else { 0 });
        let message_header = opening.first_chunk().map(|opening| MessageHeader::decode(opening).expect("a message"));
        let (body, rest) = rest.split_at(header.length as usize);
        frames.push(Frame { header, message_header, rest: body.to_vec() });
        bytes = rest;
    }
    assert!(bytes.is_empty(), "whole frames");
    frames
}

/// Changes one thing.
fn change(chance: &mut Chance, frames: &mut Vec<Frame>) {
    if frames.is_empty() {
        return;
    }
    let (at, other) = (chance.below(frames.len()), chance.below(frames.len()));
    let (id, extreme) = (frames[other].header.message_id, chance.pick(&EXTREMES));
    let frame = &mut frames[at];
    match chance.below(16u32) {
        0 => frame.header.kind = chance.pick(&KINDS),
        1 => frame.header.flags ^= 1 << chance.below(8u32),
        2 => frame.header.message_id = chance.pick(&[id, id + 1, id.saturating_sub(1), extreme]),
        3 => frame.header.length = chance.pick(&[0, 1, 255, 256, 1 << 20, (1 << 24) - 1]),
        4 => drop(frames.remove(at)),
        // What it says that it has received: within what there is, and anywhere.
        9 if frame.header.kind == Kind::Acknowledgement => {
            let position = chance.pick(&[chance.0 % 6000, extreme, extreme << 8, u64::MAX - extreme]);
            frame.rest = position.to_le_bytes().to_vec();
        }
        5 => {
            let again = frame.clone();
            frames.insert(other, again);
        }
        6 => frames.swap(at, other),
        7 => frames.truncate(at),
        8 => {
            let length = chance.below(frame.rest.len() + 2);
            frame.rest.resize(length, 0xff);
            frame.header.length = length as u32;
        }
        9 if frame.header.kind != Kind::Data => {
            frame.rest.iter_mut().for_each(|byte| *byte = chance.pick(&[0, 0x7f, 0x80, 0xff]));
        }
        10 => {
            frame.header = Header { kind: Kind::Goodbye, flags: 0, ..frame.header };
            (frame.header.length, frame.message_header) = (0, None);
            frame.rest.clear();
        }
        _ => {
            let Some(message_header) = &mut frame.message_header else { return };
            let key = message_header.key;
            match chance.below(5u32) {
                0 => message_header.total = extreme & ((1 << 48) - 1),
                1 => message_header.total = (message_header.total + 1).saturating_sub(chance.below(3u64)),
                2 => message_header.element = ElementType(chance.next() as u16),
                3 => message_header.key = user(chance.below(10)),
                _ => {
                    let contexts = [Context::Collective, Context::Agreement, Context::Window, Context::Founding];
                    message_header.key = MatchKey::new(chance.pick(&contexts), key.tag);
                }
            }
        }
    }
}

/// The bytes of frames, numbered from `number` on. In pieces: to what is no message the victim may have answered before more came.
fn encode(frames: &[Frame], number: &mut u32) -> Vec<Vec<u8>> {
    let mut pieces = vec![Vec::new()];
    for Frame { header, message_header, rest } in frames {
        let Some(bytes) = pieces.last_mut() else { break };
        let message_id = header.message_id & ((1 << 56) - 1);
        let header = Header { number: *number, message_id, ..*header };
        *number = number.wrapping_add(1);
        bytes.extend(header.encode());
        if header.has_opening() {
            let empty = MessageHeader { key: user(0), element: u8::TYPE, total: rest.len() as u64 };
            bytes.extend(message_header.unwrap_or(empty).encode());
        }
        bytes.extend(rest);
        if header.kind != Kind::Data {
            pieces.push(Vec::new());
        }
    }
    pieces
}

/// A victim receives these bytes, by connections that are cut now and then. `lies`: what the peer says then is not always possible.
fn replay(chance: Chance, parts: &Parts<Vec<Vec<u8>>>, lies: bool) -> Verdict<(Counts, u64)> {
    let mut counts = Counts { runs: 1, ..Counts::default() };
    let mut pieces = Chance(chance.0);
    let most = if pieces.once_in(30) { 1 } else { pieces.pick(&[90, 300, 1000, 100_000]) };
    let mut victim = Victim::new(chance, 64);
    let (mut steps, mut trace) = (0, 0u64);
    for (at, part) in parts.iter().enumerate() {
        let ops = go_on(&mut victim.engine, at);
        victim.ops.extend(ops);
        sent(&mut victim.engine, PEER);
        for piece in part {
            if victim.engine.failure().is_some() {
                break;
            }
            receive(&mut victim.engine, PEER, piece, || 1 + pieces.below(most));
            steps += 1;
            if victim.engine.failure().is_none() && pieces.once_in(8) {
                victim.goes_on(lies, &mut counts)?;
            }
            counts.bytes += piece.len() as u64;
            sent(&mut victim.engine, PEER);
            victim.settle(&mut counts)?;
            trace = trace.rotate_left(7) ^ victim.ops.len() as u64 ^ victim.engine.buffered_bytes();
        }
    }
    counts.steps += steps;
    if let Some(failure) = victim.engine.failure() {
        counts.failures += 1;
        if !failure.to_string().contains("rank ") {
            return Err(format!("it names nobody: {failure}"));
        }
    } else {
        // A peer that has said nothing false is heard until its connection ends.
        victim.engine.handle_lost(PEER, "its connection was closed");
    }
    if victim.engine.has_left(PEER) && victim.engine.failure().is_none() {
        counts.abandoned += 1;
    }
    victim.end(&mut counts)?;
    Ok((counts, trace))
}

fn mutant(seed: u64) -> Verdict<(Counts, u64)> {
    let mut chance = Chance(seed);
    let recorded = &RECORDED[chance.below(2usize)];
    let mut parts = recorded.parts.clone();
    for _ in 0..1 + chance.below(4u32) {
        let part = chance.below(3usize);
        change(&mut chance, &mut parts[part]);
    }
    let mut number = 0;
    let mut bytes = parts.map(|frames| encode(&frames, &mut number));
    if chance.once_in(4) {
        let part = &mut bytes[chance.below(3usize)];
        let at = chance.below(part.len());
        part[at] = mutant::bytes(&mut chance, &part[at..]);
    }
    replay(chance, &bytes, true)
}

#[test]
fn what_was_recorded_is_accepted() {
    for recorded in &*RECORDED {
        let kinds = recorded.parts.iter().flatten().map(|frame| frame.header.kind);
        let kinds: Vec<Kind> = kinds.collect();
        for kind in KINDS.into_iter().filter(|kind| !matches!(kind, Kind::Abort)) {
            assert!(kinds.contains(&kind), "no {kind:?} was recorded");
        }
        let mut number = 0;
        let bytes = recorded.parts.each_ref().map(|frames| encode(frames, &mut number));
        for seed in 0..20 {
            let (counts, _) = replay(Chance(seed), &bytes, false).unwrap();
            assert_eq!((counts.failures, counts.abandoned), (0, 1), "{counts:?}");
        }
    }
}

/// The streams as inputs of the fuzzer (`runtime/fuzz/engine.rs`).
#[test]
#[ignore = "writes tests/fuzz/corpus/engine"]
fn what_was_recorded_is_where_the_fuzzer_begins() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/engine");
    std::fs::create_dir_all(&folder).unwrap();
    let acts = |what: u8, all: &[(u8, usize)]| {
        let step = |(tag, bytes): &(u8, usize)| [what + 8 * (tag % 4), (*bytes as f64).sqrt() as u8];
        all.iter().flat_map(step).collect::<Vec<u8>>()
    };
    let (reads, writes) = ([(0, 9), (1, 676), (1, 676), (2, 2809), (3, 9)], [(0, 9), (1, 676), (2, 2809), (3, 2809)]);
    let begin = [acts(0, &reads), acts(1, &writes), vec![2, 255]].concat();
    for (which, recorded) in RECORDED.iter().enumerate() {
        for (at, part) in recorded.parts.iter().enumerate() {
            let mut number = 0;
            let mut input = begin.clone();
            for frame in part {
                let bytes = encode(std::slice::from_ref(frame), &mut number).concat();
                for (at, piece) in bytes.chunks(255).enumerate() {
                    input.extend([if at == 0 { 7 } else { 6 }, piece.len() as u8]);
                    input.extend(piece);
                }
                input.extend([2, 255]);
            }
            input.extend([3, 100, 2, 255, 4, 20]);
            input.truncate(4000);
            std::fs::write(folder.join(format!("recorded-{which}-{at}")), &input).unwrap();
        }
    }
    // Frames that the fuzzer makes itself: credit, a hold, an envelope, acknowledgements, and cuts between them.
    let own = [
        5, 4, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 0, 2, 99, 5, 5, 1, 0, 0, 3, 50, 2, 255, 5, 12, 0, 0, 0, 125, 3, 250, 5, 9,
        0, 0, 0, 4, 255,
    ];
    std::fs::write(folder.join("own"), [&begin[..], &own].concat()).unwrap();
}

#[test]
fn a_stream_that_was_changed_ends_its_link_or_nothing() {
    each_seed("a_stream_that_was_changed_ends_its_link_or_nothing", STREAMS, mutant);
}

/// A peer says goodbye in the middle of its messages, and its connection ends: no read waits for the rest.
#[test]
fn nothing_waits_for_the_rest_of_a_message_whose_sender_has_left() {
    let frame = |kind, flags, number, length: usize, opens: bool| {
        let header = Header { kind, flags, number, message_id: u64::from(number), length: length as u32 };
        let message_header = MessageHeader { key: user(1), element: u8::TYPE, total: 100 };
        let opening = if opens { message_header.encode().to_vec() } else { Vec::new() };
        [&header.encode()[..], &opening, &vec![9; length]].concat()
    };
    let first = crate::wire::frame::FIRST;
    let half = frame(Kind::Data, first, 0, 50, true);
    let announced = frame(Kind::Envelope, 0, 0, 0, true);
    let whole = frame(Kind::Data, first, 1, 100, true);
    let goodbye = |number| frame(Kind::Goodbye, 0, number, 0, false);
    for (case, stream, is_before) in [
        ("a read that is filled", [&half[..], &goodbye(1)].concat(), true),
        ("a read that is granted", [&announced[..], &goodbye(1)].concat(), true),
        ("a later read of half a message", [&half[..], &goodbye(1)].concat(), false),
        ("a later read of what was announced", [&announced[..], &goodbye(1)].concat(), false),
        ("a later read of a whole one behind it", [&half[..], &whole, &goodbye(2)].concat(), false),
    ] {
        let mut victim = Victim::new(Chance(1), 64);
        let engine = &mut victim.engine;
        let read = |engine: &mut Engine| engine.initread(NOW, PEER, user(1), u8::TYPE, Box::new(vec![0u8; 100]));
        let before = is_before.then(|| read(engine).unwrap());
        receive(engine, PEER, &stream, || usize::MAX);
        assert!(engine.failure().is_none(), "{case}: {:?}", engine.failure());
        assert!(engine.is_over(PEER), "{case}: it has said goodbye");
        let read = if is_before { Ok(before.unwrap()) } else { read(engine) };
        let has_whole = stream.len() > 200;
        match read {
            Ok(op) => {
                let completion = engine.poll_completion().unwrap_or_else(|| panic!("{case}: it waits"));
                assert_eq!(completion.op, op, "{case}");
                let is_right = match completion.outcome {
                    Outcome::Read(mut place, _) => has_whole && *place.bytes_mut() == [9; 100],
                    Outcome::Failed(failure) => {
                        let text = failure.error.to_string();
                        !has_whole && matches!(failure.error, Error::PeerLost { .. }) && text.contains("has finished")
                    }
                    _ => false,
                };
                assert!(is_right, "{case}");
            }
            Err(unposted) => assert!(!has_whole && unposted.error.to_string().contains("has finished"), "{case}"),
        }
        assert!(engine.links[1].incoming.is_idle(), "{case}: nothing of it is left");
    }
}
