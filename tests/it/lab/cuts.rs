//! Cables that are cut for a while, again and again: results are the same, and late by little more than the cuts.

use std::time::Duration;

use super::jobs::{RUNNING, in_lab_within, path};
use super::{is_possible, program};

const OPTIONS: [&str; 6] = ["--hosts", "4", "--delay", "5ms", "--rate", "100mbit"];
const WATCHDOG: Duration = Duration::from_secs(600);
const HOSTS: &str = "host0,host1,host2,host3";

/// Seconds from a line that the script has printed, in nanoseconds.
fn seconds(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
    line.trim().parse::<f64>().expect("a number") / 1e9
}

/// The stencil without a cut and then with so many, each of five seconds, with so many seconds between.
fn stencil_with(cuts: u32, pause: u32, steps: u32) {
    if !is_possible() {
        return;
    }
    // The cuts' own time is measured: mending takes its time on a busy machine.
    let script = format!(
        "{RUNNING} l=$1; begin=$(date +%s%N); $l run --hosts {HOSTS} $2 --steps {steps} || exit 9; \
         echo \"whole $(($(date +%s%N) - begin))\"; begin=$(date +%s%N); cut=0; \
         before=$(received host2); \
         $l run --hosts {HOSTS} $2 --steps {steps} & job=$!; \
         until [ $(($(received host2) - before)) -gt 100000 ]; do kill -0 $job || exit 9; sleep 0.05; done; \
         for n in $(seq {cuts}); do sleep {pause}; from=$(date +%s%N); $l lab cut host2; sleep 5; $l lab mend host2; \
         cut=$((cut + $(date +%s%N) - from)); kill -0 $job 2>/dev/null && echo \"during $n\"; done; \
         wait $job; echo \"status $?\"; echo \"cut $(($(date +%s%N) - begin))\"; echo \"down $cut\""
    );
    let (_, text, _) = in_lab_within(WATCHDOG, &OPTIONS, &script, &[&path("stencil")]);
    assert!(text.contains("status 0") && text.matches("correct to the bit").count() == 2, "{text}");
    let (whole, cut, down) = (seconds(&text, "whole "), seconds(&text, "cut "), seconds(&text, "down "));
    let during = text.matches("during ").count();
    let beyond = cut - whole - down;
    println!(
        "{steps} steps: {whole:.1} s without a cut, {cut:.1} s with {cuts} ({during} of them in the job), {down:.1} s down: \
         {beyond:.1} s beyond the cuts, {:.2} s each",
        beyond / f64::from(cuts)
    );
    // Other work may take the machine in one run and not in the other.
    assert!(beyond < whole + 2.0 * f64::from(cuts) + 20.0, "{text}");
    assert!(during as u32 == cuts, "the job was over before the last cut: {text}");
}

#[test]
fn a_stencil_is_late_by_little_more_than_two_cuts() {
    stencil_with(2, 2, 1200);
}

#[test]
#[ignore = "two minutes; for the night"]
fn a_stencil_is_late_by_little_more_than_its_cuts_of_two_minutes() {
    stencil_with(12, 5, 10_000);
}

/// Cuts host2 off for so many seconds each time while collectives are under way.
fn partitions(cuts: &[u32]) {
    if !is_possible() {
        return;
    }
    let own = program::own_command();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let each: Vec<String> = cuts
        .iter()
        .map(|seconds| format!("running host2; sleep 2; $l lab cut host2; sleep {seconds}; $l lab mend host2;"))
        .collect();
    let lasts = cuts.iter().map(|seconds| seconds + 3).sum::<u32>() + 3;
    let script = format!(
        "{RUNNING} l=$1; shift; export LATHIDE_LAB_TEST_ROLE=collectives LATHIDE_LAB_TEST_SECONDS={lasts}; \
         $l run --hosts {HOSTS} \"$@\" & job=$!; {} wait $job; echo \"status $?\"",
        each.concat()
    );
    let (_, text, took) = in_lab_within(WATCHDOG, &OPTIONS, &script, &own);
    assert!(text.contains("status 0") && text.contains("collectives="), "{text}");
    println!("partitions of {cuts:?} s: {took:.1?}; {}", text.matches("was cut for").count());
}

#[test]
fn collectives_go_on_after_partitions() {
    partitions(&[1, 6]);
}

#[test]
#[ignore = "half a minute; for the night"]
fn collectives_go_on_after_long_partitions() {
    partitions(&[1, 12, 25]);
}
