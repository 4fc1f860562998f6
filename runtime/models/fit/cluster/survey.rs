//! All parameters of the cluster model (Tam, Wang, section 3.2) from what two nodes have measured, and three.

use serde::{Deserialize, Serialize};

use super::{
    Arrivals, Cost, RoundTrip, Slowed, Stream, Transfer, asynchronous_receive, memory_copy, receive_gap, send_gap,
    send_time, transfer, user_receive,
};
use crate::fit::{FitError, Fitted, Sample};

/// The most nodes that send to one.
pub const SENDERS: u32 = 2;

/// One repetition with messages of one size, as the receiver saw it. Times are in seconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// Of a message.
    pub bytes: u64,
    /// Engaged in sending (in `initwrite`), per message.
    pub engaged_s: f64,
    /// To another node and back.
    pub round_trip_s: f64,
    /// Of one sender, a short and a long one.
    pub streams: Vec<Stream>,
    /// At the receiver, from one sender.
    pub arrivals: Arrivals,
    /// A calculation while messages arrive.
    pub slowed: Option<Background>,
    /// In `wait` for a message that had arrived, per message.
    pub consumed_s: f64,
    /// Copies: cache to cache, cache to memory, memory to memory.
    pub copies_s: [f64; 3],
}

/// A calculation while messages arrive. Processor times: what other programs have does not count.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Background {
    /// That arrived.
    pub packets: u32,
    /// The calculation with nothing beside it.
    pub alone_s: f64,
    /// The same calculation while they arrived.
    pub beside_s: f64,
    /// The process's other threads meanwhile.
    pub own_s: f64,
}

/// A cost `startup + slope * m`, with its error at sizes it was not fitted to.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CostFit {
    /// The cost.
    #[serde(flatten)]
    pub cost: Cost,
    /// Relative error at held-out sizes: median.
    pub median_error: Option<f64>,
    /// The same: p90.
    pub p90_error: Option<f64>,
}

/// The cluster model's parameters.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cluster {
    /// The longest message that was measured, which predictions take for a packet.
    pub packet_bytes: usize,
    /// B_L. As set, not measured: so much a receiver takes from one sender before it reads.
    pub buffer_packets: u64,
    /// How many took part.
    pub processors: u32,
    /// Repetitions, at the longest message.
    pub repeats: usize,
    /// To send.
    pub o_s: Option<CostFit>,
    /// Between sends.
    pub g_s: Option<CostFit>,
    /// On the way.
    pub l: Option<CostFit>,
    /// Between arrivals.
    pub g_r: Option<CostFit>,
    /// To receive in the background.
    pub o_r: Option<CostFit>,
    /// To consume.
    pub u_r: Option<CostFit>,
    /// To copy, cache to cache.
    pub m_ctc: Option<CostFit>,
    /// Cache to memory.
    pub m_ctm: Option<CostFit>,
    /// Memory to memory.
    pub m_mtm: Option<CostFit>,
    /// What could not be found out, or not as the paper does it.
    pub notes: Vec<String>,
}

impl Cluster {
    /// `None` if nothing was measured.
    ///
    /// `converging`: arrivals from several senders.
    pub fn new(seen: &[Seen], converging: &[Arrivals], window_bytes: u64) -> Option<Self> {
        let packet_bytes = seen.iter().map(|seen| seen.bytes).max()?;
        let mut notes = Notes::default();
        let sample = |of: fn(&Seen) -> f64| -> Vec<Sample> {
            seen.iter().map(|seen| Sample { bytes: seen.bytes, time_s: of(seen) }).collect()
        };
        let o_s = notes.cost("O_s", send_time(&sample(|seen| seen.engaged_s)));
        let streams: Vec<Stream> = seen.iter().flat_map(|seen| seen.streams.iter().copied()).collect();
        let g_s = notes.without_drowned("g_s", streams, |stream| stream.bytes, send_gap);
        let arrivals: Vec<Arrivals> = seen.iter().map(|seen| seen.arrivals).chain(converging.iter().copied()).collect();
        let g_r = notes.cost("g_r", receive_gap(&arrivals));
        let o_r = receive(seen, &mut notes);
        let u_r = notes.cost("U_r", user_receive(&sample(|seen| seen.consumed_s)));
        let round_trips: Vec<RoundTrip> =
            seen.iter().map(|seen| RoundTrip { bytes: seen.bytes, processors: 2, time_s: seen.round_trip_s }).collect();
        let overhead = o_s.zip(o_r).zip(u_r).map(|((o_s, o_r), u_r)| o_s.cost + o_r.cost + u_r.cost);
        let l = overhead.and_then(|overhead| notes.cost_of("L", transfer(&round_trips, overhead, None), of_transfer));
        Some(Cluster {
            packet_bytes: packet_bytes as usize,
            buffer_packets: (window_bytes / packet_bytes.max(1)).max(1),
            processors: SENDERS + 1,
            repeats: seen.iter().filter(|seen| seen.bytes == packet_bytes).count(),
            o_s,
            g_s,
            l,
            g_r,
            o_r,
            u_r,
            m_ctc: notes.cost("M_ctc", memory_copy(&sample(|seen| seen.copies_s[0]))),
            m_ctm: notes.cost("M_ctm", memory_copy(&sample(|seen| seen.copies_s[1]))),
            m_mtm: notes.cost("M_mtm", memory_copy(&sample(|seen| seen.copies_s[2]))),
            notes: notes.0,
        })
    }

