//! What all messages of a program take: an inventory, priced by the rules (sections 2.5, 3.3 and 5.2.2).

use super::{Block, Network, Path, Primitive};
use crate::{BadParameter, at_least_one, at_least_zero};

/// Messages of one size that a host sends in a unit of work, such as an iteration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Messages {
    /// The length of each.
    pub bytes: f64,
    /// Their number; a mean over units or hosts may have a fraction.
    pub count: f64,
}

/// What messages take, in seconds. Those of one host are served one after the other, so their times add up.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Price {
    /// T_s: until the last byte of each has left the sender.
    pub sending_s: f64,
    /// T_r: from the arrival of the first packet of each until all of it is received, if the receiver waits for it.
    pub receiving_s: f64,
    /// T_c: from the start of each until all of it is received. It is what a read takes that is posted when the sender starts.
    pub total_s: f64,
}

/// What prices messages: how hosts send, and what they share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prices {
    network: Network,
    sending: Sending,
}

/// T_s of one sender alone: of a short message by itself, and the mean of several to different receivers that are posted at once.
/// What the first of these need not wait for (the card that sends the one before) is a smaller part of more messages: the mean of
/// K is `limit - part / K`. It is a packet at most, and so no matter of long messages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sending {
    /// a_s of a message by itself, in seconds.
    pub single_a_s: f64,
    /// The mean of several at once.
    pub several: Block,
    /// How many these are.
    pub together: f64,
}

impl Sending {
    /// Of so many messages at once, which may be a mean.
    ///
    /// # Errors
    /// If `together` is not a finite number of at least 1.
    pub fn of(&self, together: f64) -> Result<Block, BadParameter> {
        let share = 1.0 - 1.0 / at_least_one("number of messages at once", together)?;
        let known = 1.0 - 1.0 / self.together.max(1.0);
        let (single, several) = (self.single_a_s, self.several.a_s);
        let a_s = if known > 0.0 { single + (several - single) * share / known } else { single };
        Block::new(a_s.max(0.0), self.several.b_s_per_byte)
    }
}

impl Prices {
    /// T_s as the paper takes it for a sender that keeps the processor until the last packet is through (Fig. 8): `a_s = a_W`,
    /// `b_s = max(b_W, b_C)`.
    ///
    /// # Errors
    /// Never for a network that [`Network::new`] made.
    pub fn new(network: Network) -> Result<Self, BadParameter> {
        let several = network.path()?.sending(Primitive::NonPreemptive)?;
        Ok(Self { network, sending: Sending { single_a_s: several.a_s, several, together: 1.0 } })
    }

    /// The same with T_s as it was measured of one sender alone.
    #[must_use]
    pub fn with_sending(self, sending: Sending) -> Self {
        Self { sending, ..self }
    }

    /// T_s(x; a_s, b_s) of a message while `senders` hosts send at once, by rule 3 on the network: `a_s` as alone, since a
    /// message of one packet has left the sender before it contends (Fig. 8), and `b_s = max(b_s, n b_C)` (section 5.2.2).
    /// One sender is no contention. `together`: so many messages are posted at once. Both may be means.
    ///
    /// # Errors
    /// If a number is not finite and at least 1, or b is too large for a number.
    pub fn sending(&self, senders: f64, together: f64) -> Result<Block, BadParameter> {
        let (alone, n) = (self.sending.of(together)?, at_least_one("n", senders)?);
        // Alone a message meets nothing of the medium's that its own measured time does not have.
        let shared = if n > 1.0 { self.shared(n)?.b_s_per_byte } else { 0.0 };
        Block::new(alone.a_s, alone.b_s_per_byte.max(shared))
    }

    /// T_r(x; a_r, b_r), the greater of the two in Fig. 8: `a_r = a_W`, `b_r = max(b_W, n b_C)`.
    ///
    /// # Errors
    /// As [`Prices::sending`].
    pub fn receiving(&self, senders: f64) -> Result<Block, BadParameter> {
        Ok(self.path(senders)?.receiving(Primitive::NonPreemptive).most)
    }

    /// T_c(x; a, b), eq. (16): `a = 2 a_W + n a_C + a_L`, `b = max(b_W, n b_C)`.
    ///
    /// # Errors
    /// As [`Prices::sending`].
    pub fn total(&self, senders: f64) -> Result<Block, BadParameter> {
        self.path(senders)?.total()
    }

