use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn from(variables: &[(&str, &str)]) -> Result<(Config, Option<KeySource>)> {
    let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string());
    parse(&lookup)
}

fn refused(variables: &[(&str, &str)]) -> (String, String) {
    match from(variables) {
        Err(Error::Misuse(Misuse::Config { name, why, .. })) => (name, why),
        other => panic!("{variables:?} gave {other:?}"),
    }
}

const JOB: [(&str, &str); 4] =
    [("LATHIDE_RANK", "2"), ("LATHIDE_SIZE", "3"), ("LATHIDE_ROOT", "h:7000"), ("LATHIDE_KEY_FD", "5")];

#[test]
fn nothing_set_is_a_job_of_one() {
    let (config, key) = from(&[]).unwrap();
    assert_eq!((config.rank, config.size, config.root, key), (Rank(0), 1, None, None));
    assert_eq!(from(&[("LATHIDE_OVERLAP", "off")]).unwrap().0.overlap, Overlap::Off, "settings apply alone too");
    let (config, _) = from(&[("LATHIDE_RANK", "0"), ("LATHIDE_SIZE", "1")]).unwrap();
    assert_eq!((config.size, config.root), (1, None));
}

#[test]
fn the_contract_of_lathide_run() {
    let (config, key) = from(&JOB).unwrap();
    assert_eq!((config.rank, config.size), (Rank(2), 3));
    assert_eq!(config.root.as_deref(), Some("h:7000"));
    assert_eq!(key, Some(KeySource::Descriptor(5)));
    let settings = [
        ("LATHIDE_OVERLAP", "off"),
        ("LATHIDE_WINDOW", "2MiB"),
        ("LATHIDE_BUDGET", "7MiB"),
        ("LATHIDE_FRAGMENT", "1024"),
        ("LATHIDE_ENVELOPES", "9"),
        ("LATHIDE_LANES", "3"),
        ("LATHIDE_SOCKET_BUFFER", "16KiB"),
        ("LATHIDE_DEADLOCK", "off"),
        ("LATHIDE_KEEPALIVE", "off"),
        ("LATHIDE_RESUME", "90s"),
        ("LATHIDE_JOIN", "0.5"),
        ("LATHIDE_LINGER", "7s"),
        ("LATHIDE_INTERFACE", "!docker0"),
        ("LATHIDE_PORTS", "7000-7063"),
        ("LATHIDE_ADVERTISE", "fd00::7"),
        ("LATHIDE_ENCRYPT", "on"),
        ("LATHIDE_CHECKSUM", "on"),
        ("LATHIDE_CALIBRATE", "off"),
    ];
    let (config, _) = from(&[JOB.as_slice(), &settings].concat()).unwrap();
    assert_eq!((config.overlap, config.encrypt, config.calibrate), (Overlap::Off, true, false));
    assert!(config.checksum);
    assert_eq!((config.window_bytes, config.fragment_bytes, config.envelopes_max), (2 << 20, 1024, 9));
    assert_eq!((config.budget_bytes, config.socket_buffer_bytes), (7 << 20, Some(16 << 10)));
    assert_eq!(config.lanes_max, 3);
    assert_eq!((config.deadlock_timeout, config.keepalive, config.resume), (None, None, Some(Duration::from_secs(90))));
    assert_eq!((config.ports, config.advertise), (Some(7000..=7063), Some("fd00::7".parse().unwrap())));
    assert_eq!(config.interface.map(|interface| interface.to_string()).as_deref(), Some("!docker0"));
    assert_eq!((config.join_timeout, config.linger), (Duration::from_millis(500), Duration::from_secs(7)));
    assert_eq!(from(&[("LATHIDE_DEADLOCK", "2")]).unwrap().0.deadlock_timeout, Some(Duration::from_secs(2)));
}

#[test]
fn what_is_learnt_is_kept_where_the_user_says() {
    let cache = |settings: &[(&str, &str)]| from(&[JOB.as_slice(), settings].concat()).unwrap().0.cache;
    let path = |text: &str| Some(text.into());
    assert_eq!(cache(&[]), None, "there is no home");
    assert_eq!(cache(&[("HOME", "/home/me")]), path("/home/me/.cache/lathide/links.json"));
    let both = [("HOME", "/home/me"), ("XDG_CACHE_HOME", "/cache")];
    assert_eq!(cache(&both), path("/cache/lathide/links.json"));
    assert_eq!(cache(&[both[0], ("LATHIDE_LAB", "/tmp/lab")]), path("/tmp/lab/links.json"), "gone with the lab");
    assert_eq!(cache(&[both[0], ("LATHIDE_CACHE", "/tmp/mine")]), path("/tmp/mine"));
    assert_eq!(cache(&[both[0], ("LATHIDE_CACHE", "off")]), None);
}

