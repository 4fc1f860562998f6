//! The cluster model (Tam, Wang, *Realistic communication model for parallel computing on cluster*).
//!
//! A cluster is p equal processors on one switch that passes packets on at once and holds up to B_L of them. What
//! sets it apart from LogP: every parameter is a function of the packet's size, receiving costs the processor something
//! even if the program does not look (O_r), and the switch's load and buffer are part of the model.
//!
//! | symbol | field | meaning |
//! | --- | --- | --- |
//! | O_s | `send` | processor time to send a packet |
//! | g_s | `send_gap` | least time between packets from one sender |
//! | L | `transfer` | from send queue to receive queue, for p processors |
//! | g_r | `receive_gap` | least time between packets to one receiver |
//! | O_r | `receive` | processor time to take a packet in, in the background |
//! | U_r | `user_receive` | the program's own time to notice and consume it |
//! | M_ctc, M_ctm, M_mtm | `copy_…` | copies between cache and memory |
//! | B_L | `buffer_packets` | what the switch holds |
//!
//! Sizes are in bytes, times in s; the formulas hold in any unit of time. The manual says what is wrong in the paper's
//! text and what we take instead: `lathide::manual::models::cluster`.
//!
//! ```
//! use lathide_models::cluster::{Parameters, broadcast_postal_s};
//! let cluster = Parameters::table_1();
//! // 64 KiB to sixteen processors, and what a model without reception costs says.
//! let packet = cluster.packet(1500.0, 16)?;
//! let ours = cluster.broadcast_s(65_536.0, 1500.0, 16)?;
//! let postal = broadcast_postal_s(44, 16, packet.send_gap_s, packet.one_way_s()?)?;
//! assert!((ours * 1e3 - 21.28).abs() < 0.01 && (postal * 1e3 - 22.83).abs() < 0.01);
//! // Collecting 1 MB from each of them: three may send at a time.
//! let gather = cluster.gather(1e6, 1500.0, 16)?;
//! assert_eq!(gather.window.senders, 3);
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

mod broadcast;
mod cost;
mod gather;
mod parameters;

#[cfg(test)]
mod gather_tests;
#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod property_tests;

pub use broadcast::{broadcast_postal_s, broadcast_s};
pub use cost::{Cost, Line};
pub use gather::{
    Gather, Plan, Window, fill_time_s, gather_bound_s, lower_bound, transfer_ratio, upper_bound, window, window_printed,
};
pub use parameters::{Packet, Parameters, Transfer};

use super::{BadParameter, above_zero, at_least_zero, check, snapped};

/// Into how many packets a message is cut, and the size that each is priced at: the MTU, or all of a smaller message.
fn packets(message_bytes: f64, packet_bytes: f64) -> Result<(u64, f64), BadParameter> {
    let message = at_least_zero("message size", message_bytes)?;
    let packet = above_zero("packet size", packet_bytes)?;
    let packets = snapped(message / packet).ceil().max(1.0);
    // Above this, whole numbers are no longer told apart.
    check("number of packets", packets, packets <= 2f64.powi(53), "at most 2^53: the packet size is too small")?;
    Ok((packets as u64, packet.min(message)))
}