    /// What all of these messages take while `senders` hosts send at once, `together` messages each.
    ///
    /// # Errors
    /// If `senders` or `together` is not a finite number of at least 1, a size or a count not one of at least 0, or a time too large
    /// for a number.
    pub fn price(&self, messages: &[Messages], senders: f64, together: f64) -> Result<Price, BadParameter> {
        let sending = self.sending(senders, together)?;
        let (receiving, total) = (self.receiving(senders)?, self.total(senders)?);
        let mut price = Price::default();
        for Messages { bytes, count } in messages {
            let count = at_least_zero("number of messages", *count)?;
            price.sending_s += count * sending.time_s(*bytes)?;
            price.receiving_s += count * receiving.time_s(*bytes)?;
            price.total_s += count * total.time_s(*bytes)?;
        }
        at_least_zero("T", price.sending_s + price.receiving_s + price.total_s)?;
        Ok(price)
    }

    /// What reads of these messages take, each from its post until it is complete, if `together` of them are posted at once, when
    /// their messages are sent, and are served one after the other: the i-th takes `a = 2 i a_W + i n a_C + a_L` and
    /// `b = i max(b_W, n b_C)`. The last is section 3.3's, with rule 3 applied to the workstation too. One at a time takes T_c.
    /// `together` may be a mean.
    ///
    /// # Errors
    /// As [`Prices::price`], and if `together` is not a finite number of at least 1.
    pub fn reading_s(&self, messages: &[Messages], senders: f64, together: f64) -> Result<f64, BadParameter> {
        let whole = at_least_one("number of reads at once", together)?.floor();
        let (alone, rest) = (self.total(senders)?, together - whole);
        let delay_s = self.network.delay_s;
        let mut all_s = 0.0;
        for Messages { bytes, count } in messages {
            let nth = |i: f64| {
                let a_s = i * (alone.a_s - delay_s) + delay_s;
                Block::new(a_s.max(0.0), i * alone.b_s_per_byte)?.time_s(*bytes)
            };
            let mut once_s = if rest > 0.0 { rest * nth(whole + 1.0)? } else { 0.0 };
            for i in 1..=whole as u64 {
                once_s += nth(i as f64)?;
            }
            all_s += at_least_zero("number of messages", *count)? / together * once_s;
        }
        at_least_zero("T_r", all_s)
    }

    /// The network as it is to one of n equal messages, rule 3: `(n a_C, n b_C)`.
    fn shared(&self, senders: f64) -> Result<Block, BadParameter> {
        let n = at_least_one("n", senders)?;
        Block::new(n * self.network.network.a_s, n * self.network.network.b_s_per_byte)
    }

