//! What an emulated link is like, and how that is written on a command line. Pure.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use lathide::launcher::quantity::{Quantity, RATE, TIME};

use crate::nearest::did_you_mean;

/// What an emulated link is like. Written as
///
/// - a preset: `loopback` (no delay, no limit), `ethernet` (10 Mbit/s, half duplex and shared by all, 50 us: the
///   medium of the 1994 papers), `lan` (1 Gbit/s, 0.1 ms), `wan` (50 Mbit/s, 25 ms);
/// - or its parts: `delay=25ms,rate=50mbit,jitter=1ms,shared`, each optional;
/// - or a preset and what differs from it: `wan,delay=5ms`.
///
/// Times and rates are written as everywhere ([`lathide::manual::launching`]). Upper and lower case are the same.
/// [`Display`](fmt::Display) writes the parts; reading them again gives an equal value.
///
/// ```
/// use lathide_cli::LinkSpec;
/// let link: LinkSpec = "wan,delay=5ms".parse()?;
/// assert_eq!(link.to_string(), "delay=5ms,rate=50mbit");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkSpec {
    /// How long a byte travels, one way.
    pub delay: Duration,
    /// The most by which a byte may take longer than `delay`: uniform between zero and this; the order is kept.
    pub jitter: Duration,
    /// Payload bits per second; `None`: unlimited.
    pub rate_bits_per_s: Option<NonZeroU64>,
    /// Whether all directions of all connections share one capacity (half duplex) or each direction has its own.
    pub shared: bool,
}

impl LinkSpec {
    /// Whether this link neither delays nor limits, so that no relay is needed.
    pub fn is_loopback(&self) -> bool {
        *self == LinkSpec::default()
    }

    /// A delay as a link's `delay=` takes it: `25ms`.
    pub(crate) fn parse_delay(text: &str) -> Result<Duration, String> {
        DELAY.one(text)
    }

    /// A rate in bits per second as a link's `rate=` takes it: `50mbit`.
    pub(crate) fn parse_rate(text: &str) -> Result<NonZeroU64, String> {
        let rate: f64 = BIT_RATE.one(text)?;
        let zero = "the rate is zero, nothing would ever arrive; leave rate out for an unlimited link";
        NonZeroU64::new(rate.round() as u64).ok_or_else(|| zero.to_owned())
    }

    fn preset(name: &str) -> Option<Self> {
        let (delay_us, mbit, shared) = match name {
            // The delay is about the slot time of 10 Mbit/s Ethernet, 512 bits.
            "ethernet" => (50, 10, true),
            "lan" => (100, 1000, false),
            "loopback" => (0, 0, false),
            "wan" => (25_000, 50, false),
            _ => return None,
        };
        let rate_bits_per_s = NonZeroU64::new(mbit * 1_000_000);
        Some(LinkSpec { delay: Duration::from_micros(delay_us), jitter: Duration::ZERO, rate_bits_per_s, shared })
    }
}

impl FromStr for LinkSpec {
    /// What would be right.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        if text.is_empty() {
            return Err(format!("the link is empty; {SYNTAX}"));
        }
        let (mut link, mut seen) = (LinkSpec::default(), Vec::new());
        for (place, part) in text.split(',').map(str::trim).enumerate() {
            if let Some(preset) = LinkSpec::preset(part) {
                if place > 0 {
                    return Err(format!(
                        "{part} must come first: a preset, then what differs from it, such as wan,delay=5ms"
                    ));
                }
                link = preset;
                continue;
            }
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (part, None),
            };
            if seen.contains(&name) {
                return Err(format!("{name} is there twice; keep one"));
            }
            seen.push(name);
            let (text, wrong) = (value.unwrap_or_default(), |why| format!("{part}: {why}"));
            match name {
                "delay" => link.delay = LinkSpec::parse_delay(text).map_err(wrong)?,
                "jitter" => link.jitter = LinkSpec::parse_delay(text).map_err(wrong)?,
                "rate" => link.rate_bits_per_s = Some(LinkSpec::parse_rate(text).map_err(wrong)?),
                "shared" if value.is_none() => link.shared = true,
                "shared" => return Err("shared takes no value; write shared, or leave it out".into()),
                _ => {
                    let meant = did_you_mean(name, PRESETS.into_iter().chain(PARTS));
                    return Err(format!("{part:?} is not part of a link{meant}; {SYNTAX}"));
                }
            }
        }
        if link.shared && link.rate_bits_per_s.is_none() {
            return Err("shared needs a rate to share; add rate=10mbit, for example".into());
        }
        Ok(link)
    }
}

impl fmt::Display for LinkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |key, time: Duration| {
            (!time.is_zero()).then(|| format!("{key}={}", decimal(time.as_nanos() as u64, &TIME_UNITS)))
        };
        let rate = |rate: NonZeroU64| format!("rate={}", decimal(rate.get(), &RATE_UNITS));
        let shared = self.shared.then(|| "shared".to_owned());
        let parts = [time("delay", self.delay), self.rate_bits_per_s.map(rate), time("jitter", self.jitter), shared];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { f.write_str("loopback") } else { f.write_str(&parts.join(",")) }
    }
}

