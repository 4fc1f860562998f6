//! What the variables of starters say: Open MPI's and MPICH's `mpirun`, srun, torchrun, Kubernetes. Pure.
//!
//! | starter | rank and size | what is the same for all ranks of a job, and for no other job |
//! | --- | --- | --- |
//! | Open MPI | `OMPI_COMM_WORLD_RANK`, `_SIZE` | `PMIX_NAMESPACE` (or the MCA job id) and the random number of the job's transports |
//! | MPICH (Hydra) | `PMI_RANK`, `PMI_SIZE` | on one host the process that started the ranks; on several, nothing |
//! | srun | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS` | cluster, job, step, restarts of the job |
//! | torchrun | `RANK`, `WORLD_SIZE`, with `MASTER_ADDR` | run, restarts, master's address and port |
//! | an indexed job of Kubernetes | `JOB_COMPLETION_INDEX`, with `LATHIDE_SIZE` | nothing: key and rendezvous are given |

use crate::config::{Discovery, Identity};
use crate::error::Result;

use super::variables::{RANK, SIZE, Variables, wrong};
use crate::quantity::WHOLE;

/// The most ranks a job may have: a full mesh of more connections than this fits no process's descriptor limit.
const SIZE_MAX: u32 = 1 << 16;

/// Who said what this node's place is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Starter {
    Lathide,
    Kubernetes,
    OpenMpi,
    Pmi,
    Torch,
    Slurm,
}

impl Starter {
    /// What is missing if no rendezvous is known.
    pub(super) fn no_root(self) -> &'static str {
        match self {
            Starter::Lathide | Starter::Kubernetes => {
                "LATHIDE_ROOT is not set: give every rank the same host:port of rank 0"
            }
            Starter::OpenMpi | Starter::Pmi => {
                "mpirun names neither a rendezvous nor the job: set LATHIDE_ROOT to the host:port of rank 0 (with a key \
                 in LATHIDE_KEY_FILE), or start the program with `lathide run`; to run it as a job of one, set \
                 LATHIDE_RANK=0 and LATHIDE_SIZE=1"
            }
            Starter::Torch => "MASTER_ADDR and MASTER_PORT are not set",
            Starter::Slurm => {
                "no rendezvous is known: start it with srun, or set LATHIDE_ROOT to the host:port of rank 0 (with a key \
                 in LATHIDE_KEY_FILE); to run it as a job of one, set LATHIDE_RANK=0 and LATHIDE_SIZE=1"
            }
        }
    }
}

/// A node's place, and who named it.
pub(super) struct RankSlot {
    pub(super) starter: Starter,
    pub(super) rank: u32,
    pub(super) size: u32,
    pub(super) size_name: &'static str,
}

