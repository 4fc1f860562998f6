//! Gather, section 5: how many processors may send at once to one receiver.
//!
//! Too few senders leave the receiver idle (a bubble), too many fill the switch's buffer, and packets are lost. Both
//! bounds follow from one stage that packets enter at rate A and leave at rate D, with a buffer of B packets.

use super::{Packet, Parameters, snapped};
use crate::{BadParameter, above_zero, at_least_zero, check, representable};

/// When the buffer is full, eq. (3): `B / (A - D)`, in s; `None` if it never is, because D keeps up with A.
///
/// Rates are in packets per s.
///
/// # Errors
/// If an argument is not a finite number of at least 0, or the result is too large.
pub fn fill_time_s(arrival_per_s: f64, departure_per_s: f64, buffer_packets: f64) -> Result<Option<f64>, BadParameter> {
    let surplus = at_least_zero("A", arrival_per_s)? - at_least_zero("D", departure_per_s)?;
    let buffer = at_least_zero("B", buffer_packets)?;
    if surplus <= 0.0 {
        return Ok(None);
    }
    representable("B/(A - D)", buffer / surplus).map(Some)
}

/// The part of k packets that is not lost, eq. (4): `min(1, D/A + B/k)`.
///
/// This is exact for a steady stream, not an approximation as the paper's text has it.
///
/// # Errors
/// If A is not a finite number above 0, D or B not one of at least 0, or k is 0.
pub fn transfer_ratio(
    arrival_per_s: f64,
    departure_per_s: f64,
    buffer_packets: f64,
    packets: u64,
) -> Result<f64, BadParameter> {
    let kept_up = at_least_zero("D", departure_per_s)? / above_zero("A", arrival_per_s)?;
    let buffered = at_least_zero("B", buffer_packets)? / above_zero("k", packets as f64)?;
    Ok((kept_up + buffered).min(1.0))
}

/// Ga_l, the least number of senders that keeps the receiver busy, eq. (5): `ceil(g_s / g_r)`.
///
/// # Errors
/// If g_s or g_r is not a finite number above 0.
pub fn lower_bound(send_gap_s: f64, receive_gap_s: f64) -> Result<u32, BadParameter> {
    // The conversion stops at the largest number of processors there can be. Not even a fast sender can be missing.
    Ok((snapped(gap_ratio(send_gap_s, receive_gap_s)?).ceil() as u32).max(1))
}

/// Ga_u, the largest number of senders of i packets each that loses none, eq. (6): `floor(g_s / g_r + B / i)`.
///
/// 0 means that a single sender's i packets are too many.
///
/// # Errors
/// If g_s or g_r is not a finite number above 0, B not one of at least 0, or i is 0.
pub fn upper_bound(
    send_gap_s: f64,
    receive_gap_s: f64,
    buffer_packets: f64,
    packets_each: u64,
) -> Result<u32, BadParameter> {
    let buffered = at_least_zero("B", buffer_packets)? / above_zero("i", packets_each as f64)?;
    Ok(snapped(gap_ratio(send_gap_s, receive_gap_s)? + buffered).floor() as u32)
}

fn gap_ratio(send_gap_s: f64, receive_gap_s: f64) -> Result<f64, BadParameter> {
    Ok(above_zero("g_s", send_gap_s)? / above_zero("g_r", receive_gap_s)?)
}

/// How many processors send at once, and the bounds this comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// w: how many send at a time.
    pub senders: u32,
    /// Ga_l: fewer leave the receiver idle.
    pub lower_bound: u32,
    /// Ga_u: more lose packets.
    pub upper_bound: u32,
    /// Whether w meets both bounds at every instant. If no number does, w is Ga_l, and packets may be lost.
    pub meets_bounds: bool,
}

/// The window w, eq. (7) repaired: the largest x with `Ga_l <= x <= min(Ga_u, p')` and
/// `p' mod x = 0` or `p' mod x >= Ga_l`, where `p' = p - 1`; Ga_l if there is none.
///
/// The last group of senders has `p' mod x` members, or x if x divides p'. See [`window_printed`] for the paper's form.
///
/// # Errors
/// If p is less than 2, i is 0, g_s or g_r is not a finite number above 0, or B not one of at least 0.
pub fn window(
    processors: u32,
    send_gap_s: f64,
    receive_gap_s: f64,
    buffer_packets: f64,
    packets_each: u64,
) -> Result<Window, BadParameter> {
    let senders = senders(processors)?;
    let lower_bound = lower_bound(send_gap_s, receive_gap_s)?;
    let upper_bound = upper_bound(send_gap_s, receive_gap_s, buffer_packets, packets_each)?;
    let largest = largest_window(senders, lower_bound, upper_bound, true);
    Ok(Window { senders: largest.unwrap_or(lower_bound), lower_bound, upper_bound, meets_bounds: largest.is_some() })
}

