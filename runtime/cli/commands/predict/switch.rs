//! The cluster model's parameters (Tam, Wang), from options, a measured link, or the paper's Table 1.

use lathide_models::BadParameter;
use lathide_models::cluster::{Cost, Line, Packet, Parameters, Transfer};
use serde_json::Value;

use super::answer::{Form, Parameter, parameter};
use super::problem::Problem;
use super::saved::{Saved, pick};
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
}

impl SwitchArgs {
    /// The cluster, from options first, then from `saved`, then from the paper.
    pub(super) fn cluster(&self, saved: Option<&Saved>) -> Result<Known, Problem> {
        let paper = Parameters::table_1();
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
        let cluster = Parameters {
            send: cost(self.o_s, "O_s", &paper.send)?,
            send_gap: cost(self.g_s, "g_s", &paper.send_gap)?,
            transfer: self.transfer(saved, &paper.transfer)?,
            receive_gap: cost(self.g_r, "g_r", &paper.receive_gap)?,
            receive: cost(self.o_r, "O_r", &paper.receive)?,
            user_receive: cost(self.u_r, "U_r", &paper.user_receive)?,
            copy_memory_to_memory: copy,
            buffer_packets: pick(self.buffer, (saved, "cluster.buffer_packets", "--buffer"), paper.buffer_packets)?,
            ..paper
        };
        let saved_size = saved.filter(|saved| saved.find("cluster.packet_bytes").is_some());
        let size = (saved_size, "cluster.packet_bytes", "--packet-bytes");
        let packet_bytes = pick(self.packet_bytes, size, 1500.0)?;
        let parameters = stated(&cluster, packet_bytes)?;
        Ok(Known { cluster, packet_bytes, parameters })
    }

    fn transfer(&self, saved: Option<&Saved>, paper: &Transfer) -> Result<Transfer, Problem> {
        let alone =
            |line| Ok(Transfer { alone: linear(line, "L")?, per_processor_s: 0.0, aggregate_bytes_per_s: None });
        let saved = match (self.l, saved) {
            (Some(line), _) => return alone(line),
            (None, None) => return Ok(paper.clone()),
            (None, Some(saved)) => saved,
        };
        let transfer: Transfer = alone(measured(saved, "L")?)?;
        let further = |name: &str| match saved.find(&format!("cluster.l.{name}")) {
            Some(_) => saved.number(&format!("cluster.l.{name}"), "give --l").map(Some),
            None => Ok(None),
        };
        Ok(Transfer {
            per_processor_s: further("per_processor_s")?.unwrap_or(0.0),
            aggregate_bytes_per_s: further("aggregate_bytes_per_s")?,
            ..transfer
        })
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
    use crate::commands::predict::saved::tests::saved;

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
