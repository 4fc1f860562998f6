//! The cluster model's parameters (Tam, Wang), from options, a measured link, or the paper's Table 1.

use lathide_models::BadParameter;
use lathide_models::cluster::{Cost, Line, Packet, Parameters, Transfer};
use serde_json::Value;

use super::answer::{Form, Parameter, parameter};
use super::problem::Problem;
use super::saved::{Contention, Saved, pick};
use super::values;

/// The options. A cost is a time, or a time and a time per byte.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct SwitchArgs {
    /// The largest packet [default: 1500, or cluster.packet_bytes of --from]
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_hyphen_values = true)]
    packet_bytes: Option<f64>,
    /// O_s, the processor's time to send a packet, such as 6.37us+0.0253us/B; what is not given, as in Table 1 of the
    /// paper (PCs on a switched 100 Mbit/s Ethernet, 1999) or cluster of --from
    #[arg(long, value_name = "COST", value_parser = values::line, allow_hyphen_values = true)]
    o_s: Option<(f64, f64)>,
    /// g_s, the least time between packets of a sender
    #[arg(long, value_name = "COST", value_parser = values::line, allow_hyphen_values = true)]
    g_s: Option<(f64, f64)>,
    /// L, from the sender's queue to the receiver's, however many processors there are
    #[arg(long, value_name = "COST", value_parser = values::line, allow_hyphen_values = true)]
    l: Option<(f64, f64)>,
    /// g_r, the least time between packets to a receiver
    #[arg(long, value_name = "COST", value_parser = values::line, allow_hyphen_values = true)]
    g_r: Option<(f64, f64)>,
    /// O_r, the processor's time to take a packet in, in the background
    #[arg(long, value_name = "COST", value_parser = values::line, allow_hyphen_values = true)]
    o_r: Option<(f64, f64)>,
    /// U_r, the program's time to notice and consume it
    #[arg(long, value_name = "COST", value_parser = values::line, allow_hyphen_values = true)]
    u_r: Option<(f64, f64)>,
    /// M_mtm, copying from memory to memory
    #[arg(long, value_name = "COST", value_parser = values::line, allow_hyphen_values = true)]
    m_mtm: Option<(f64, f64)>,
    /// B_L, the packets that the switch holds
    #[arg(long, value_name = "N", value_parser = values::number, allow_hyphen_values = true)]
    buffer: Option<f64>,
}

/// A cluster, and the size that its messages are cut at.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) cluster: Parameters,
    pub(super) packet_bytes: f64,
    /// As stated: the costs of a full packet.
    pub(super) parameters: Vec<Parameter>,
    /// What was assumed.
    pub(super) notes: Vec<String>,
}

