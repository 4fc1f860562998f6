//! What a rank contributes to an exchange, and what all ranks' contributions say together.

use crate::collective::price;
use crate::operation::Collective;
use lathide_models::fit::{Sample, segmented};

/// Up to here the bytes of a message add little to its time.
const SHORT_BYTES: u64 = 1024;
/// The most collectives of one exchange.
pub(crate) const ENTRIES_MAX: usize = 12;
/// Numbers that each rank contributes: as many whatever it has called, so that ranks that disagree otherwise still fit
/// together.
pub(crate) const VALUES: usize = BEFORE + ENTRIES_MAX;
const BEFORE: usize = 6;

/// A collective, and a class of sizes: a factor of 2.
pub(crate) type Key = (Collective, u32);

/// The result of an exchange.
#[derive(PartialEq, Debug)]
pub(crate) struct Outcome {
    /// The line `a + b x` of links; nothing of it is known if the cost model is to stay as it is.
    pub(crate) line: Line,
    /// Seconds from host to host, by TCP's handshakes. On the way there may be a relay, so messages say more.
    pub(crate) delay_s: Option<f64>,
    /// The line that an earlier job on these hosts has left.
    pub(crate) remembered: Line,
    /// Packets that had to be sent again.
    pub(crate) losses: f64,
    /// Observed over predicted time, by collective and size: `None` if no rank knows.
    pub(crate) ratios: Vec<(Key, Option<f64>)>,
}

/// A straight line `a + b x` of messages' one-way times, as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Line {
    /// Seconds.
    pub(crate) a_s: Option<f64>,
    pub(crate) b_s_per_byte: Option<f64>,
}

impl Line {
    /// The line through the usual times of some sizes. Short messages alone do not show what a byte costs, nor long ones
    /// alone what a message does.
    pub(crate) fn through(sizes: &[Sample]) -> Self {
        let is_short = |size: &&Sample| size.bytes <= SHORT_BYTES;
        let (short, long) =
            (sizes.iter().filter(is_short).count(), sizes.iter().filter(|size| !is_short(size)).count());
        if short == 0 {
            return Line::default();
        }
        if long == 0 {
            return Line { a_s: price::median(sizes.iter().map(|size| size.time_s).collect()), b_s_per_byte: None };
        }
        let Ok(line) = segmented::line(sizes) else { return Line::default() };
        let (a, b) = (line.start_s, line.segments.first().map(|segment| segment.s_per_byte));
        let sound = |value: &f64| *value > 0.0 && value.is_finite();
        Line { a_s: Some(a).filter(sound), b_s_per_byte: b.filter(sound) }
    }
}

/// What one rank has observed since the last exchange.
pub(crate) struct Observed {
    /// The straight line `a + b x` of its links.
    pub(crate) line: Line,
    /// Seconds to a peer's host, as TCP's handshake has shown.
    pub(crate) delay_s: Option<f64>,
    /// The line that an earlier job has left.
    pub(crate) remembered: Line,
    /// Packets that it had to send again.
    pub(crate) losses: u64,
    /// Observed over predicted time, in the order of the exchange's keys.
    pub(crate) ratios: Vec<Option<f64>>,
}

impl Observed {
    /// As numbers; what is not known is none.
    pub(crate) fn encode(&self) -> Vec<f64> {
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let Line { a_s, b_s_per_byte } = self.line;
        let mut values = vec![number(a_s), number(b_s_per_byte), number(self.delay_s), self.losses as f64];
        values.extend([self.remembered.a_s, self.remembered.b_s_per_byte].map(number));
        values.extend(self.ratios.iter().map(|ratio| number(*ratio)));
        values.resize(VALUES, f64::NAN);
        values
    }
}

/// What all ranks say together. Any numbers are possible: what makes no sense counts as unknown.
pub(super) fn combine(values: &[f64], keys: &[Key]) -> Outcome {
    let ranks = || values.chunks_exact(VALUES);
    let known = |at: usize| -> Vec<f64> {
        let known = ranks().map(|values| values[at]).filter(|value| *value > 0.0 && value.is_finite());
        known.collect()
    };
    let line = Line { a_s: price::median(known(0)), b_s_per_byte: price::median(known(1)) };
    let (delay_s, losses) = (price::median(known(2)), known(3).iter().sum());
    let remembered = Line { a_s: price::median(known(4)), b_s_per_byte: price::median(known(5)) };
    let ratio = |(at, key): (usize, &Key)| {
        let known = known(BEFORE + at);
        // With a root some ranks do little, and the time is that of the last. Without one all take about as long, but for
        // those that come late.
        let ratio = if key.0.has_root() { known.into_iter().max_by(f64::total_cmp) } else { price::median(known) };
        (*key, ratio)
    };
    let ratios = keys.iter().take(ENTRIES_MAX).enumerate().map(ratio).collect();
    Outcome { line, delay_s, remembered, losses, ratios }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_ranks_observe_comes_together() {
        let keys = [(Collective::Allreduce, 3), (Collective::Gather, 5)];
        let of = |a, losses, ratios: [f64; 2]| {
            Observed {
                line: Line { a_s: Some(a), b_s_per_byte: Some(2e-9) },
                delay_s: None,
                remembered: Line::default(),
                losses,
                ratios: ratios.map(Some).to_vec(),
            }
            .encode()
        };
        let blind = Observed {
            line: Line::default(),
            delay_s: None,
            remembered: Line::default(),
            losses: 0,
            ratios: vec![None, None],
        }
        .encode();
        let all = [of(1e-3, 0, [1.0, 0.1]), of(3e-3, 2, [1.2, 8.0]), blind, of(2e-3, 5, [9.0, 0.2])].concat();
        let Outcome { line, losses, ratios, .. } = combine(&all, &keys);
        assert_eq!((line, losses), (Line { a_s: Some(2e-3), b_s_per_byte: Some(2e-9) }, 7.0));
        assert_eq!(ratios, [(keys[0], Some(1.2)), (keys[1], Some(8.0))]);
    }

    #[test]
    fn a_line_needs_short_messages_and_long_ones() {
        let of = |sizes: &[u64]| -> Vec<Sample> {
            sizes.iter().map(|&bytes| Sample { bytes, time_s: 300e-6 + 160e-9 * bytes as f64 }).collect()
        };
        let Line { a_s: Some(a), b_s_per_byte: Some(b) } = Line::through(&of(&[8, 120, 32_768])) else {
            panic!("three sizes are a line")
        };
        assert!((a / 300e-6 - 1.0).abs() < 1e-6 && (b / 160e-9 - 1.0).abs() < 1e-6, "{a}, {b}");
        let short = Line::through(&of(&[8, 120, 240]));
        assert!(short.a_s.is_some_and(|a| (a / 300e-6 - 1.0).abs() < 0.2) && short.b_s_per_byte.is_none(), "{short:?}");
        assert_eq!((Line::through(&of(&[32_768])), Line::through(&[])), (Line::default(), Line::default()));
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn any_numbers_give_a_sound_outcome(bits in proptest::collection::vec(any::<u64>(), 0..4 * VALUES)) {
            let values: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
            let Outcome { line, losses, ratios, .. } = combine(&values, &[(Collective::Barrier, 0)]);
            prop_assert!([line.a_s, line.b_s_per_byte].into_iter().flatten().all(|value| value > 0.0 && value.is_finite()));
            prop_assert!(losses >= 0.0);
            prop_assert!(ratios[0].1.is_none_or(|ratio| ratio > 0.0 && ratio.is_finite()));
        }
    }
}