    /// Symbols, what they are, and costs, in the order of a message's way.
    pub fn costs(&self) -> [(&'static str, &'static str, Option<CostFit>); 9] {
        [
            ("O_s", "to send", self.o_s),
            ("g_s", "between sends", self.g_s),
            ("L", "on the way", self.l),
            ("g_r", "between arrivals", self.g_r),
            ("O_r", "to receive in the background", self.o_r),
            ("U_r", "to consume", self.u_r),
            ("M_ctc", "cache to cache", self.m_ctc),
            ("M_ctm", "cache to memory", self.m_ctm),
            ("M_mtm", "memory to memory", self.m_mtm),
        ]
    }
}

/// O_r by the slowed calculation. Where the slowing cannot be told from noise: what the process's other threads
/// used, which is all of it but what the calculation lost in the caches.
fn receive(seen: &[Seen], notes: &mut Notes) -> Option<CostFit> {
    let runs = |alone_s: fn(&Background) -> f64| -> Vec<Slowed> {
        let slowed = |seen: &Seen| {
            let run = seen.slowed?;
            let slowed_s = run.beside_s + run.own_s;
            Some(Slowed { bytes: seen.bytes, packets: run.packets, alone_s: alone_s(&run), slowed_s })
        };
        seen.iter().filter_map(slowed).collect()
    };
    if let Ok(fitted) = asynchronous_receive(&runs(|run| run.alone_s)) {
        return Some(CostFit::of(&fitted, |cost| *cost));
    }
    let fitted = notes.without_drowned("O_r", runs(|run| run.beside_s), |run| run.bytes, asynchronous_receive);
    if fitted.is_some() {
        notes.0.push(
            "O_r is the kernel's processor time alone: by how much it slows a calculation drowned in noise".into(),
        );
    }
    fitted
}

fn of_transfer(transfer: &Transfer) -> Cost {
    // With one pair, what each further processor adds is not known.
    Cost { startup_s: transfer.startup_s, s_per_byte: transfer.s_per_byte }
}

impl CostFit {
    fn of<M>(fitted: &Fitted<M>, cost: impl Fn(&M) -> Cost) -> Self {
        CostFit {
            cost: cost(&fitted.model),
            median_error: fitted.quality.map(|quality| quality.median_error),
            p90_error: fitted.quality.map(|quality| quality.p90_error),
        }
    }
}

