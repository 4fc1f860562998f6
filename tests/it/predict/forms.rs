//! Forms of the models that have an input of their own: graphs, tasks, uneven nodes, the study of conjugate gradients.

use std::process::Command;

use serde_json::{Value, json};

use super::{Saved, answer, number, numbers, predict, refused};
use crate::process::run;

#[track_caller]
fn near(what: &str, value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{what}: {value}, not {expected}");
}

/// The graph that the help shows.
fn figure_7() -> String {
    let help = predict("graph --help").succeeded().stdout;
    let is_shown = |line: &&str| {
        ["  block M", "  block net", "  message 1 -> 4", "  message 2", "  message 3"]
            .iter()
            .any(|it| line.starts_with(it))
    };
    help.lines().filter(is_shown).map(|line| format!("{}\n", line.trim())).collect()
}

/// hyp.rule3.fig7 of the golden values, by the file that help and manual show.
#[test]
fn the_graph_shown_is_figure_7() {
    let text = figure_7();
    assert_eq!(text.lines().count(), 9, "{text}");
    let manual = include_str!("../../../runtime/manual/models/hyperbolic.rs");
    for line in text.lines() {
        assert!(manual.contains(&format!("//! {line}\n")), "the manual has no {line:?}");
    }
    let file = Saved::text("figure-7", &text);
    let graph = answer(&format!("graph {} --bytes 1000,2000", file.path()));
    let first = &graph["messages"][0];
    assert_eq!(
        (&first["message"], &first["bottleneck"], &first["most_of_a"]),
        (&json!("1 -> 4"), &json!("net"), &json!("M4"))
    );
    near("a", number(first, "a_s"), 3615.36e-6);
    near("b", number(first, "b_s_per_byte"), 3.22e-6);
    let hyperbola = |a: f64, b: f64, x: f64| a * a / (a + b * x) + b * x;
    near("T", number(first, "time_s"), hyperbola(3615.36e-6, 3.22e-6, 1000.0));
    near("T of twice as much", numbers(&graph, "time_s")[1], hyperbola(3615.36e-6, 3.22e-6, 2000.0));
    // Section 2.5: T_s = (a_1, max b_i), preemptive (a_1, b_1); T_r from (a_n, b_n) to (a_n, max b_i).
    near("T_s", number(first, "sending_s"), hyperbola(859.52e-6, 3.22e-6, 1000.0));
    near("T_s, preemptive", number(first, "sending_preemptive_s"), hyperbola(859.52e-6, 1.42e-6, 1000.0));
    near("T_r from", number(first, "receiving_least_s"), hyperbola(2.0 * 859.52e-6, 1.5 * 1.42e-6, 1000.0));
    near("T_r to", number(first, "receiving_most_s"), hyperbola(2.0 * 859.52e-6, 3.22e-6, 1000.0));
    let net = &graph["stages"][1];
    assert_eq!((&net["blocks"], &net["messages"], &net["limit"]), (&json!("net"), &json!(3), &json!("both")));
    near("3 a_c", number(net, "a_s"), 3.0 * 345.6e-6);
    let said = predict(&format!("graph {}", file.path())).succeeded().stdout;
    assert!(said.contains("3 of 3 wait for net") && said.contains('┤') && !said.contains("both"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "too wide:\n{said}");
    let late = answer(&format!("graph {} --handshake 1ms --bytes 0", file.path()));
    near("a_0", numbers(&late, "time_s")[0], 4615.36e-6);
    near("the sender waits", numbers(&late, "sending_s")[0], 1859.52e-6);
}

#[test]
fn a_graph_comes_from_standard_input() {
    let file = Saved::text("input", &figure_7());
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "exec \"$1\" predict graph - --json --quiet < \"$2\"",
        "sh",
        env!("CARGO_BIN_EXE_lathide"),
        file.path(),
    ]);
    let finished = run(&mut shell).succeeded();
    let graph: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(
        (&graph["model"], &graph["file"], &graph["messages"][2]["bytes"]),
        (&json!("graph"), &json!("standard input"), &json!(500.0))
    );
}

