//! What prices messages: the network's parameters, and what one sender alone takes.

use lathide_models::hyperbolic::{Block, Prices, Sending};

use super::answer::{Form, Parameter, parameter};
use super::network::NetworkArgs;
use super::problem::Problem;
use super::saved::Saved;

/// Where `lathide link` has T_s of one sender alone.
const SENDING: [&str; 2] = ["sending", "contention.sending"];

/// What prices messages, how it is stated, and what was assumed.
#[derive(Clone, Debug)]
pub(super) struct Priced {
    pub(super) prices: Prices,
    pub(super) parameters: Vec<Parameter>,
    pub(super) notes: Vec<String>,
}

/// By options first, then by `saved`.
pub(super) fn priced(network: &NetworkArgs, saved: Option<&Saved>) -> Result<Priced, Problem> {
    let known = network.network(saved)?;
    let (mut prices, mut parameters, mut notes) = (Prices::new(known.network)?, known.parameters, known.notes);
    let found = |saved: &&Saved| !network.says_what_a_sender_takes() && sending_in(saved).is_some();
    match saved.filter(found) {
        Some(saved) => {
            let at = sending_in(saved).unwrap_or(SENDING[0]);
            prices = prices.with_sending(measured(saved, at)?);
            notes.push("T_s of one sender alone, (a_s, b_s), is as lathide link measured it, of a message by itself and of several at once".to_owned());
        }
        None => notes.push(
            "T_s of one sender alone is taken as in Fig. 8 of the paper, not preemptive: a_s = a_W, b_s = max(b_W, b_C); it \
             was not measured"
                .to_owned(),
        ),
    }
    let alone = prices.sending(1.0, 1.0)?;
    parameters.push(parameter("sending_a_s", "a_s", Form::Seconds, alone.a_s()));
    parameters.push(parameter("sending_b_s_per_byte", "b_s", Form::SecondsPerByte, alone.b_s_per_byte()));
    Ok(Priced { prices, parameters, notes })
}

/// T_s of one sender alone: of the case with one receiver, and of that with the most.
fn measured(saved: &Saved, at: &str) -> Result<Sending, Problem> {
    let number = |name: &str| saved.number(&format!("{at}.{name}"), "measure the link again");
    let several = Block::new(number("a_s")?, number("b_s_per_byte")?)?;
    let cases = saved.find(&format!("{at}.cases")).and_then(serde_json::Value::as_array);
    let single = cases.and_then(|cases| cases.iter().find(|case| case["senders"] == 1 && case["receivers"] == 1));
    let of = |name: &str| single.and_then(|case| case[name].as_f64());
    match (of("a_s"), number("receivers")) {
        (Some(single_a_s), Ok(together)) if single_a_s >= 0.0 => Ok(Sending { single_a_s, several, together }),
        _ => Ok(Sending { single_a_s: several.a_s(), several, together: 1.0 }),
    }
}

fn sending_in(saved: &Saved) -> Option<&'static str> {
    SENDING.into_iter().find(|at| saved.find(at).is_some_and(serde_json::Value::is_object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::predict::saved::tests::{contention, saved};

    #[test]
    fn one_sender_is_as_measured_or_as_in_figure_8() {
        let args = NetworkArgs::default();
        let with = |file: serde_json::Value| priced(&args, Some(&saved(file))).unwrap();
        let none = with(json!({"contention": contention("shared", 2e-9)}));
        let alone = none.prices.sending(1.0, 1.0).unwrap();
        assert!((alone.a_s() - 15e-6).abs() < 1e-18 && alone.b_s_per_byte() == 2e-9, "{alone:?}");
        assert!(none.notes.last().unwrap().contains("Fig. 8"), "{:?}", none.notes);
        let sending = json!({"a_s": 3e-6, "b_s_per_byte": 4e-9});
        let mut within = contention("shared", 2e-9);
        within["sending"] = sending.clone();
        for file in
            [json!({"contention": contention("shared", 2e-9), "sending": sending}), json!({"contention": within})]
        {
            let measured = with(file);
            assert_eq!(measured.prices.sending(2.0, 1.0).unwrap(), Block::new(3e-6, 4e-9).unwrap());
            assert!((measured.prices.sending(3.0, 1.0).unwrap().b_s_per_byte() - 6e-9).abs() < 1e-20);
            assert!(measured.notes.last().unwrap().contains("several at once"), "{:?}", measured.notes);
        }
        let cases = json!([{"senders": 1, "receivers": 1, "a_s": 1e-6, "b_s_per_byte": 2e-9}]);
        let both = json!({"a_s": 3e-6, "b_s_per_byte": 4e-9, "receivers": 4, "cases": cases});
        let both = with(json!({"contention": contention("shared", 2e-9), "sending": both}));
        assert_eq!(both.prices.sending(1.0, 1.0).unwrap(), Block::new(1e-6, 4e-9).unwrap());
        assert_eq!(both.prices.sending(1.0, 4.0).unwrap(), Block::new(3e-6, 4e-9).unwrap());
        let broken = saved(json!({"contention": contention("shared", 2e-9), "sending": {"a_s": 1.0}}));
        assert!(priced(&args, Some(&broken)).unwrap_err().to_string().contains("no sending.b_s_per_byte"));
    }
}