impl SwitchArgs {
    /// The cluster, from options first, then from `saved`, then from the paper.
    pub(super) fn cluster(&self, saved: Option<&Saved>) -> Result<Known, Problem> {
        let (paper, contention) = (Parameters::table_1(), saved.map(Saved::contention).transpose()?.flatten());
        let mut notes = Vec::new();
        let cost = |option: Option<(f64, f64)>, symbol: &'static str, paper: &Cost| match (option, saved) {
            (Some(line), _) => linear(line, symbol),
            (None, Some(saved)) => linear(measured(saved, symbol)?, symbol),
            (None, None) => Ok(paper.clone()),
        };
        // Copying counts at the very end of a gather only: a result without it is good enough.
        let copy = match saved.is_some_and(|saved| saved.find("cluster.m_mtm").is_none()) {
            true => linear(self.m_mtm.unwrap_or((0.0, 0.0)), "M_mtm")?,
            false => cost(self.m_mtm, "M_mtm", &paper.copy_memory_to_memory)?,
        };
        let saved_size = saved.filter(|saved| saved.find("cluster.packet_bytes").is_some());
        let size = (saved_size, "cluster.packet_bytes", "--packet-bytes");
        let packet_bytes = pick(self.packet_bytes, size, 1500.0)?;
        let cluster = Parameters {
            send: cost(self.o_s, "O_s", &paper.send)?,
            send_gap: cost(self.g_s, "g_s", &paper.send_gap)?,
            transfer: self.transfer((saved, contention.as_ref()), &paper.transfer, &mut notes)?,
            receive_gap: cost(self.g_r, "g_r", &paper.receive_gap)?,
            receive: cost(self.o_r, "O_r", &paper.receive)?,
            user_receive: cost(self.u_r, "U_r", &paper.user_receive)?,
            copy_memory_to_memory: copy,
            buffer_packets: self.buffer((saved, contention.as_ref()), packet_bytes, &mut notes)?,
            ..paper
        };
        let parameters = stated(&cluster, packet_bytes)?;
        Ok(Known { cluster, packet_bytes, parameters, notes })
    }

    /// B_L, in packets.
    fn buffer(
        &self,
        (saved, contention): (Option<&Saved>, Option<&Contention>),
        packet_bytes: f64,
        notes: &mut Vec<String>,
    ) -> Result<f64, Problem> {
        let queue = contention.and_then(|it| Some((it.queue_bytes?, it.queue_is_least)));
        if self.buffer.is_none() && saved.is_some() {
            notes.push(buffer_in_words(queue.map(|(_, is_least)| is_least)).to_owned());
        }
        match (self.buffer, queue) {
            (None, Some((bytes, _))) => Ok((bytes / packet_bytes).max(1.0)),
            _ => pick(self.buffer, (saved, "cluster.buffer_packets", "--buffer"), Parameters::table_1().buffer_packets),
        }
    }

    /// L. What was measured between one pair has its two processors' part in the start-up.
    fn transfer(
        &self,
        (saved, contention): (Option<&Saved>, Option<&Contention>),
        paper: &Transfer,
        notes: &mut Vec<String>,
    ) -> Result<Transfer, Problem> {
        let alone =
            |line| Ok(Transfer { alone: linear(line, "L")?, per_processor_s: 0.0, aggregate_bytes_per_s: None });
        let saved = match (self.l, saved) {
            (Some(line), _) => return alone(line),
            (None, None) => return Ok(paper.clone()),
            (None, Some(saved)) => saved,
        };
        let further = |name: &str| match saved.find(&format!("cluster.l.{name}")) {
            Some(_) => saved.number(&format!("cluster.l.{name}"), "give --l").map(Some),
            None => Ok(None),
        };
        let (startup_s, s_per_byte) = measured(saved, "L")?;
        let (per_processor_s, aggregate_bytes_per_s) = (further("per_processor_s")?, further("aggregate_bytes_per_s")?);
        let Some(it) = contention.filter(|_| per_processor_s.is_none() && aggregate_bytes_per_s.is_none()) else {
            if per_processor_s.is_none() {
                notes.push(
                    "how L grows with the number of processors was not measured: it is that of one pair; lathide link --pairs \
                     measures it"
                        .to_owned(),
                );
            }
            let per_processor_s = per_processor_s.unwrap_or(0.0);
            return Ok(Transfer { per_processor_s, aggregate_bytes_per_s, ..alone((startup_s, s_per_byte))? });
        };
        let per_processor_s = (it.network_a_s / 2.0).min(startup_s / 2.0);
        Ok(Transfer {
            per_processor_s,
            // The formula counts both processors of a pair, of which one sends at a time.
            aggregate_bytes_per_s: it.aggregate_bytes_per_s.map(|rate| 2.0 * rate),
            ..alone((startup_s - 2.0 * per_processor_s, s_per_byte))?
        })
    }
}

/// Where B_L of a saved result is from. `is_least`: of a measured one.
fn buffer_in_words(is_least: Option<bool>) -> &'static str {
    match is_least {
        Some(true) => "B_L is at least so much: lathide link --pairs has seen no loss up to its greatest flood",
        Some(false) => "B_L is what the network held of floods, as lathide link --pairs measured it",
        None => {
            "B_L of the network was not measured: it is what a receiver takes of each sender before it reads, as set (lathide \
             link --pairs measures it between three hosts or more; --buffer says otherwise)"
        }
    }
}

/// What a packet costs between two processors, by a saved result; its buffer does not matter.
pub(super) fn saved_packet(saved: &Saved, bytes: f64) -> Result<Packet, Problem> {
    let args = SwitchArgs { buffer: Some(1.0), packet_bytes: Some(bytes), ..SwitchArgs::default() };
    Ok(args.cluster(Some(saved))?.cluster.packet(bytes, 2)?)
}

/// The cost of that name in the cluster model of a saved result: seconds, or `startup_s` and `s_per_byte`.
fn measured(saved: &Saved, symbol: &str) -> Result<(f64, f64), Problem> {
    let key = symbol.to_lowercase();
    let (path, instead) = (format!("cluster.{key}"), format!("give --{}", key.replace('_', "-")));
    if saved.find(&path).is_some_and(Value::is_object) {
        let part = |name: &str| saved.number(&format!("{path}.{name}"), &instead);
        return Ok((part("startup_s")?, part("s_per_byte")?));
    }
    Ok((saved.number(&path, &instead)?, 0.0))
}

fn linear((startup_s, per_byte_s): (f64, f64), symbol: &'static str) -> Result<Cost, Problem> {
    Ok(Cost::linear(Line::new(startup_s, per_byte_s)).map_err(|bad| BadParameter { name: symbol, ..bad })?)
}