/// `value` in the largest unit that leaves a whole part: 1500 us is 1.5ms. A float shows all digits that such values have.
fn decimal(value: u64, units: &[(&str, u64)]) -> String {
    let (name, size) = units.iter().rev().find(|(_, size)| value >= *size).unwrap_or(&units[0]);
    format!("{}{name}", value as f64 / *size as f64)
}

const TIME_UNITS: [(&str, u64); 3] = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const RATE_UNITS: [(&str, u64); 4] = [("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)];

/// Beyond a minute no program takes a link for alive.
const DELAY: Quantity = TIME.within("0", "60s");
/// Beyond 1 Tbit/s a byte takes less than the clock can tell. No rate at all has a message of its own.
const BIT_RATE: Quantity = RATE.within("0", "1000gbit");

const PRESETS: [&str; 4] = ["ethernet", "lan", "loopback", "wan"];
const PARTS: [&str; 4] = ["delay", "jitter", "rate", "shared"];
const SYNTAX: &str = "write loopback, ethernet, lan or wan, or parts such as delay=25ms,rate=50mbit,jitter=1ms,shared, \
                      or a preset and what differs from it, such as wan,delay=5ms";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(text: &str) -> LinkSpec {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn refused(text: &str) -> String {
        text.parse::<LinkSpec>().expect_err(text).to_string()
    }

    #[test]
    fn presets_and_overrides() {
        assert!(spec("loopback").is_loopback());
        assert_eq!(spec("wan").to_string(), "delay=25ms,rate=50mbit");
        assert_eq!(spec("lan").to_string(), "delay=100us,rate=1gbit");
        assert_eq!(spec("Ethernet").to_string(), "delay=50us,rate=10mbit,shared");
        assert_eq!(spec("wan,delay=5ms,jitter=0.5MS"), spec("delay=5ms, rate=50Mbit, jitter=500us"));
        assert_eq!(spec("lan,shared,rate=2.5gbit").to_string(), "delay=100us,rate=2.5gbit,shared");
        assert_eq!(spec("loopback,delay=1.5s").delay, Duration::from_millis(1500));
        assert_eq!(spec("rate=9600bit").to_string(), "rate=9.6kbit");
        assert!(spec("delay=0ms").is_loopback());
        assert_eq!(spec("delay=0.5,rate=1e6").to_string(), "delay=500ms,rate=1mbit", "seconds, bits per second");
    }

    #[test]
    fn errors_say_what_is_allowed() {
        for text in ["", "  ", "dsl", "delay=1ms,", "wan,,shared", "latency=1ms", "delay:1ms", "="] {
            assert!(refused(text).contains("loopback, ethernet, lan or wan"), "{text}: {}", refused(text));
        }
        for text in [
            ["delay=soon", "delay=2min", "delay=1mbit", "delay=-1ms", "delay=nan", "jitter=61"].as_slice(),
            &["delay=nanms", "delay=infs", "delay=", "delay", "delay=1.2.3ms", "delay=61s", "delay=.s"],
        ]
        .concat()
        {
            let said = refused(text);
            assert!(said.contains("a time from 0 to 60s") && said.contains("us, ms, s, min or h"), "{text}: {said}");
        }
        for text in [
            ["rate=50mb", "rate=1ms", "rate=50MB/s", "rate=-1mbit", "rate=nan"].as_slice(),
            &["rate=1001gbit", "rate=9999999999999999999999gbit", "rate="],
        ]
        .concat()
        {
            let said = refused(text);
            assert!(said.contains("a rate from 0 to 1000gbit") && said.contains("mbit or gbit"), "{text}: {said}");
        }
        assert!(refused("rate=0mbit").contains("leave rate out"));
        assert!(refused("rate=0.4bit").contains("leave rate out"));
        assert!(refused("delay=1ms,delay=2ms").contains("delay is there twice"));
        assert!(refused("rate=1mbit,shared,shared").contains("shared is there twice"));
        assert!(refused("delay=1ms,wan").contains("must come first"));
        assert!(refused("wan,wan").contains("must come first"));
        assert!(refused("rate=1mbit,shared=1").contains("no value"));
        assert!(refused("delay=1ms,shared").contains("rate"));
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn what_is_written_is_read_again(
            delay_ns in 0..=60_000_000_000u64,
            jitter_ns in prop_oneof![Just(0), 0..=60_000_000_000u64],
            rate in prop_oneof![Just(0), 1..=1_000_000_000_000u64, 1..100_000u64],
            shared: bool,
        ) {
            let link = LinkSpec {
                delay: Duration::from_nanos(delay_ns),
                jitter: Duration::from_nanos(jitter_ns),
                rate_bits_per_s: NonZeroU64::new(rate),
                shared: shared && rate > 0,
            };
            prop_assert_eq!(link.to_string().parse::<LinkSpec>(), Ok(link.clone()), "{}", link);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}|[a-z0-9=,.]{0,40}|(delay|rate)=[0-9.]{0,30}[a-z]{0,4}") {
            if let Ok(link) = text.parse::<LinkSpec>() {
                prop_assert_eq!(link.to_string().parse::<LinkSpec>(), Ok(link));
            }
        }
    }
}