/// The window exactly as eq. (7) is printed, which refuses every x that divides p' evenly; `None` if none is left.
///
/// Only for comparison with the paper: a window that divides p' has a full last group, and is a good one.
///
/// # Errors
/// As for [`window`].
pub fn window_printed(
    processors: u32,
    send_gap_s: f64,
    receive_gap_s: f64,
    buffer_packets: f64,
    packets_each: u64,
) -> Result<Option<u32>, BadParameter> {
    let senders = senders(processors)?;
    let lower_bound = lower_bound(send_gap_s, receive_gap_s)?;
    let upper_bound = upper_bound(send_gap_s, receive_gap_s, buffer_packets, packets_each)?;
    Ok(largest_window(senders, lower_bound, upper_bound, false))
}

/// p', the processors that send.
fn senders(processors: u32) -> Result<u32, BadParameter> {
    check("p", f64::from(processors), processors >= 2, "at least 2: one gathers, another sends")?;
    Ok(processors - 1)
}

/// The largest x from `lower` to `upper` whose last group is large enough.
///
/// All x with the same number of full groups q have the last group `senders - q x`, which grows as x falls. So one x
/// per q is enough, and there are at most twice the square root of `senders` of them.
fn largest_window(senders: u32, lower: u32, upper: u32, even_is_fine: bool) -> Option<u32> {
    let mut x = upper.min(senders);
    while x >= lower {
        if even_is_fine && senders.is_multiple_of(x) {
            return Some(x);
        }
        let groups = senders / x;
        let candidate = x.min((senders - lower) / groups);
        let smallest = senders / (groups + 1) + 1;
        if candidate >= smallest.max(lower) {
            return Some(candidate);
        }
        x = smallest - 1;
    }
    None
}

/// Who sends when, Algorithm 1: the first w at once, each later one when the one w before it has finished.
///
/// The senders signal each other, so that the receiver, busy enough, need not.
///
/// ```
/// use lathide_models::cluster::Plan;
/// let plan = Plan::with_window(8, 3)?;
/// assert_eq!((plan.waits_for(3)?, plan.waits_for(4)?), (None, Some(1)));
/// assert_eq!((plan.signals(3)?, plan.signals(5)?), (Some(6), None));
/// assert_eq!(plan.longest_chain(), 3); // 1, then 4, then 7
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    processors: u32,
    window: u32,
}

impl Plan {
    /// The plan for p processors that send i packets each: all at once if the buffer holds them all
    /// (`B > p' i`), otherwise w at a time.
    ///
    /// # Errors
    /// If p is less than 2, w or i is 0, or B is not a finite number of at least 0.
    pub fn new(processors: u32, window: u32, buffer_packets: f64, packets_each: u64) -> Result<Self, BadParameter> {
        let senders = senders(processors)?;
        let all = f64::from(senders) * above_zero("i", packets_each as f64)?;
        let fits = at_least_zero("B", buffer_packets)? > all;
        above_zero("w", f64::from(window))?;
        Self::with_window(processors, if fits { senders } else { window })
    }

    /// The plan for p processors of which w send at a time, whatever the buffer.
    ///
    /// # Errors
    /// If p is less than 2, or w is 0.
    pub fn with_window(processors: u32, window: u32) -> Result<Self, BadParameter> {
        let senders = senders(processors)?;
        above_zero("w", f64::from(window))?;
        Ok(Self { processors, window: window.min(senders) })
    }

    /// How many send at a time; at most all.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Whose signal processor j awaits before it sends; `None` if it may send at once, or is the receiver, 0.
    ///
    /// # Errors
    /// If there is no processor j.
    pub fn waits_for(&self, j: u32) -> Result<Option<u32>, BadParameter> {
        self.checked(j)?;
        Ok(if j > self.window { Some(j - self.window) } else { None })
    }

    /// Whom processor j signals after it has sent; `None` if nobody waits for it.
    ///
    /// # Errors
    /// If there is no processor j.
    pub fn signals(&self, j: u32) -> Result<Option<u32>, BadParameter> {
        self.checked(j)?;
        Ok(j.checked_add(self.window).filter(|next| j > 0 && *next < self.processors))
    }

