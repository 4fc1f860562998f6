//! The applications at the sizes of the papers, for a night: `.ci/night` runs them. Each job checks its own result.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::examples::example;
use crate::process::run_within;

/// A job may take so long on two busy cores.
const WATCHDOG: Duration = Duration::from_secs(1800);

/// Program, numbers of ranks, and arguments, with every version.
const JOBS: &[(&str, &[u32], &str)] = &[
    ("decomposition", &[4, 16], "--subdomains 16 --n 256"),
    ("decomposition", &[4], "--subdomains 4 --n 512"),
    ("krylov", &[3, 16], "--algorithm cg --n 400 --preconditioner ilu"),
    ("krylov", &[3, 16], "--algorithm parcg --n 400 --preconditioner ilu"),
    ("krylov", &[3, 16], "--algorithm pipelined --n 400 --preconditioner ilu"),
    ("cavity", &[1], "--px 1 --lid steady --dt inf --n 64 --check ghia"),
    ("cavity", &[4], "--px 4 --lid steady --dt inf --n 64 --check ghia"),
    ("cavity", &[8], "--px 2 --pt 4 --n 32 --planes 8 --check sequential"),
    ("multigrid", &[1, 4, 16], "--dims 2 --n 1024 --tolerance 1e-8"),
    ("multigrid", &[1, 8], "--dims 3 --n 64 --cycle f --tolerance 1e-8"),
    ("laplace", &[4, 9], "--decomposition strips --n 240 --epsilon 1e-6"),
    ("laplace", &[4, 9], "--decomposition blocks --n 240 --epsilon 1e-6"),
];

#[test]
#[ignore = "long: .ci/night runs it"]
fn all_programs_are_right_at_the_papers_sizes() {
    for (program, ranks, arguments) in JOBS {
        for (number, version) in ranks.iter().flat_map(|n| ["native", "synchronised", "hidden"].map(|v| (n, v))) {
            let began = Instant::now();
            let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
            command.args(["run", "-n", &number.to_string()]).arg(example(program));
            command.args(arguments.split(' ')).args(["--version", version]);
            let job = run_within(&mut command, WATCHDOG).succeeded();
            eprintln!("{program} on {number}, {version}, {arguments}: {:.1?}", began.elapsed());
            assert!(job.stdout.contains("correct"), "{program} on {number}, {version}: {job:?}");
        }
    }
}
