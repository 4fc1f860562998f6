//! A network card that sends at a rate, by the system's hierarchical token bucket: one packet at a time, each as long as its bytes
//! take. Here the options of `sch_htb`, as `include/uapi/linux/pkt_sched.h` has them. Pure.
//!
//! A simple token bucket (`sch_tbf`) would let a whole packet's worth pass at once after each pause, which is twenty short packets.
//! This one has no room for tokens: after a packet the next waits for as long as the packet takes.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::TcOption;

/// `TCA_HTB_INIT` and `TCA_HTB_PARMS`.
const DISCIPLINE: u16 = 2;
const CLASS: u16 = 1;
/// `HTB_VER`, its greater part.
const VERSION: u32 = 3;
/// Packets count with their bytes, without cells of ATM: `TC_LINKLAYER_ETHERNET`.
const ETHERNET: u8 = 1;
/// Tokens that can be saved, in ticks of 64 ns: the fewest.
const SAVED: u32 = 1;
/// What a class sends before others have their turn. There is one.
const QUANTUM: u32 = 2000;

/// `struct tc_htb_glob`: all packets are of this class.
pub(super) fn discipline(class: u16) -> TcOption {
    option(DISCIPLINE, [VERSION, 10, class.into(), 0, 0].map(u32::to_ne_bytes).concat())
}

/// `struct tc_htb_opt`: a class that sends so much, and no more from others.
pub(super) fn class(bytes_per_s: u32) -> TcOption {
    // `struct tc_ratespec`.
    let mut rate = [0; 12];
    rate[1] = ETHERNET;
    rate[8..].copy_from_slice(&bytes_per_s.to_ne_bytes());
    let rest = [SAVED, SAVED, QUANTUM, 0, 0].map(u32::to_ne_bytes).concat();
    option(CLASS, [&rate[..], &rate, &rest].concat())
}

fn option(kind: u16, bytes: Vec<u8>) -> TcOption {
    TcOption::Other(DefaultNla::new(kind, bytes))
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;

    use super::*;

    #[test]
    fn options_are_as_long_as_the_system_s() {
        // With four bytes of length and kind each.
        assert_eq!((discipline(1).buffer_len(), class(812_500).buffer_len()), (24, 48));
    }
}