    fn path(&self, senders: f64) -> Result<Path, BadParameter> {
        let Network { workstation, delay_s, .. } = self.network;
        Path::new(&[workstation, self.shared(senders)?, Block::delay(delay_s)?, workstation])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hyperbolic::concurrent;

    fn sparcstation() -> Prices {
        Prices::new(Network::SPARCSTATION).unwrap()
    }

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-12, "{value} is not {expected}");
    }

    #[test]
    fn contention_is_that_of_rule_3_and_of_pairs() {
        let (network, prices) = (Network::SPARCSTATION, sparcstation());
        for n in 1..=16 {
            let total = prices.total(f64::from(n)).unwrap();
            let pairs = network.pairs(n).unwrap();
            near(total.a_s(), pairs.a_s());
            near(total.b_s_per_byte(), pairs.b_s_per_byte());
            let shared = concurrent(network.network, &vec![1000.0; n as usize], 0).unwrap();
            let sending = prices.sending(f64::from(n), 1.0).unwrap();
            assert_eq!(sending.a_s(), network.workstation.a_s());
            near(sending.b_s_per_byte(), shared.b_s_per_byte().max(1.42e-6));
        }
    }

    /// "For two processors the processing overhead represents the actual communication bottleneck and therefore the
    /// communication time does not increase at the same rate between two and three processors as in the other cases", section
    /// 5.2.2. Of p processors p - 1 send.
    #[test]
    fn figure_19_rises_less_from_two_to_three_processors() {
        let prices = sparcstation();
        let b = |p: u32| prices.sending(f64::from(p - 1), 1.0).unwrap().b_s_per_byte();
        near(b(3) - b(2), 0.42e-6);
        for p in 3..12 {
            near(b(p + 1) - b(p), 0.92e-6);
        }
    }

    /// What the published parameters allow of the ratios in Fig. 20: the printed ones of two senders (1.486) and of four (2.639)
    /// are out of reach.
    #[test]
    fn full_over_no_contention_is_bounded() {
        let prices = sparcstation();
        let ratio = |bytes: f64, senders: f64| {
            let price = |n| prices.price(&[Messages { bytes, count: 7.0 }], n, 1.0).unwrap().sending_s;
            price(senders) / price(1.0)
        };
        for (senders, bound) in [(2.0, 2.0 * 0.92 / 1.42), (4.0, 4.0 * 0.92 / 1.42), (6.0, 6.0 * 0.92 / 1.42)] {
            for power in 0..30 {
                let ratio = ratio(f64::from(power).exp2(), senders);
                assert!((1.0..=bound * (1.0 + 1e-12)).contains(&ratio), "{senders} senders: {ratio}");
            }
            near(ratio(1e12, senders), bound);
        }
        for (senders, none_us, full_us) in [(2.0, 925_480.0, 1_374_963.0), (4.0, 509_125.0, 1_343_780.0)] {
            assert!(ratio(1e12, senders) < full_us / none_us, "the printed ratio of {senders} senders");
        }
    }

    #[test]
    fn messages_of_a_host_add_up() {
        let prices = sparcstation();
        let (short, long) = (Messages { bytes: 8.0, count: 2.5 }, Messages { bytes: 65_536.0, count: 4.0 });
        let [both, one, other] =
            [&[short, long][..], &[short], &[long]].map(|all| prices.price(all, 3.5, 1.0).unwrap());
        near(both.sending_s, one.sending_s + other.sending_s);
        near(both.total_s, 2.5 * prices.total(3.5).unwrap().time_s(8.0).unwrap() + other.total_s);
        near(both.receiving_s - one.receiving_s, other.receiving_s);
        assert!(both.sending_s <= both.total_s && both.receiving_s <= both.total_s);
        assert_eq!(prices.price(&[], 1.0, 1.0).unwrap(), Price::default());
    }

    #[test]
    fn reads_that_are_posted_at_once_wait_for_each_other() {
        let (network, prices) = (Network::SPARCSTATION, sparcstation());
        let four = [Messages { bytes: 4000.0, count: 4.0 }];
        near(prices.reading_s(&four, 16.0, 1.0).unwrap(), prices.price(&four, 16.0, 1.0).unwrap().total_s);
        // The last of K is that of section 3.3.
        let last = prices.reading_s(&four, 16.0, 4.0).unwrap() - {
            let three = [Messages { bytes: 4000.0, count: 3.0 }];
            prices.reading_s(&three, 16.0, 3.0).unwrap()
        };
        near(last, network.neighbours_by_rule_3(16, 4).unwrap().time_s(4000.0).unwrap());
        let [two, middle, three] = [2.0, 2.5, 3.0].map(|at_once| {
            let messages = [Messages { bytes: 100.0, count: at_once }];
            prices.reading_s(&messages, 2.0, at_once).unwrap()
        });
        near(middle, f64::midpoint(two, three));
        assert_eq!(prices.reading_s(&four, 1.0, 0.5).unwrap_err().name, "number of reads at once");
    }

    #[test]
    fn what_was_measured_of_one_sender_counts_where_the_network_is_no_limit() {
        let measured = Block::new(10e-6, 3e-6).unwrap();
        let prices =
            sparcstation().with_sending(Sending { single_a_s: measured.a_s, several: measured, together: 1.0 });
        assert_eq!(prices.sending(1.0, 1.0).unwrap(), measured);
        assert_eq!(prices.sending(3.0, 1.0).unwrap(), measured, "3 b_C is less");
        near(prices.sending(4.0, 1.0).unwrap().b_s_per_byte(), 3.68e-6);
        assert_eq!(prices.total(4.0).unwrap(), sparcstation().total(4.0).unwrap());
    }

    /// The first of several that leave one behind the other need not wait.
    #[test]
    fn of_more_messages_at_once_the_first_is_a_smaller_part() {
        let several = Block::new(70e-6, 2.5e-6).unwrap();
        let sending = Sending { single_a_s: 10e-6, several, together: 4.0 };
        assert_eq!(sending.of(1.0).unwrap(), Block::new(10e-6, 2.5e-6).unwrap());
        assert_eq!(sending.of(4.0).unwrap(), several);
        near(sending.of(2.0).unwrap().a_s(), 50e-6);
        near(sending.of(1e9).unwrap().a_s(), 90e-6 - 80e-6 / 1e9);
        near(Sending { together: 1.0, ..sending }.of(3.0).unwrap().a_s(), 10e-6);
        assert!(sending.of(0.5).is_err() && sending.of(f64::NAN).is_err());
        let prices = sparcstation().with_sending(sending);
        let all = [Messages { bytes: 1000.0, count: 4.0 }];
        near(prices.price(&all, 1.0, 4.0).unwrap().sending_s, 4.0 * several.time_s(1000.0).unwrap());
    }

    #[test]
    fn what_is_no_number_of_senders_or_messages_is_refused() {
        let prices = sparcstation();
        let of = |bytes, count, senders| prices.price(&[Messages { bytes, count }], senders, 1.0).unwrap_err().name;
        assert_eq!((of(8.0, 1.0, 0.5), of(8.0, 1.0, f64::NAN)), ("n", "n"));
        assert_eq!((of(-8.0, 1.0, 1.0), of(8.0, -1.0, 1.0)), ("x", "number of messages"));
    }
}