fn stated(cluster: &Parameters, packet_bytes: f64) -> Result<Vec<Parameter>, Problem> {
    // Of two processors; L may grow with their number.
    let packet = cluster.packet(packet_bytes, 2)?;
    let time = |key, symbol, seconds: f64| parameter(key, symbol, Form::Seconds, seconds);
    Ok(vec![
        parameter("packet_bytes", "packet", Form::Bytes, packet_bytes),
        time("send_s", "O_s", packet.send_s),
        time("send_gap_s", "g_s", packet.send_gap_s),
        time("transfer_s", "L", packet.transfer_s),
        time("receive_gap_s", "g_r", packet.receive_gap_s),
        time("receive_s", "O_r", packet.receive_s),
        time("user_receive_s", "U_r", packet.user_receive_s),
        time("copy_s", "M_mtm", packet.copy_s),
        parameter("buffer_packets", "B_L", Form::Plain, cluster.buffer_packets),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::predict::saved::tests::{contention, saved};

    #[test]
    fn without_options_it_is_table_1() {
        let known = SwitchArgs::default().cluster(None).unwrap();
        assert_eq!((known.cluster, known.packet_bytes), (Parameters::table_1(), 1500.0));
    }

    #[test]
    fn a_measured_cluster_and_what_options_change() {
        let line = |startup_s: f64| json!({"startup_s": startup_s, "s_per_byte": 1e-9, "median_error": 0.01});
        let file = saved(json!({"cluster": {
            "o_s": line(1e-6), "g_s": line(2e-6),
            "l": {"startup_s": 5e-6, "s_per_byte": 1e-9, "per_processor_s": 1e-7, "aggregate_bytes_per_s": 1e9},
            "g_r": line(3e-6), "o_r": 4e-6, "u_r": 0, "buffer_packets": 100, "packet_bytes": 4096,
        }}));
        let args = SwitchArgs { g_r: Some((9e-6, 0.0)), ..SwitchArgs::default() };
        let Known { cluster, packet_bytes, .. } = args.cluster(Some(&file)).unwrap();
        let packet = cluster.packet(1000.0, 10).unwrap();
        assert_eq!((packet.send_s, packet.send_gap_s), (1e-6 + 1000.0 * 1e-9, 2e-6 + 1000.0 * 1e-9));
        assert_eq!((packet.receive_gap_s, packet.receive_s, packet.user_receive_s), (9e-6, 4e-6, 0.0));
        assert_eq!((packet.copy_s, cluster.buffer_packets, packet_bytes), (0.0, 100.0, 4096.0));
        // Ten senders offer 3.3 GB/s to a switch of 1 GB/s.
        assert!((packet.transfer_s - (5e-6 + 1e-6 + 1e-6 * 10.0 / 3.0)).abs() < 1e-12, "{}", packet.transfer_s);
    }

    #[test]
    fn measured_contention_is_in_l_and_b_l() {
        let line = |startup_s: f64| json!({"startup_s": startup_s, "s_per_byte": 1e-9});
        let known = |contention: Value| {
            let cluster = json!({
                "o_s": line(1e-6), "g_s": line(0.0), "l": line(50e-6), "g_r": line(3e-6),
                "o_r": 4e-6, "u_r": 0, "buffer_packets": 100, "packet_bytes": 1000,
            });
            let file = saved(json!({"cluster": cluster, "contention": contention}));
            SwitchArgs::default().cluster(Some(&file)).unwrap()
        };
        let transfer_s = |known: &Known, procs| known.cluster.packet(1000.0, procs).unwrap().transfer_s;
        let near =
            |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
        let mut shared = contention("shared", 1e-9);
        shared["queue_bytes"] = json!(64_000);
        let shared = known(shared);
        near(transfer_s(&shared, 2), 51e-6);
        // Three pairs more, 10 us each, and four times the load of one, which is all that the medium can do.
        near(transfer_s(&shared, 8), 51e-6 + 30e-6 + 3e-6);
        assert_eq!((shared.cluster.buffer_packets, shared.notes.len()), (64.0, 1));
        let switched = known(contention("switched", 0.0));
        near(transfer_s(&switched, 8), 51e-6 + 30e-6);
        assert_eq!(switched.cluster.buffer_packets, 100.0);
        assert!(switched.notes[0].contains("as set"), "{:?}", switched.notes);
        let alone = known(Value::Null);
        near(transfer_s(&alone, 8), 51e-6);
        assert!(alone.notes.iter().any(|note| note.contains("L grows")), "{:?}", alone.notes);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let refused = |json: Value| SwitchArgs::default().cluster(Some(&saved(json))).unwrap_err().to_string();
        assert!(refused(json!({})).contains("no cluster.o_s"));
        assert!(refused(json!({})).contains("--o-s"));
        assert!(refused(json!({"cluster": {"o_s": {"startup_s": 1}}})).contains("no cluster.o_s.s_per_byte"));
        assert!(refused(json!({"cluster": {"o_s": -1}})).contains("O_s is -1"));
        let given = |args: SwitchArgs| args.cluster(None).unwrap_err().to_string();
        assert!(given(SwitchArgs { u_r: Some((0.0, -1.0)), ..SwitchArgs::default() }).contains("U_r is -1"));
        assert!(given(SwitchArgs { l: Some((f64::NAN, 0.0)), ..SwitchArgs::default() }).contains("L is NaN"));
        assert!(given(SwitchArgs { packet_bytes: Some(-5.0), ..SwitchArgs::default() }).contains("-5"));
    }
}
