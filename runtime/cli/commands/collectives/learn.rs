//! What nodes learn before they measure: what a message takes, and what of it is the processor's.

use std::time::Instant;

use lathide::CostModel;
use lathide::{Node, Rank, Tag};

use super::together::goes_on;
use crate::commands::common::blocks::Messages;
use crate::launch::failed::Result;

const SHIFT: Tag = Tag(1);
const PING: Tag = Tag(2);
const FAN: Tag = Tag(3);
/// Messages by which nodes learn what a link can do, and how often each goes to and fro: so many in a class of sizes
/// leave a sample for sure.
const SHORT_BYTES: [usize; 4] = [8, 64, 512, 4 << 10];
const SHORT_EACH: u32 = 32;
const LONG_BYTES: [usize; 3] = [32 << 10, 128 << 10, 512 << 10];
const LONG_EACH: u32 = 8;
/// What shows whether pairs share a medium: the bytes of a message, how often, and from which part of the way to n times as
/// long they do.
const SHARING_BYTES: usize = 32 << 10;
const SHARING_EACH: usize = 3;
const SHARED_FROM: f64 = 0.5;
/// The bytes of a message that is as good as empty.
const FAN_BYTES: usize = 8;
const FAN_EACH: usize = 20;

/// The machine by whose prices this job's collectives are predicted and chosen, the same on every rank; and whether links
/// have shown enough for it, or only the processor's part is not a guess. `seconds`: about how long it may take.
pub(super) fn machine(node: &Node, seconds: f64) -> Result<(CostModel, bool)> {
    let (began, guess) = (Instant::now(), node.calibrate()?);
    for bytes in SHORT_BYTES {
        node.barrier()?;
        shift(node, bytes)?;
    }
    let overhead_s = overhead(node)?;
    // On one medium pairs slow each other down, so that only what one does alone shows the medium's own line.
    let is_shared = shares_medium(node, 0.3 * seconds)?;
    let mut alone = Vec::new();
    for (at, bytes) in LONG_BYTES.into_iter().enumerate() {
        if !goes_on(node, at == 0 || began.elapsed().as_secs_f64() < seconds)? {
            break;
        }
        node.barrier()?;
        let took_s = ping_pong(node, bytes, is_shared)?;
        alone.push((bytes, took_s));
    }
    node.barrier()?;
    let fitted = node.calibrate()?;
    let fitted = if is_shared { of_medium(node, fitted, &alone)? } else { fitted };
    let machine = overhead_s.map_or(fitted, |overhead_s| fitted.with_overhead(overhead_s));
    node.set_cost_model(machine);
    Ok((machine, (fitted.exchange_fixed(), fitted.node) != (guess.exchange_fixed(), guess.node)))
}

/// Whether pairs that exchange messages at once share a medium (Stoica, Sultan and Keyes, eq. 16): all of them together
/// take longer than one alone. One pair has nobody to share with.
fn shares_medium(node: &Node, seconds: f64) -> Result<bool> {
    let began = Instant::now();
    let pairs = f64::from(node.size() / 2);
    if pairs < 2.0 {
        return Ok(false);
    }
    let mut ratios = Vec::new();
    for at in 0..SHARING_EACH {
        if !goes_on(node, at == 0 || began.elapsed().as_secs_f64() < seconds)? {
            break;
        }
        node.barrier()?;
        let alone_s = ping_pong(node, SHARING_BYTES, true)?;
        node.barrier()?;
        let together_s = ping_pong(node, SHARING_BYTES, false)?;
        ratios.push(together_s / alone_s);
    }
    ratios.sort_by(f64::total_cmp);
    // All of n pairs on one medium take n times as long; half of the way there is none of noise.
    let shares = ratios[ratios.len() / 2] > 1.0 + SHARED_FROM * (pairs - 1.0);
    goes_on(node, shares)
}