    /// How many senders the longest chain has in which each waits for the one before: `ceil(p' / w)`.
    pub fn longest_chain(&self) -> u32 {
        (self.processors - 1).div_ceil(self.window)
    }

    /// Who sends after whom: for each that may send at once, the senders that wait for each other.
    pub fn chains(&self) -> Vec<Vec<u32>> {
        (1..=self.window).map(|first| (first..self.processors).step_by(self.window as usize).collect()).collect()
    }

    fn checked(&self, j: u32) -> Result<(), BadParameter> {
        check("j", f64::from(j), j < self.processors, "below p, the number of processors").map(|_| ())
    }
}

/// The least time in which p processors can gather i packets from each but one, eq. (8) corrected:
/// `C1 + (p - 1) i g_r + C2`, in s.
///
/// `first_s` (C1) is when the first packet reaches the switch, `last_s` (C2) what the last one still needs behind it.
/// The paper prints the departure rate D for the time g_r = 1/D. One processor needs no time.
///
/// # Errors
/// If p or i is 0, a time is not a finite number of at least 0, or the result is too large.
pub fn gather_bound_s(
    processors: u32,
    packets_each: u64,
    receive_gap_s: f64,
    first_s: f64,
    last_s: f64,
) -> Result<f64, BadParameter> {
    let senders = above_zero("p", f64::from(processors))? - 1.0;
    let packets = senders * above_zero("i", packets_each as f64)?;
    let between = packets * at_least_zero("g_r", receive_gap_s)?;
    let ends = at_least_zero("C1", first_s)? + at_least_zero("C2", last_s)?;
    if processors == 1 {
        return Ok(0.0);
    }
    representable("C1 + (p - 1) i g_r + C2", between + ends)
}

/// A gather as the model would do it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gather {
    /// i: the packets of each sender.
    pub packets_each: u64,
    /// The window of eqs. (5) to (7).
    pub window: Window,
    /// Who sends when, Algorithm 1.
    pub plan: Plan,
    /// The least time it takes, eq. (8), in s.
    pub bound_s: f64,
    /// The part of all packets that would not be lost if everybody sent at once, eq. (4).
    pub all_at_once_ratio: f64,
}

impl Packet {
    /// [`gather_bound_s`] with `C1 = O_s + L` and `C2 = O_r + U_r + M_mtm`, in s.
    ///
    /// Which of its parameters make up C1 and C2 the paper does not say; these fit its definition of the two.
    ///
    /// # Errors
    /// If p or i is 0, a time is not a finite number of at least 0, or the result is too large.
    pub fn gather_bound_s(&self, processors: u32, packets_each: u64) -> Result<f64, BadParameter> {
        let first = at_least_zero("O_s", self.send_s)? + at_least_zero("L", self.transfer_s)?;
        let last = self.reception_s()? + at_least_zero("M_mtm", self.copy_s)?;
        gather_bound_s(processors, packets_each, self.receive_gap_s, first, last)
    }
}

impl Parameters {
    /// Gathering a message of `message_bytes` from each of p - 1 processors, cut into packets of at most `packet_bytes`.
    ///
    /// # Errors
    /// If a size is not a finite number (of at least 0, for a packet above 0), p is less than 2, g_s or g_r is 0 for
    /// such packets, or the result is too large.
    pub fn gather(&self, message_bytes: f64, packet_bytes: f64, processors: u32) -> Result<Gather, BadParameter> {
        let (packets_each, packet_bytes) = super::packets(message_bytes, packet_bytes)?;
        let senders = senders(processors)?;
        let packet = self.packet(packet_bytes, processors)?;
        let (g_s, g_r, buffer) = (packet.send_gap_s, packet.receive_gap_s, self.buffer_packets);
        let window = window(processors, g_s, g_r, buffer, packets_each)?;
        let arrival_per_s = f64::from(senders) / g_s;
        let all_packets = u64::from(senders).saturating_mul(packets_each);
        Ok(Gather {
            packets_each,
            window,
            plan: Plan::new(processors, window.senders, buffer, packets_each)?,
            bound_s: packet.gather_bound_s(processors, packets_each)?,
            all_at_once_ratio: transfer_ratio(arrival_per_s, 1.0 / g_r, buffer, all_packets)?,
        })
    }
}
