use super::*;

fn found(list: &[(&str, &str)]) -> (u32, u32, Option<Discovery>) {
    let lookup = |name: &str| list.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| value.to_string());
    let variables = Variables(&lookup);
    let slot = slot(&variables).unwrap().expect("somebody names a slot");
    (slot.rank, slot.size, discovery(&variables, &slot))
}

const OPEN_MPI: [(&str, &str); 5] = [
    ("OMPI_COMM_WORLD_RANK", "1"),
    ("OMPI_COMM_WORLD_SIZE", "4"),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
    ("PMIX_NAMESPACE", "2120876033"),
    ("OMPI_MCA_orte_precondition_transports", "1569955ac0a3b535-5c13dbc65e99f834"),
];
const HYDRA: [(&str, &str); 4] = [("PMI_RANK", "0"), ("PMI_SIZE", "4"), ("PMI_FD", "6"), ("MPI_LOCALNRANKS", "4")];
const SLURM: [(&str, &str); 6] = [
    ("SLURM_PROCID", "2"),
    ("SLURM_STEP_NUM_TASKS", "4"),
    ("SLURM_STEP_NUM_NODES", "2"),
    ("SLURM_JOB_ID", "77"),
    ("SLURM_STEP_ID", "0"),
    ("SLURM_CLUSTER_NAME", "east"),
];
const TORCH: [(&str, &str); 7] = [
    ("RANK", "3"),
    ("WORLD_SIZE", "4"),
    ("LOCAL_WORLD_SIZE", "4"),
    ("MASTER_ADDR", "a"),
    ("MASTER_PORT", "29500"),
    ("TORCHELASTIC_RUN_ID", "none"),
    ("TORCHELASTIC_RESTART_COUNT", "0"),
];

#[test]
fn every_starter_names_its_job() {
    for (list, name, is_local) in [
        (&OPEN_MPI[..], "job 2120876033 of mpirun", true),
        (&HYDRA[..], "the job of mpiexec on this host", true),
        (&SLURM[..], "job 77.0 of srun", false),
        (&TORCH[..], "job none of torchrun", true),
        (&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("PMI_JOBID", "77.1")][..], "job 77.1 of srun", false),
    ] {
        let discovery = found(list).2.expect(name);
        assert_eq!((discovery.name.as_str(), discovery.is_local, discovery.has_key), (name, is_local, false));
    }
}

#[test]
fn another_job_has_another_identity_and_another_rank_has_not() {
    let with =
        |list: &[(&'static str, &'static str)], name, value| found(&[list, &[(name, value)]].concat()).2.unwrap();
    for (list, name, is_another) in [
        (&OPEN_MPI[..], "OMPI_COMM_WORLD_RANK", false),
        (&OPEN_MPI[..], "PMIX_NAMESPACE", true),
        (&OPEN_MPI[..], "OMPI_MCA_orte_precondition_transports", true),
        (&SLURM[..], "SLURM_PROCID", false),
        (&SLURM[..], "SLURM_JOB_ID", true),
        (&SLURM[..], "SLURM_STEP_ID", true),
        (&SLURM[..], "SLURM_RESTART_COUNT", true),
        (&SLURM[..], "SLURM_CLUSTER_NAME", true),
        (&TORCH[..], "RANK", false),
        (&TORCH[..], "MASTER_ADDR", true),
        (&TORCH[..], "MASTER_PORT", true),
        (&TORCH[..], "TORCHELASTIC_RUN_ID", true),
        (&TORCH[..], "TORCHELASTIC_RESTART_COUNT", true),
    ] {
        let (one, other) = (found(list).2.unwrap(), with(list, name, "3"));
        assert_eq!(one.identity != other.identity, is_another, "{name}");
    }
}

#[test]
fn what_names_no_job_gives_no_meeting() {
    let several_hosts = [&HYDRA[..], &[("MPI_LOCALNRANKS", "2")]].concat();
    for list in [&several_hosts[..], &OPEN_MPI[..3], &SLURM[..4], &HYDRA[..2]] {
        assert_eq!(found(list).2, None, "{list:?}");
    }
}

#[test]
fn the_innermost_starter_is_asked() {
    // mpirun inside a step of srun: the variables of srun are about mpirun's own processes.
    let nested = found(&[&SLURM[..], &OPEN_MPI[..]].concat());
    assert_eq!((nested.0, nested.1, nested.2.unwrap().name.as_str()), (1, 4, "job 2120876033 of mpirun"));
    let pod = [("JOB_COMPLETION_INDEX", "2"), ("LATHIDE_SIZE", "3")];
    assert_eq!(found(&pod), (2, 3, None));
    let run_in_pod = [&pod[..], &[("LATHIDE_RANK", "0"), ("LATHIDE_SIZE", "2")]].concat();
    assert_eq!(found(&run_in_pod), (0, 2, None));
}

#[test]
fn the_first_host_of_a_node_list() {
    for (list, host) in [
        ("a", Some("a")),
        ("a,b", Some("a")),
        ("n[07-12,20]", Some("n07")),
        ("n[7]", Some("n7")),
        ("r[1-2]n[3,4]-x,z", Some("r1n3-x")),
        ("", None),
        (",a", None),
        ("n[1-2", None),
    ] {
        assert_eq!(first_host(list).as_deref(), host, "{list}");
    }
}