/// Rule 4: small messages do not meet on the network, large ones do.
#[test]
fn small_and_large_messages_have_their_graphs() {
    let file = Saved::text(
        "rule-4",
        "block w1 800us 1us\nblock w2 800us 1us\nblock net 100us 2us\n\
         small\nmessage 1 -> 2 1000 via w1 net w2\nlarge\nmessage 1 -> 2 1000 via w1 net w2\nmessage 3 -> 4 1000 via net\n",
    );
    let graph = answer(&format!("graph {} --bytes 8", file.path()));
    let messages = graph["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 1, "3 -> 4 is in one graph only: {graph}");
    near("a of the small", number(&messages[0], "a_s"), 1700e-6);
    near("b of the large", number(&messages[0], "b_s_per_byte"), 4e-6);
    assert_eq!((&messages[0]["bottleneck"], &messages[0]["most_of_a"]), (&json!("net"), &json!("w1")));
    let limits: Vec<&str> =
        graph["stages"].as_array().expect("stages").iter().filter_map(|it| it["limit"].as_str()).collect();
    assert_eq!(limits, ["small", "small", "small", "large", "large", "large", "large"]);
}

#[test]
fn a_bad_graph_is_named_with_its_line() {
    let blocks = "block a 1us 1ns\nblock b 1us 1ns\n";
    let cases = [
        ("message 1 -> 2 8 via a c", "line 3: message 1 -> 2 passes c, which is no block"),
        ("message 1 -> 2 8 via a b a", "line 3: message from 1 to 2: its ways form a cycle through a, b"),
        ("message 1 -> 2 8 via a b\nmessage 1 -> 2 9 via a", "line 4: message 1 -> 2 is on line 3 already"),
        ("block a 2us 1ns", "line 3: block a is on line 1 already"),
        ("message 1 -> 2 -8 via a b", "line 3: message 1 -> 2: x is -8"),
        ("block c -1us 1ns", "line 3: block c: a is -0.000001"),
        ("message 1 -> 2 8 via a", "line 2: no message passes block b"),
        (
            "block c 1us 1ns\nblock d 1us 1ns\nmessage 1 -> 2 8 via a c | a d | b d",
            "line 5: message from 1 to 2: the ways through",
        ),
        ("", "there is no message in it"),
    ];
    for (text, words) in cases {
        let file = Saved::text("bad-graph", &format!("{blocks}{text}\n"));
        refused(&format!("graph {}", file.path()), &[file.path(), words]);
    }
    let empty = Saved::text("empty-graph", "# nothing\n");
    refused(&format!("graph {}", empty.path()), &[empty.path(), "there is no message", "block NAME A B"]);
    let long = Saved::text("long-graph", &"#\n".repeat(40_000));
    refused(&format!("graph {}", long.path()), &["more than 65536 bytes"]);
    let saved = Saved::new("graph-from", &json!({}));
    refused(&format!("graph {} --from {}", empty.path(), saved.path()), &["--from", "FILE"]);
    let good = Saved::text("figure-7-late", &figure_7());
    refused(&format!("graph {} --handshake -1s", good.path()), &["a_0 is -1"]);
}

/// Fig. 24: what the paper prints, and eq. (6) with a constant Omega beside it.
#[test]
fn the_study_of_conjugate_gradients() {
    let study = answer("gain --cg");
    let best = [
        "best_procs_for_gain",
        "best_procs_for_speedup",
        "best_procs_for_speedup_hidden",
        "best_procs_for_gain_constant_omega",
    ];
    assert_eq!(best.map(|member| study[member].as_u64()), [229, 601, 453, 186].map(Some));
    let at =
        |p: u64| study["points"].as_array().expect("points").iter().find(|point| point["procs"] == p).expect("a point");
    for (p, member, printed) in [
        (229, "gain", "1.307"),
        (229, "speedup", "155.7"),
        (229, "speedup_hidden", "203.5"),
        (601, "speedup", "200.2"),
        (453, "speedup_hidden", "230.6"),
        (229, "gain_of_times", "1.306"),
    ] {
        let decimals = printed.split('.').nth(1).map_or(0, str::len);
        assert_eq!(format!("{:.decimals$}", number(at(p), member)), printed, "{member} of p = {p}");
    }
    near("Omega grows with p", number(at(229), "omega"), 4.0 * 229.0 / 7359.0);
    let said = study["conclusion"].as_str().expect("a sentence");
    assert!(said.contains("p = 229") && said.contains("p = 186") && said.contains("grows with p"), "{said}");
    // The Omega of p = 229 for all p: the same place.
    let constant = answer("gain --cg --omega 0.12447 --procs 229");
    assert!(
        constant["best_procs_for_gain_constant_omega"].as_u64().is_some_and(|p| p.abs_diff(229) <= 1),
        "{constant}"
    );
    // b = 6 (t_s + 3 t_w) and a = (9 + 4 n_z) t_fl N.
    let machine = answer("gain --cg --unknowns 1000000 --t-fl 1ns --t-s 10us --t-w 10ns --procs 16");
    near("a/b", number(&machine["parameters"], "lambda"), 29e-3 / (6.0 * 10.03e-6));
    let saved = Saved::new("cg", &json!({"hyperbolic": {"a_s": 10e-6, "b_s_per_byte": 1.25e-9}}));
    let measured = answer(&format!("gain --cg --unknowns 1000000 --t-fl 1ns --procs 16 --from {}", saved.path()));
    assert_eq!(measured["parameters"], machine["parameters"]);
    refused(&format!("gain --cg --from {}", saved.path()), &["--unknowns"]);
}

/// Deep halos: a case worked out by hand, the product of both gains, and a link's own a and b.
#[test]
fn several_steps_for_each_exchange() {
    // k = 2 on 8 columns of 10 ms, two neighbours, t_com(2) = 30 + 2 x 5 ms: interior 6 + 4 columns, the rest 8.
    let two = answer("gain --halo 2 --t-calc 80ms --columns 8 --rows 625 --a 30ms --b 1us");
    near("t_com(k)", numbers(&two, "exchange_s")[0], 40e-3);
    near("step, hidden", numbers(&two, "hidden_step_s")[0], (100e-3 + 80e-3) / 2.0);
    near("step, not hidden", numbers(&two, "step_s")[0], (180e-3 + 40e-3) / 2.0);
    near("G over I.1", numbers(&two, "gain")[0], 115e-3 / 90e-3);
    let all = answer("gain --halo 1..64 --t-calc 2.5ms");
    let [gains, of_halo, of_hiding] = ["gain", "gain_of_halo", "gain_of_hiding"].map(|member| numbers(&all, member));
    for ((gain, of_halo), of_hiding) in gains.iter().zip(of_halo).zip(of_hiding) {
        near("the gains multiply", *gain, of_halo * of_hiding);
    }
    let best = (0..64).max_by(|one, other| gains[*one].total_cmp(&gains[*other])).expect("64 of them");
    assert_eq!(all["best_halo"], json!(best + 1));
    let bound = number(&all, "bound");
    assert!(gains[best] > 5.0 && gains[best] < bound, "25 ms one way, gamma below 0.1: {all}");
    assert!(gains[0] < 2.0, "hiding alone");
    let saved = Saved::new("halo", &json!({"hyperbolic": {"a_s": 30e-3, "b_s_per_byte": 1e-6}}));
    let measured = answer(&format!("gain --halo 2 --t-calc 80ms --columns 8 --rows 625 --from {}", saved.path()));
    assert_eq!((&measured["points"], &measured["parameters"]), (&two["points"], &two["parameters"]));
    refused("gain --halo 9 --columns 8 --t-calc 1ms", &["halo is 9", "the strip's width"]);
    refused("gain --halo 0 --t-calc 1ms", &["halo is 0"]);
    refused("gain --halo 2 --sides 3 --t-calc 1ms", &["sides is 3", "1 or 2"]);
    refused("gain --halo 2 --columns 0 --t-calc 1ms", &["columns is 0"]);
    refused("gain --halo 2", &["--t-calc"]);
    refused("gain --halo 2 --t-calc 1ms --gamma 2", &["--gamma"]);
}

#[test]
fn tasks_that_differ() {
    let tasks = answer("gain --tasks 6s:6.5s,11s:1s");
    let expected = [12.5 / 6.5, 12.0 / 11.0];
    numbers(&tasks, "gain").iter().zip(expected).for_each(|(gain, expected)| near("eq. 4", *gain, expected));
    near("gamma", numbers(&tasks, "gamma")[0], 6.0 / 6.5);
    assert_eq!(numbers(&tasks, "idle_s"), [4.5, 0.0]);
    near("the job", number(&tasks["job"], "gain"), 12.5 / 11.0);
    assert_eq!((&tasks["job"]["slowest_task"], &tasks["job"]["slowest_task_with_hiding"]), (&json!(1), &json!(2)));
    let file = Saved::text("tasks", "# two nodes\n6s 6.5s\n11s:1s\n");
    let of_file = answer(&format!("gain --tasks @{}", file.path()));
    assert_eq!(of_file["points"], tasks["points"]);
    // f and Omega as measured.
    let saved = Saved::new("measured-tasks", &json!({"f": 0.5, "omega": 0.25}));
    let measured = answer(&format!("gain --tasks 4s:1s --from {}", saved.path()));
    near("eq. 4", numbers(&measured, "gain")[0], 1.25 / (0.5 + 0.75));
    let bad = Saved::text("bad-tasks", "1s 1s\n1s soon\n");
    refused(&format!("gain --tasks @{}", bad.path()), &[bad.path(), "line 2", "a time"]);
}

#[test]
fn shares_by_speed() {
    let shared = answer("decomposition --n 1024 --speeds 1,1,2");
    assert_eq!(shared["shares"], json!([256, 256, 512]));
    assert_eq!(numbers(&shared, "equal_share"), [342.0, 341.0, 341.0]);
    near("over equal shares", number(&shared, "speedup_over_equal"), 342.0 / 256.0);
    // A row takes n t_c / v; every node exchanges 4 (t_s + n t_w).
    let timed = answer("decomposition --n 1000 --speeds 1,3 --t-c 1us --t-s 1ms --t-w 1us");
    assert_eq!(timed["shares"], json!([250, 750]));
    near("a step", number(&timed, "step_s"), 250.0 * 1e-3 + 4.0 * 2e-3);
    near("with equal shares", number(&timed, "equal_step_s"), 500.0 * 1e-3 + 4.0 * 2e-3);
    let uneven = answer("decomposition --n 10 --speeds 1,1,1.7,0.4");
    let all: f64 = numbers(&uneven, "share").iter().sum();
    assert_eq!(all, 10.0, "whole rows, and all of them");
    let blocks = answer("decomposition --n 1024 --speeds 1,1,2 --tiles 64 --t-c 1us --t-s 0 --t-w 0");
    assert_eq!((&blocks["unit"], &blocks["shares"]), (&json!("blocks"), &json!([16, 16, 32])));
}

#[test]
fn hops_and_the_time_they_take() {
    // dec.hop.cut_through of the golden values.
    let three = answer("hops --hops 3 --words 1000 --t-s 1500us --t-w 5us --t-h 200us");
    near("cut-through", numbers(&three, "cut_through_s")[0], 7100e-6);
    near("store and forward", numbers(&three, "store_and_forward_s")[0], 1500e-6 + 3.0 * 5200e-6);
    let cube = answer("hops --topology hypercube,torus --procs 16");
    assert_eq!(numbers(&cube, "hops_most"), [4.0, 4.0]);
    near("mean", numbers(&cube, "hops_mean")[0], 32.0 / 15.0);
}

#[test]
fn the_matrix_for_an_efficiency() {
    // n^2 = p 4 (t_s + n t_w) with t_c = 1: 72 strips, 54 blocks (worked in the model's test).
    let half = answer("isoefficiency --efficiency 0.5 --procs 16 --t-c 1s --t-s 9s --t-w 1s");
    let point = &half["points"][0];
    assert_eq!((&point["strips_side"], &point["blocks_side"]), (&json!(72), &json!(54)));
    near("E", number(point, "strips_efficiency"), 324.0 / (324.0 + 324.0));
    near("w = max(T_comp, h)", number(point, "blocks_w_s"), (8.0f64 * (9.0 + 54.0 / 4.0)).max(54.0 * 54.0 / 16.0));
    let few = answer("isoefficiency --procs 4,1024");
    assert!(few["points"][0]["blocks_side"].is_null() && few["points"][1]["blocks_side"].is_u64(), "{few}");
    let grows = answer("isoefficiency --procs 16,1024 --t-s 0");
    let work = numbers(&grows, "blocks_work");
    near("W of blocks grows as p", (work[1] / work[0]).round(), 64.0);
}