/// Where the table's default is a value, it is the one that a configuration begins with.
#[test]
fn the_table_says_the_defaults() {
    let unset = from(&JOB).unwrap().0;
    let mut said = 0;
    for variable in variables::ALL.iter().flat_map(|(_, variables)| *variables) {
        if ["SIZE", "SIZE or default", "TIME or off", "TIME", "on or off", "on, off or sends"].contains(&variable.value)
            || [&variables::ENVELOPES, &variables::LANES].contains(&variable)
        {
            let set = from(&[JOB.as_slice(), &[(variable.name, variable.default)]].concat()).unwrap().0;
            assert_eq!(format!("{set:?}"), format!("{unset:?}"), "{}", variable.name);
            said += 1;
        }
    }
    assert_eq!(said, 17);
}

#[test]
fn sizes_and_times_are_written_as_everywhere() {
    let (config, _) = from(&[
        ("LATHIDE_WINDOW", "0.5m"),
        ("LATHIDE_BUDGET", "8kB"),
        ("LATHIDE_FRAGMENT", "8KiB"),
        ("LATHIDE_JOIN", "1min"),
        ("LATHIDE_LINGER", "25ms"),
        ("LATHIDE_DEADLOCK", "1e1"),
    ])
    .unwrap();
    assert_eq!((config.window_bytes, config.budget_bytes, config.fragment_bytes), (1 << 19, 8000, 8192));
    assert_eq!((config.join_timeout, config.linger), (Duration::from_secs(60), Duration::from_millis(25)));
    assert_eq!(config.deadlock_timeout, Some(Duration::from_secs(10)));
    for (name, value, range) in [
        ("LATHIDE_WINDOW", "0", "a size from 1B to 8388608GiB"),
        ("LATHIDE_FRAGMENT", "65537", "a size from 64B to 64KiB"),
        ("LATHIDE_ENVELOPES", "1048577", "a whole number from 1 to 1048576"),
        ("LATHIDE_LANES", "9", "a whole number from 0 to 8"),
        ("LATHIDE_JOIN", "8785h", "a time from 1ns to 8784h"),
        ("LATHIDE_KEEPALIVE", "never", ", or off"),
        ("LATHIDE_RESUME", "always", ", or off"),
        ("LATHIDE_SOCKET_BUFFER", "0", "a size from 2KiB to 1GiB"),
        ("LATHIDE_SOCKET_BUFFER", "2GiB", ", or default"),
    ] {
        let (_, why) = refused(&[(name, value)]);
        assert!(why.contains(range), "{name}={value}: {why}");
    }
}

#[test]
fn every_bad_value_names_its_variable() {
    for (name, value) in [
        ("LATHIDE_RANK", "3"),
        ("LATHIDE_RANK", "-1"),
        ("LATHIDE_RANK", "two"),
        ("LATHIDE_INTERFACE", "eth 0"),
        ("LATHIDE_PORTS", "7063-7000"),
        ("LATHIDE_PORTS", "0-9"),
        ("LATHIDE_ADVERTISE", "a.b"),
        ("LATHIDE_SIZE", "0"),
        ("LATHIDE_SIZE", "4294967296"),
        ("LATHIDE_ROOT", "host"),
        ("LATHIDE_ROOT", ":80"),
        ("LATHIDE_ROOT", "host:0"),
        ("LATHIDE_ROOT", "host:65536"),
        ("LATHIDE_KEY_FD", "-1"),
        ("LATHIDE_KEY_FD", "9999999999"),
        ("LATHIDE_OVERLAP", "yes"),
        ("LATHIDE_CALIBRATE", "yes"),
        ("LATHIDE_WINDOW", "0"),
        ("LATHIDE_WINDOW", "64 parsecs"),
        ("LATHIDE_BUDGET", "0"),
        ("LATHIDE_WINDOW", "99999999999GiB"),
        ("LATHIDE_FRAGMENT", "0"),
        ("LATHIDE_FRAGMENT", "1000000"),
        ("LATHIDE_ENVELOPES", "0"),
        ("LATHIDE_DEADLOCK", "0"),
        ("LATHIDE_DEADLOCK", "never"),
        ("LATHIDE_KEEPALIVE", "0"),
        ("LATHIDE_ENCRYPT", "yes"),
        ("LATHIDE_CHECKSUM", "crc32c"),
        ("LATHIDE_REPORT", "1"),
        ("LATHIDE_JOIN", "inf"),
        ("LATHIDE_JOIN", "nan"),
        ("LATHIDE_LINGER", "-1"),
    ] {
        let variables: Vec<_> =
            std::iter::once((name, value)).chain(JOB.into_iter().filter(|(n, _)| *n != name)).collect();
        let (named, why) = refused(&variables);
        assert!(named == name && !why.is_empty(), "{name}={value}: {named}: {why}");
    }
    assert_eq!(refused(&JOB[..1]).0, "LATHIDE_RANK");
    assert_eq!(refused(&JOB[1..2]).0, "LATHIDE_SIZE");
}

