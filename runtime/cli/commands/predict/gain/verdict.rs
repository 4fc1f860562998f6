//! What the gains mean: the best granularity, processor number or machine. Pure.

use lathide_models::gain::{self, Range};
use serde_json::{Map, Value, json};

use crate::commands::predict::problem::Problem;
use crate::report::format::plain;

/// One of the machines to choose from, section 2.3.3.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Hardware {
    pub(super) gamma_h: f64,
    pub(super) omega: f64,
}

/// Members of the JSON object, and a sentence.
type Verdict = (Map<String, Value>, String);

/// The best of `gains`, pairs of what `of` names and G.
pub(super) fn of_values(gains: &[(f64, f64)], of: &str) -> Verdict {
    let mut findings = Map::new();
    let Some((at, best)) = gains.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)) else {
        return (findings, String::new());
    };
    findings.insert("best_gain".into(), json!(best));
    let (name, value) = if of == "procs" { ("p", json!(at as u64)) } else { (of, json!(at)) };
    findings.insert(format!("best_{of}"), value);
    let at = plain(at);
    let sentence = match gains {
        [_] => format!("At {name} = {at} G is {best:.3}."),
        _ if gains.iter().all(|(_, gain)| *gain == best) => format!("G is {best:.3} at all of these values."),
        _ => format!("Of these values {name} = {at} gains most, G = {best:.3}."),
    };
    (findings, sentence)
}

/// The best of `gains`, and the maximum, break-even and wanted range of eq. (4) with `(f, omega)`. The granularity that
/// `of` names is gamma times its factor.
pub(super) fn of_curve(
    (f, omega): (f64, f64),
    target: Option<f64>,
    gains: &[(f64, f64)],
    (of, factor): (&str, f64),
) -> Result<Verdict, Problem> {
    let (mut findings, mut conclusion) = of_values(gains, of);
    let maximum = gain::maximum_partial(f, omega)?;
    let finite = |granularity: &f64| granularity.is_finite();
    let best = gain::best_gamma(f, omega)?.map(|gamma| gamma * factor).filter(finite);
    let break_even = gain::break_even_gamma(omega)?.map(|gamma| gamma * factor).filter(finite);
    findings.insert("maximum_gain".into(), json!(maximum));
    findings.insert(format!("maximum_gain_{of}"), json!(best));
    findings.insert(format!("break_even_{of}"), json!(break_even));
    conclusion += &match best {
        Some(best) => format!(" G can be {maximum:.3} at most, at {of} = {}.", plain(best)),
        None if f == 0.0 => " With f = 0 nothing can be hidden.".to_owned(),
        None => format!(" G can be {maximum:.3} at most."),
    };
    if let Some(break_even) = break_even {
        conclusion += &format!(" Above {of} = {} hiding loses.", plain(break_even));
    }
    if let Some(target) = target {
        let range =
            gain::gamma_range_for_gain(target, f, omega)?.map(|Range { least, most }| [least * factor, most * factor]);
        findings.insert(format!("{of}_for_target"), json!(range));
        conclusion += &match range {
            Some([least, most]) => {
                format!(" G is at least {target} from {of} = {} to {}.", plain(least), plain(most))
            }
            None => format!(" No granularity gains {target}."),
        };
    }
    Ok((findings, conclusion))
}

/// The machine with the greatest least gain over a range of gamma_s (Example 2 of section 2.3.1), or the greatest gain
/// at a single one (Example 1). `gains` has (gamma_s, G) for each machine.
pub(super) fn of_machines(machines: &[Hardware], gains: &[Vec<(f64, f64)>]) -> Verdict {
    let least: Vec<f64> =
        gains.iter().map(|of_one| of_one.iter().map(|(_, gain)| *gain).fold(f64::INFINITY, f64::min)).collect();
    let mut findings = Map::new();
    let Some(best) = (0..least.len()).max_by(|one, other| least[*one].total_cmp(&least[*other]).then(other.cmp(one)))
    else {
        return (findings, String::new());
    };
    let Hardware { gamma_h, omega } = machines[best];
    let always: Vec<bool> = least.iter().map(|gain| *gain > 1.0).collect();
    findings.insert("best_machine".into(), json!({ "number": best + 1, "gamma_h": gamma_h, "omega": omega }));
    findings.insert("least_gains".into(), json!(least));
    let name = format!("machine {}, (gamma_h, Omega) = ({}, {})", best + 1, plain(gamma_h), plain(omega));
    let gaining = always.iter().filter(|gains| **gains).count();
    let all = machines.len();
    let conclusion = if gains[best].len() == 1 {
        let at = plain(gains[best][0].0);
        format!("At gamma_s = {at} {name} gains most, G = {:.3}; {gaining} of {all} machines gain.", least[best])
    } else {
        format!(
            "Over all these gamma_s {name} has the greatest least gain, G = {:.3}; {gaining} of {all} machines gain \
             everywhere.",
            least[best]
        )
    };
    (findings, conclusion)
}
