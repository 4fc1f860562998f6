//! How much is measured: what fits into the time, on a link as the first look shows it. Pure.

use super::plan::{Order, Probe, Way, Wishes};

/// Message sizes of one-way times.
const ONE_WAY_MIN: usize = 8;
const ONE_WAY_MAX: usize = 16 << 20;
/// A block takes at least so long, if the time allows it: a wake-up more or less then says little.
const BLOCK_S: f64 = 0.012;
const ROUND_TRIPS_MAX: f64 = 4000.0;

/// Shares of the time.
const ONE_WAY: f64 = 0.33;

/// What is measured in each round.
pub(super) fn schedule(wishes: &Wishes, probe: &Probe) -> Vec<Order> {
    let budget = Budget { wishes, probe };
    let mut orders = Vec::new();
    orders.extend(budget.one_way());
    orders
}

struct Budget<'a> {
    wishes: &'a Wishes,
    probe: &'a Probe,
}

impl Budget<'_> {
    /// Seconds per round for something with this share of the time.
    fn round_s(&self, share: f64) -> f64 {
        share * self.wishes.seconds / f64::from(self.wishes.repeats + 1)
    }

    /// How often something of `one_s` seconds is done per block.
    fn count(&self, one_s: f64, block_s: f64, max: f64) -> u32 {
        (block_s / one_s).ceil().clamp(1.0, max) as u32
    }

    fn one_way(&self) -> Vec<Order> {
        let order = |bytes: usize| {
            let round_trip_s = 2.0 * self.probe.one_way_s(bytes);
            Order::OneWay { bytes, round_trips: self.count(round_trip_s, BLOCK_S, ROUND_TRIPS_MAX) }
        };
        let cost_s = |order: &Order| {
            let Order::OneWay { bytes, round_trips } = order else { return 0.0 };
            let round_trips_s = f64::from(*round_trips) * 2.0 * self.probe.one_way_s(*bytes);
            // The order itself and a signal per way go before.
            let begin_s = (2 * Way::ALL.len() + 1) as f64 * self.probe.start_s;
            Way::ALL.len() as f64 * round_trips_s + begin_s
        };
        if let Some(bytes) = &self.wishes.bytes {
            return bytes.iter().map(|bytes| order(*bytes)).collect();
        }
        let round_s = self.round_s(ONE_WAY);
        // The longest message takes at most a good part of the time, the others share the rest.
        let powers = || (0..).map(|power| ONE_WAY_MIN << power).take_while(|bytes| *bytes <= ONE_WAY_MAX);
        let longest =
            powers().take_while(|bytes| cost_s(&order(*bytes)) <= 0.4 * round_s).last().unwrap_or(ONE_WAY_MIN);
        let mut orders = Vec::new();
        for step in [1, 2, 3, 4, 6] {
            orders = self::every(step, longest).map(order).collect();
            if orders.iter().map(cost_s).sum::<f64>() <= round_s {
                break;
            }
        }
        orders
    }
}

/// The least size, and every `step`-th power of two below `longest`, and that one; ascending.
fn every(step: u32, longest: usize) -> impl Iterator<Item = usize> {
    let top = longest.ilog2();
    let least = ONE_WAY_MIN.ilog2();
    let powers = (least..=top).filter(move |power| (top - power).is_multiple_of(step) || *power == least);
    powers.map(|power| 1 << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_thin_out_from_the_longest() {
        assert_eq!(every(1, 64).collect::<Vec<_>>(), [8, 16, 32, 64]);
        assert_eq!(every(2, 64).collect::<Vec<_>>(), [8, 16, 64]);
        assert_eq!(every(3, 64).collect::<Vec<_>>(), [8, 64]);
        assert_eq!(every(5, 8).collect::<Vec<_>>(), [8]);
    }
}