/// The names of rank and size, innermost starter first: under `srun mpirun` or `srun torchrun` the variables of srun
/// describe the starters, not the program.
const SEATS: [(Starter, &str, &str); 7] = [
    (Starter::Kubernetes, "JOB_COMPLETION_INDEX", SIZE.name),
    (Starter::Lathide, RANK.name, SIZE.name),
    (Starter::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    (Starter::Pmi, "PMI_RANK", "PMI_SIZE"),
    (Starter::Torch, "RANK", "WORLD_SIZE"),
    (Starter::Slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    (Starter::Slurm, "SLURM_PROCID", "SLURM_NTASKS"),
];

/// This node's place; `None` if nobody names one.
pub(super) fn slot(variables: &Variables<'_>) -> Result<Option<RankSlot>> {
    for (starter, rank_name, size_name) in SEATS {
        let (rank, size) = match (variables.of_starter(rank_name), variables.of_starter(size_name)) {
            (None, None) => continue,
            (Some(rank), None) if starter == Starter::Lathide => {
                return wrong(rank_name, rank, "LATHIDE_SIZE is not set; a node needs both");
            }
            (None, Some(size)) if starter == Starter::Lathide => {
                return wrong(size_name, size, "LATHIDE_RANK is not set; a node needs both");
            }
            // RANK alone is a common name for other things; both, and a master, are torchrun's.
            (Some(rank), Some(size)) => (rank, size),
            _ => continue,
        };
        let is_other = match starter {
            Starter::Torch => variables.of_starter("MASTER_ADDR").is_none(),
            // `lathide run` inside a pod knows better.
            Starter::Kubernetes => variables.text(&RANK).is_some(),
            _ => false,
        };
        if is_other {
            continue;
        }
        let size = number(size_name, &size, 1..=SIZE_MAX)?;
        let rank = number(rank_name, &rank, 0..=size - 1)?;
        return Ok(Some(RankSlot { starter, rank, size, size_name }));
    }
    Ok(None)
}

/// A whole number within `range`.
fn number(name: &str, value: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32> {
    let number = WHOLE.one(value).ok().filter(|number| range.contains(number));
    let why = || format!("this is a whole number from {} to {}", range.start(), range.end());
    number.map_or_else(|| wrong(name, value, why()), Ok)
}

/// The rendezvous that the starter names, if it names one.
pub(super) fn root(variables: &Variables<'_>, slot: &RankSlot) -> Result<Option<String>> {
    match slot.starter {
        // torchrun itself listens there, unless it was told not to.
        Starter::Torch if variables.of_starter("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|text| text == "True") => {
            Ok(None)
        }
        Starter::Torch => {
            let Some(host) = variables.of_starter("MASTER_ADDR") else { return Ok(None) };
            let port = variables.of_starter("MASTER_PORT").unwrap_or_default();
            let port = number("MASTER_PORT", &port, 1..=65535)?;
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            Ok(Some(format!("{host}:{port}")))
        }
        Starter::Slurm => Ok(slurm_root(variables)),
        _ => Ok(None),
    }
}

/// The first host of the step, and a port that follows from job and step, so that all tasks agree without talking.
fn slurm_root(variables: &Variables<'_>) -> Option<String> {
    let host = first_host(&variables.of_starter("SLURM_STEP_NODELIST")?)?;
    let id = |name| variables.of_starter(name).and_then(|id| id.parse::<u64>().ok());
    let (job, step) = (id("SLURM_JOB_ID")?, id("SLURM_STEP_ID")?);
    // Below the range from which the system gives ports to programs that ask for any.
    let port = 20_000 + (job.wrapping_mul(31).wrapping_add(step)) % 10_000;
    Some(format!("{host}:{port}"))
}

/// The first host of a node list: `a`, `a,b`, `n[07-12,20]`, `r[1-2]n[3,4]-x`.
fn first_host(list: &str) -> Option<String> {
    let (mut host, mut rest) = (String::new(), list);
    while let Some(open) = rest.find(['[', ',']) {
        host.push_str(&rest[..open]);
        if rest[open..].starts_with(',') {
            return (!host.is_empty()).then_some(host);
        }
        let (range, after) = rest[open + 1..].split_once(']')?;
        host.push_str(range.split([',', '-']).next()?);
        rest = after;
    }
    host.push_str(rest);
    (!host.is_empty()).then_some(host)
}

/// How the ranks can find each other without a rendezvous or a key; `None` if nothing tells this job from others.
pub(super) fn discovery(variables: &Variables<'_>, slot: &RankSlot) -> Option<Discovery> {
    let text = |name: &str| variables.of_starter(name);
    let size = slot.size.to_string();
    let all_of = |name: &str| text(name).as_ref() == Some(&size);
    let one_node = text("SLURM_STEP_NUM_NODES").is_some_and(|nodes| nodes == "1");
    let named = |starter: &str, shown: &str, parts: &[Option<String>], is_local: bool| {
        let parts = parts.iter().map(|part| part.clone().unwrap_or_default());
        let identity = [starter.to_owned()].into_iter().chain(parts).collect();
        let name = format!("job {shown} of {starter}");
        Some(Discovery { name, identity: Identity::Named(identity), is_local, has_key: false })
    };
    match slot.starter {
        Starter::Lathide | Starter::Kubernetes => None,
        Starter::OpenMpi => {
            let ids = ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid"];
            let job = ids.into_iter().find_map(text)?;
            // Up to version 4 a job's number has 16 bits that depend on host and process; this one has 128 random ones.
            let random = text("OMPI_MCA_orte_precondition_transports");
            named("mpirun", &job, &[Some(job.clone()), random], all_of("OMPI_COMM_WORLD_LOCAL_SIZE"))
        }
        // Hydra names the ranks of a host, but not the job.
        Starter::Pmi if text("MPI_LOCALNRANKS").is_some() => all_of("MPI_LOCALNRANKS").then(|| {
            let name = "the job of mpiexec on this host".to_owned();
            Discovery { name, identity: Identity::Process("PMI_RANK"), is_local: true, has_key: false }
        }),
        // That of srun with PMI-2: job and step.
        Starter::Pmi => {
            let job = text("PMI_JOBID")?;
            named("srun", &job, &[text("SLURM_CLUSTER_NAME"), Some(job.clone()), text("SLURM_RESTART_COUNT")], one_node)
        }
        Starter::Torch => {
            let (host, port) = (text("MASTER_ADDR")?, text("MASTER_PORT"));
            let run = text("TORCHELASTIC_RUN_ID");
            let shown = run.clone().unwrap_or_else(|| host.clone());
            let restarts = text("TORCHELASTIC_RESTART_COUNT");
            named("torchrun", &shown, &[run, restarts, Some(host), port], all_of("LOCAL_WORLD_SIZE"))
        }
        Starter::Slurm => {
            let (job, step) = (text("SLURM_JOB_ID")?, text("SLURM_STEP_ID")?);
            let shown = format!("{job}.{step}");
            let parts = [text("SLURM_CLUSTER_NAME"), Some(job), Some(step), text("SLURM_RESTART_COUNT")];
            named("srun", &shown, &parts, one_node)
        }
    }
}

#[cfg(test)]
#[path = "foreign_tests.rs"]
mod tests;
