//! How many may send to one receiver at once (Tam and Wang 5.2 and 5.3, equations 5 to 7).

/// The window w of Algorithm 1: the largest number of senders at once that neither starves nor floods the link in
/// front of the receiver.
///
/// `gap_ratio` is `g_s / g_r`, how much slower one sender is than the receiver's link; `queue_messages` is `B / i`,
/// how many senders' whole messages the queue in front of that link holds; `others` is the number of senders.
///
/// At least `ceil(g_s/g_r)` keep the link busy (eq. 5), at most `floor(g_s/g_r + B/i)` do not overflow the queue
/// (eq. 6). Of the numbers between, w is the largest for which the last, incomplete group of senders, if there is
/// one, keeps the link busy too (eq. 7); if there is none, it is the lower bound.
pub(crate) fn senders(gap_ratio: f64, queue_messages: f64, others: u32) -> u32 {
    let gap_ratio = gap_ratio.max(0.0);
    let lowest = (gap_ratio.ceil() as u32).max(1);
    let highest = ((gap_ratio + queue_messages.max(0.0)).floor() as u32).min(others);
    let is_even = |window: &u32| {
        let rest = others % window;
        rest == 0 || rest >= lowest
    };
    (lowest..=highest).rev().find(is_even).unwrap_or(lowest)
}

#[cfg(test)]
mod tests {
    use super::senders;

    #[test]
    fn windows_lie_between_the_bounds() {
        assert_eq!(senders(1.0, 2.0, 15), 3, "floor(1 + 2), which divides 15");
        assert_eq!(senders(2.0, 4.5, 15), 6, "15 mod 6 = 3 keeps the link busy");
        assert_eq!(senders(3.0, 4.5, 16), 6, "16 mod 7 = 2 starves it, 16 mod 6 = 4 does not");
        assert_eq!(senders(1.0, 1e9, 15), 15, "all at once if the queue holds it");
        assert_eq!(senders(1.0, 0.3, 15), 1);
        assert_eq!(senders(2.5, 0.2, 15), 3, "starving costs more than a full queue: the lower bound");
        assert_eq!(senders(1.0, 5.0, 1), 1);
        assert_eq!(senders(1.0, 5.0, 0), 1);
        assert_eq!(senders(f64::NAN, f64::INFINITY, 4), 4);
    }
}
