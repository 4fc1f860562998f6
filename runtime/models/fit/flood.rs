//! B_L from bursts (Tam, Wang, section 3.2): several senders flood one receiver for longer and longer, and eq. (4) maps the
//! part that arrives at once to the buffer of the network.
//!
//! `transfer ratio = min(1, D/A + B/k)`: k bytes arrive at the rate A and depart at the rate D. Over TCP what is lost is sent
//! again, so the losses are what was resent; and TCP may put less under way than it is given. So B_L is what the network
//! holds *as TCP uses it*.
//!
//! ```
//! use lathide_models::fit::flood::{Flood, queue};
//! // Three senders, each as fast as the receiver: a third of what they send can leave meanwhile.
//! let burst = |bytes: u64, resent_bytes: u64| Flood { bytes, resent_bytes, time_s: 1e-3 };
//! let found = queue(&[burst(30_000, 0), burst(300_000, 100_000)], 3).unwrap();
//! assert!((found.bytes - 100_000.0).abs() < 1e-6 && !found.is_least); // 300 000 (2/3 - 1/3)
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::robust::plain_median;

/// What several senders sent to one receiver at once.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Flood {
    /// k: of all of them.
    pub bytes: u64,
    /// What was sent again.
    pub resent_bytes: u64,
    /// Until all had arrived, in seconds.
    pub time_s: f64,
}

/// The buffer of the network.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Queue {
    /// B_L, in bytes.
    pub bytes: f64,
    /// It is at least as much: nothing was lost.
    pub is_least: bool,
    /// How much faster the senders are than the receiver: A/D.
    pub overload: u32,
}

/// B_L by eq. (4), from floods of several sizes and repetitions, where `overload` senders are each as fast as the receiver.
///
/// Of the least flood of which most repetitions lost something; but at least what a lesser one kept. `None` if nothing was
/// sent, or no faster than it departs.
#[must_use]
pub fn queue(floods: &[Flood], overload: u32) -> Option<Queue> {
    let floods = medians(floods);
    if overload < 2 || floods.is_empty() {
        return None;
    }
    let departing = 1.0 / f64::from(overload);
    let kept = floods.iter().take_while(|flood| flood.resent_bytes == 0).last();
    let kept_bytes = kept.map_or(0.0, |flood| flood.bytes as f64 * (1.0 - departing));
    let lost = floods.iter().find(|flood| flood.resent_bytes > 0);
    let bytes = match lost {
        None => kept_bytes,
        Some(flood) => {
            let all = flood.bytes as f64;
            // More may be resent than was lost.
            let ratio = 1.0 - (flood.resent_bytes as f64 / all).min(1.0);
            (all * (ratio - departing)).max(kept_bytes)
        }
    };
    Some(Queue { bytes, is_least: lost.is_none(), overload })
}

/// By size, the medians of the repetitions.
#[must_use]
pub fn medians(floods: &[Flood]) -> Vec<Flood> {
    let mut sizes: BTreeMap<u64, Vec<&Flood>> = BTreeMap::new();
    floods.iter().filter(|flood| flood.bytes > 0).for_each(|flood| sizes.entry(flood.bytes).or_default().push(flood));
    let middle = |(bytes, same): (u64, Vec<&Flood>)| Flood {
        bytes,
        resent_bytes: plain_median(same.iter().map(|flood| flood.resent_bytes as f64)) as u64,
        time_s: plain_median(same.iter().map(|flood| flood.time_s)),
    };
    sizes.into_iter().map(middle).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cluster::transfer_ratio;

    fn flood(bytes: u64, resent_bytes: u64) -> Flood {
        Flood { bytes, resent_bytes, time_s: 1e-3 }
    }

    #[test]
    fn without_losses_it_is_a_lower_bound() {
        let found = queue(&[flood(1000, 0), flood(4000, 0)], 4).unwrap();
        assert_eq!((found.bytes, found.is_least), (3000.0, true));
    }

    #[test]
    fn a_single_loss_of_three_is_an_accident() {
        let found = queue(&[flood(1000, 0), flood(1000, 0), flood(1000, 500)], 2).unwrap();
        assert!(found.is_least);
        assert_eq!(medians(&[flood(1000, 0), flood(1000, 5), flood(1000, 500)]), [flood(1000, 5)]);
    }

    #[test]
    fn what_was_kept_is_believed_before_what_was_resent_for_nothing() {
        let found = queue(&[flood(1000, 0), flood(2000, 9000)], 2).unwrap();
        assert_eq!((found.bytes, found.is_least), (500.0, false));
    }

    #[test]
    fn nothing_queues_where_all_departs() {
        assert_eq!(queue(&[flood(1000, 0)], 1), None);
        assert_eq!(queue(&[], 3), None);
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        /// What eq. (4) says is lost leads back to the buffer.
        #[test]
        fn a_buffer_is_found_again(buffer in 1e3..1e6_f64, overload in 2..16_u32, factor in 1.05..30.0_f64) {
            let sizes = [0.5, 1.0, factor].map(|size| (size * buffer / (1.0 - 1.0 / f64::from(overload))) as u64);
            let floods = sizes.map(|bytes| {
                let ratio = transfer_ratio(f64::from(overload), 1.0, buffer, bytes).unwrap();
                flood(bytes, (bytes as f64 * (1.0 - ratio)).round() as u64)
            });
            let found = queue(&floods, overload).unwrap();
            prop_assert!(!found.is_least);
            prop_assert!((found.bytes / buffer - 1.0).abs() < 0.01, "{found:?}");
        }
    }
}
