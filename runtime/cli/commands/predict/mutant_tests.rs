//! Saved results that are almost right: each is a table, or an error that names what is wrong; nothing panics, and nothing takes
//! as much memory or time as a number in a file says.

use std::sync::LazyLock;

use clap::Parser;
use serde_json::{Value, json};

use super::saved::tests::contention;
use super::*;
use crate::chance::Chance;
use crate::mutant;
use crate::report::text::text;

/// Seeds, at scale 1.
const FILES: u64 = 30_000;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// What is asked, of what may come from a file.
static CALLS: LazyLock<Vec<Args>> = LazyLock::new(|| {
    let calls = [
        "gain",
        "gain --target 1.5",
        "gain --gamma-s 2..10 --gamma-h 4",
        "gain --lambda 144 --q p --procs 1..32",
        "gain --halo 1..64 --t-calc 2.5ms",
        "gain --cg --unknowns 10000 --t-fl 2ns",
        "gain --cg --unknowns 10000 --t-fl 2ns --procs 2..64*2",
        "gain --tasks 10ms:10ms,20ms:10ms",
        "hyperbolic",
        "hyperbolic --bytes 8..16MiB*2",
        "hyperbolic --pairs 1,2,4,8 --bytes 1KiB..1MiB*4",
        "hyperbolic --neighbours 4 --procs 8..64*2 --bytes 8KiB",
        "broadcast --procs 2..64*2 --bytes 8,64KiB",
        "broadcast --model cluster --procs 2..16*2 --bytes 64KiB",
        "gather",
        "gather --procs 8 --bytes 600kB",
        "gather --procs 4..64*2 --bytes 1MB",
        "collectives --procs 4,16",
        "collectives --procs 2..64*2 --words 100",
        "logp --o 3us --bytes 1KiB",
        "logp --messages 1..64*2",
        "decomposition --n 256..8192*2 --procs 64",
        "decomposition --n 4096 --speeds 1,1,2,3.5 --tiles 64 --t-c 2ns",
        "hops",
        "isoefficiency",
        "multigrid --clock 3e9 --cycles-per-flop 1 --procs 4..256*4 --long-messages",
        "multigrid --clock 1e9 --procs 4",
    ];
    calls
        .iter()
        .map(|call| {
            Line::try_parse_from(["predict"].into_iter().chain(call.split(' ')).chain(["--from", "saved.json"]))
                .map(|line| line.args)
        })
        .zip(calls)
        .map(|(args, call)| args.unwrap_or_else(|error| panic!("{call}: {error}")))
        .collect()
});

/// What `lathide link --json` and `lathide gain --json` save, as far as it is read.
static SAVED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let line = |startup_s: f64| json!({"startup_s": startup_s, "s_per_byte": 1e-9, "median_error": 0.01});
    let link = |medium: &str, spec: &str| {
        json!({
            "schema": "lathide-link-2",
            "link": {"spec": spec},
            "message_rate": {"lathide_per_s": 250_000.0},
            "hyperbolic": {"a_s": 35e-6, "b_s_per_byte": 1e-9, "median_error": 0.03},
            "cluster": {
                "o_s": line(1e-6), "g_s": line(2e-6),
                "l": {"startup_s": 5e-6, "s_per_byte": 1e-9, "per_processor_s": 1e-7, "aggregate_bytes_per_s": 1e9},
                "g_r": line(3e-6), "o_r": 4e-6, "u_r": 0, "copy": 1e-7, "buffer_packets": 100, "packet_bytes": 4096,
            },
            "contention": contention(medium, 1e-9),
        })
    };
    let point =
        |gamma: f64| json!({"gamma": gamma, "t_calc_s": 0.1 * gamma, "t_com_s": 0.1, "gain": 1.5, "gain_ideal": 1.8});
    let gain = json!({
        "schema": "lathide-gain-2",
        "link": {"spec": "delay=25ms,rate=50mbit"},
        "f": 0.9, "omega": 0.05, "max_gain": 1.9,
        "points": [point(0.5), point(1.0), point(2.0)],
        "hyperbolic": {"a_s": 35e-6, "b_s_per_byte": 1e-9},
    });
    let all: [Value; 3] = [link("shared", "delay=50us,rate=10mbit,shared"), link("switched", "loopback"), gain];
    all.iter().map(Value::to_string).collect()
});

/// Changes one member, wherever it stands: another number, another kind of value, or none.
fn change(chance: &mut Chance, value: &mut Value) {
    let members: Vec<&mut Value> = match value {
        Value::Array(all) => all.iter_mut().collect(),
        Value::Object(all) => all.values_mut().collect(),
        _ => Vec::new(),
    };
    let count = members.len();
    if count > 0 && !chance.once_in(12) {
        let at = chance.below(count);
        return members.into_iter().nth(at).into_iter().for_each(|member| change(chance, member));
    }
    let numbers = [
        0.0,
        -0.0,
        -1.0,
        1.0,
        1e-320,
        1e-300,
        1e-12,
        1e3,
        1e9,
        4_294_967_296.0,
        9_007_199_254_740_993.0,
        1e19,
        1e300,
        f64::MAX,
    ];
    let before = value.as_f64();
    *value = match chance.below(12u32) {
        0 => Value::Null,
        1 => json!([]),
        2 => json!({}),
        3 => json!("much"),
        4 => json!(u64::MAX),
        5 => json!(i64::MIN),
        6 => json!(before.unwrap_or(1.0) * 1e6),
        _ => json!(chance.pick(&numbers)),
    };
}

/// Returns whether there is an answer. An error has words.
fn ask(args: &Args, saved: Saved) -> bool {
    let (name, model) = args.model.asked();
    match model.predict(Some(&saved)) {
        Ok(answer) => {
            assert!(answer.rows.len() <= 10_000, "{} rows", answer.rows.len());
            let shown = text(&answer.results(name, Some(saved.origin())), false);
            assert!(!shown.is_empty() && shown.len() < 4 << 20, "{} bytes", shown.len());
            true
        }
        Err(problem) => {
            let words = located(problem, Some(&saved)).to_string();
            assert!(words.len() > 10, "{words:?} says little");
            false
        }
    }
}

#[test]
fn saved_results_that_are_almost_right_give_answers_or_errors() {
    let corpus: Vec<&str> = SAVED.iter().map(String::as_str).collect();
    let whole = |text: &&str| Saved::parse("saved.json".into(), text).expect("a saved result");
    for args in CALLS.iter() {
        let answered = corpus.iter().any(|text| ask(args, whole(text)));
        assert!(answered, "no file answers {args:?}");
    }
    mutant::each_seed("saved_results_that_are_almost_right_give_answers_or_errors", FILES, |chance| {
        let text = if chance.once_in(4) {
            mutant::text(chance, &corpus)
        } else {
            let mut json: Value = serde_json::from_str(chance.pick(&corpus)).expect("JSON");
            (0..1 + chance.below(4u32)).for_each(|_| change(chance, &mut json));
            json.to_string()
        };
        match Saved::parse("saved.json".into(), &text) {
            Ok(saved) => ask(&CALLS[chance.below(CALLS.len())], saved),
            Err(problem) => {
                assert!(problem.to_string().contains("saved.json"), "{problem}");
                false
            }
        }
    });
}