#[test]
fn several_ranks_without_a_way_to_join_are_never_a_job_of_one() {
    assert!(refused(&JOB[..2]).1.contains("LATHIDE_ROOT"));
    assert!(refused(&JOB[..3]).1.contains("LATHIDE_KEY_FILE"));
    for (rank, size) in [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ] {
        // Nothing names the job, so no invitation can be found either.
        let (name, why) = refused(&[(rank, "0"), (size, "4")]);
        assert!(name == size && why.contains("LATHIDE_ROOT"), "{name}: {why}");
        let joinable = [(rank, "1"), (size, "4"), ("LATHIDE_ROOT", "h:1"), ("LATHIDE_KEY_FILE", "/k")];
        let (config, key) = from(&joinable).unwrap();
        assert_eq!((config.rank, config.size, key), (Rank(1), 4, Some(KeySource::File("/k".into()))));
        let one = [(rank, "0"), (size, "1")];
        assert_eq!(from(&one).unwrap().0.size, 1);
        let own = [(rank, "0"), (size, "4"), ("LATHIDE_RANK", "0"), ("LATHIDE_SIZE", "1")];
        assert_eq!(from(&own).unwrap().0.size, 1, "the way out that the error names");
    }
}

#[test]
fn torchrun_and_srun_name_the_rendezvous() {
    let torch = [
        ("RANK", "1"),
        ("WORLD_SIZE", "2"),
        ("MASTER_ADDR", "10.0.0.1"),
        ("MASTER_PORT", "29500"),
        ("LATHIDE_KEY_FILE", "/k"),
    ];
    assert_eq!(from(&torch).unwrap().0.root.as_deref(), Some("10.0.0.1:29500"));
    let agent = [&torch[..], &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat();
    let (config, _) = from(&agent).unwrap();
    assert!(config.root.is_none() && config.discovery.unwrap().has_key, "torchrun itself has that port");
    let (config, key) = from(&torch[..4]).unwrap();
    assert!(config.root.is_none() && key.is_none() && !config.discovery.unwrap().has_key, "rank 0 makes the key");
    assert_eq!(from(&torch[..2]).unwrap().0.size, 1, "RANK and WORLD_SIZE alone are nobody's");

    let slurm = [
        ("SLURM_PROCID", "3"),
        ("SLURM_STEP_NUM_TASKS", "8"),
        ("SLURM_STEP_NODELIST", "gpu[07-09,12]"),
        ("SLURM_JOB_ID", "1234"),
        ("SLURM_STEP_ID", "1"),
        ("LATHIDE_KEY_FILE", "/k"),
    ];
    let root = from(&slurm).unwrap().0.root.unwrap();
    assert!(root.starts_with("gpu07:2"), "{root}");
    // mpirun inside a Slurm step: srun started the daemons, mpirun the ranks.
    let nested = [&slurm[..], &[("PMI_RANK", "5"), ("PMI_SIZE", "6"), ("LATHIDE_ROOT", "h:1")]].concat();
    assert_eq!((from(&nested).unwrap().0.rank, from(&nested).unwrap().0.size), (Rank(5), 6));
}

#[test]
fn a_key_file_must_be_private_and_complete() {
    let directory = std::env::temp_dir().join(format!("lathide-key-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("key");
    let write = |bytes: &[u8], mode: u32| {
        let _ = std::fs::remove_file(&path);
        File::create(&path).unwrap().write_all(bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        read_key(&KeySource::File(path.clone()))
    };
    let key = b"a key that only these tests know";
    assert_eq!(write(key, 0o600).unwrap(), Key::from_bytes(*key));
    for (bytes, mode, expected) in [
        (&key[..], 0o640, "chmod 600"),
        (&key[1..], 0o600, "31"),
        (&[9; 33][..], 0o600, "exactly 32"),
        (&[9; 32][..], 0o600, "all bytes of the key are equal"),
        (&[0; 32][..], 0o600, "all bytes of the key are equal"),
    ] {
        let error = write(bytes, mode).unwrap_err().to_string();
        assert!(error.contains("LATHIDE_KEY_FILE") && error.contains(expected), "{error}");
        assert!(!error.contains("\\t"), "the key's bytes are not shown");
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(read_key(&KeySource::File(path)).unwrap_err().to_string().contains("No such file"));
    assert!(read_key(&KeySource::Descriptor(999_999)).unwrap_err().to_string().contains("LATHIDE_KEY_FD"));
}