/// What goes wrong on the way.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn cost(&mut self, name: &str, fitted: Result<Fitted<Cost>, FitError>) -> Option<CostFit> {
        self.cost_of(name, fitted, |cost| *cost)
    }

    fn cost_of<M>(
        &mut self,
        name: &str,
        fitted: Result<Fitted<M>, FitError>,
        cost: impl Fn(&M) -> Cost,
    ) -> Option<CostFit> {
        match fitted {
            Ok(fitted) => Some(CostFit::of(&fitted, cost)),
            Err(error) => {
                self.0.push(format!("{name} is not known: {error}"));
                None
            }
        }
    }

    /// Sizes at which a difference drowns in noise are left out, and said.
    fn without_drowned<S>(
        &mut self,
        name: &str,
        mut samples: Vec<S>,
        bytes_of: impl Fn(&S) -> u64,
        fit: impl Fn(&[S]) -> Result<Fitted<Cost>, FitError>,
    ) -> Option<CostFit> {
        loop {
            match fit(&samples) {
                Err(FitError::Drowned { bytes, .. }) => {
                    samples.retain(|sample| bytes_of(sample) != bytes);
                    self.0.push(format!("{name} is fitted without {bytes} bytes, where it drowned in noise"));
                }
                fitted => return self.cost(name, fitted),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(startup_s: f64, s_per_byte: f64, bytes: u64) -> f64 {
        startup_s + s_per_byte * bytes as f64
    }

    /// A network in which everything is known: O_s 2 us, g_s 3 us + 1 ns/byte, L 50 us + 8 ns/byte, g_r half of g_s,
    /// O_r 1 us + 0.1 ns/byte, U_r 0.2 us.
    fn seen(bytes: u64) -> Seen {
        let gap_s = line(3e-6, 1e-9, bytes);
        let stream = |packets: u32| Stream { bytes, packets, time_s: 1e-4 + f64::from(packets) * gap_s };
        let (o_s, o_r, u_r) = (2e-6, line(1e-6, 1e-10, bytes), 2e-7);
        Seen {
            bytes,
            engaged_s: o_s,
            round_trip_s: 2.0 * (o_s + line(50e-6, 8e-9, bytes) + o_r + u_r),
            streams: vec![stream(20), stream(60)],
            arrivals: arrivals(bytes, 1),
            slowed: Some(Background { packets: 50, alone_s: 1e-3, beside_s: 1e-3 + 10.0 * o_r, own_s: 40.0 * o_r }),
            consumed_s: u_r,
            copies_s: [line(1e-8, 1e-11, bytes), line(2e-8, 5e-11, bytes), line(3e-8, 1e-10, bytes)],
        }
    }

    /// Sixty messages that come in half the time if two send them.
    fn arrivals(bytes: u64, senders: u32) -> Arrivals {
        Arrivals { bytes, senders, packets: 60, time_s: 59.0 * line(3e-6, 1e-9, bytes) / f64::from(senders) }
    }

    const SIZES: [u64; 5] = [8, 64, 512, 4096, 32_768];

    #[test]
    fn every_parameter_comes_out_as_it_was_put_in() {
        let seen: Vec<Seen> = SIZES.iter().flat_map(|bytes| [seen(*bytes), seen(*bytes), seen(*bytes)]).collect();
        let converging = SIZES.map(|bytes| arrivals(bytes, 2));
        let cluster = Cluster::new(&seen, &converging, 64 << 20).unwrap();
        let is = |fit: Option<CostFit>, startup_s: f64, s_per_byte: f64| {
            let CostFit { cost, p90_error, .. } = fit.unwrap();
            assert!((cost.startup_s / startup_s - 1.0).abs() < 1e-6, "{cost:?}");
            assert!((cost.s_per_byte - s_per_byte).abs() < 1e-6 * s_per_byte.max(1e-12), "{cost:?}");
            assert!(p90_error.unwrap() < 1e-6);
        };
        is(cluster.o_s, 2e-6, 0.0);
        is(cluster.g_s, 3e-6, 1e-9);
        is(cluster.g_r, 1.5e-6, 0.5e-9);
        is(cluster.l, 50e-6, 8e-9);
        is(cluster.o_r, 1e-6, 1e-10);
        is(cluster.u_r, 2e-7, 0.0);
        is(cluster.m_mtm, 3e-8, 1e-10);
        assert_eq!((cluster.packet_bytes, cluster.buffer_packets, cluster.repeats), (32_768, 2048, 3));
        assert_eq!(cluster.notes, Vec::<String>::new());
    }

    #[test]
    fn what_drowns_in_noise_is_left_out_and_said() {
        let mut all: Vec<Seen> = SIZES.iter().map(|bytes| seen(*bytes)).collect();
        all[0].streams[1].time_s = all[0].streams[0].time_s / 2.0;
        let slower = all[1].slowed.as_mut().unwrap();
        slower.alone_s = 2.0 * slower.beside_s;
        let cluster = Cluster::new(&all, &[], 1 << 20).unwrap();
        assert!((cluster.g_s.unwrap().cost.startup_s - 3e-6).abs() < 1e-9, "of the other sizes");
        assert!((cluster.o_r.unwrap().cost.startup_s / 0.8e-6 - 1.0).abs() < 1e-6, "of the other threads alone");
        let notes = cluster.notes.join("\n");
        assert!(notes.contains("g_s is fitted without 8 bytes") && notes.contains("processor time alone"), "{notes}");
        all.iter_mut().for_each(|seen| seen.slowed = None);
        let cluster = Cluster::new(&all, &[], 1 << 20).unwrap();
        assert_eq!((cluster.o_r, cluster.l), (None, None), "without O_r there is no L");
        assert!(cluster.notes.iter().any(|note| note.starts_with("O_r is not known")), "{:?}", cluster.notes);
        assert_eq!(Cluster::new(&[], &[], 1), None);
    }
}