/// The machine whose ranks share the medium that one pair's messages have shown.
fn of_medium(node: &Node, fitted: CostModel, alone: &[(usize, f64)]) -> Result<CostModel> {
    let short_s = ping_pong(node, FAN_BYTES, true)?;
    let samples = alone.iter().map(|&(bytes, took_s)| (bytes as f64, took_s));
    let mut slopes = samples.map(|(bytes, took_s)| (took_s - short_s) / (bytes - FAN_BYTES as f64));
    // The longest says most.
    let line = node.broadcast(0, vec![short_s, slopes.next_back().unwrap_or(fitted.node.per_byte)])?;
    let is_sound = line.iter().all(|value| *value > 0.0 && value.is_finite());
    let model = if is_sound { fitted.with_link(line[0], line[1]) } else { fitted };
    Ok(CostModel { is_shared: true, ..model })
}

/// Everybody to the next rank and to the one before in turns: all send and receive at once, as in a collective, and
/// share processors where they do.
fn shift(node: &Node, bytes: usize) -> Result<()> {
    let [left, right] = [-1, 1].map(|by| Some(node.rank().on_ring(by, node.size())));
    let mut messages = Messages::new(bytes);
    for turn in 0..2 * SHORT_EACH {
        let peers = if turn % 2 == 0 { [left, right] } else { [right, left] };
        messages.step(node, SHIFT, peers, || ())?;
    }
    Ok(())
}

/// To and fro in pairs, all at once or the first one `alone`: each has its ports for itself. Seconds of a message, one way;
/// 0 for ranks that have sent none.
fn ping_pong(node: &Node, bytes: usize, alone: bool) -> Result<f64> {
    let (rank, other) = (node.rank(), Rank(node.rank().0 ^ 1));
    if other.0 >= node.size() || (alone && rank.0 > 1) {
        return Ok(0.0);
    }
    let (mut messages, began) = (Messages::new(bytes), Instant::now());
    for turn in 0..2 * LONG_EACH {
        let is_writer = (turn % 2 == 0) == (rank < other);
        messages.step(node, PING, [!is_writer, is_writer].map(|moves| moves.then_some(other)), || ())?;
    }
    Ok(began.elapsed().as_secs_f64() / f64::from(2 * LONG_EACH))
}

/// Seconds of processor to send a short message or to receive one, as in LogP (Culler et al. 1993): from rank 0 to
/// all others and back takes so much more for each of them than to one and back. `None` if there is only one.
pub(super) fn overhead(node: &Node) -> Result<Option<f64>> {
    let others = node.size() - 1;
    if others < 2 {
        return Ok(None);
    }
    let mut more: Vec<f64> = Vec::new();
    for _ in 0..FAN_EACH {
        let to_one = fan(node, 1)?;
        let to_all = fan(node, others)?;
        more.push((to_all - to_one) / f64::from(others - 1));
    }
    more.sort_by(f64::total_cmp);
    Ok(Some(node.broadcast(0, vec![more[FAN_EACH / 2]])?[0]))
}

/// From rank 0 to the first `others` ranks at once, and back: seconds.
fn fan(node: &Node, others: u32) -> Result<f64> {
    node.barrier()?;
    let (began, message) = (Instant::now(), || vec![1_u8; FAN_BYTES]);
    if node.rank() == 0 {
        let reads = (1..=others).map(|rank| node.initread(rank, FAN, message()));
        let reads = reads.collect::<lathide::Result<Vec<_>>>()?;
        let writes = (1..=others).map(|rank| node.initwrite(rank, FAN, message()));
        for write in writes.collect::<lathide::Result<Vec<_>>>()? {
            write.wait()?;
        }
        for read in reads {
            read.wait()?;
        }
    } else if node.rank().0 <= others {
        let message = node.initread(0, FAN, message())?.wait()?;
        node.initwrite(0, FAN, message)?.wait()?;
    }
    Ok(began.elapsed().as_secs_f64())
}
