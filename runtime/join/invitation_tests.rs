use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A directory of the test's own, and the place of an invitation in it.
fn place(directory: &std::path::Path) -> Location {
    let opened = openat(CWD, directory, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    Location { directory: opened, path: directory.join("job"), name: "job".into() }
}

fn in_directory(test: impl FnOnce(&std::path::Path)) {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("lathide-invitation-{}-{count}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&directory).unwrap();
    test(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
}

fn invitation(byte: u8) -> Invitation {
    Invitation { key: Some([byte; 32]), roots: vec!["127.0.0.1:7000".into(), "[fd00::1]:7000".into()] }
}

fn refused(place: &Location) -> String {
    place.read().map(|_| ()).unwrap_err()
}

#[test]
fn what_rank_0_leaves_is_read_until_it_goes() {
    in_directory(|directory| {
        assert_eq!(refused(&place(directory)), "it is not there");
        let posted = place(directory).post(&invitation(1)).unwrap();
        assert!(place(directory).read().unwrap() == invitation(1));
        let names: Vec<_> = std::fs::read_dir(directory).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "no draft stays: {names:?}");
        assert_eq!(names[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(posted);
        assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0);
    });
}

#[test]
fn a_later_one_takes_the_place_and_is_not_removed_by_an_earlier_rank_0() {
    in_directory(|directory| {
        let early = place(directory).post(&invitation(1)).unwrap();
        let late = place(directory).post(&invitation(2)).unwrap();
        assert!(place(directory).read().unwrap() == invitation(2));
        drop(early);
        assert!(place(directory).read().unwrap() == invitation(2));
        drop(late);
        assert_eq!(refused(&place(directory)), "it is not there");
    });
}

#[test]
fn what_others_could_have_written_or_read_is_refused_and_replaced() {
    in_directory(|directory| {
        let (job, elsewhere) = (directory.join("job"), directory.join("elsewhere"));
        let text = serde_json::to_vec(&invitation(3)).unwrap();
        std::fs::write(&elsewhere, &text).unwrap();
        symlink(&elsewhere, &job).unwrap();
        assert!(refused(&place(directory)).contains("symbolic link"));
        std::fs::remove_file(&job).unwrap();
        std::fs::write(&job, &text).unwrap();
        std::fs::set_permissions(&job, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(refused(&place(directory)).contains("mode 640"));
        std::fs::set_permissions(&job, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(place(directory).read().unwrap() == invitation(3));
        std::fs::write(&job, &text[..text.len() / 2]).unwrap();
        assert!(refused(&place(directory)).contains("no invitation"), "half of one");
        std::fs::remove_file(&job).unwrap();
        rustix::fs::mknodat(CWD, &job, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(refused(&place(directory)).contains("no file"), "a pipe does not hold the reader up");
        let posted = place(directory).post(&invitation(4)).unwrap();
        assert!(place(directory).read().unwrap() == invitation(4));
        drop(posted);
        assert_eq!(std::fs::read(&elsewhere).unwrap(), text, "what the link named is untouched");
    });
}

#[test]
fn only_old_ones_are_swept_away() {
    in_directory(|directory| {
        let now = SystemTime::now();
        for (name, age) in [("young", OLD / 2), ("old", OLD * 2), (".draft", OLD * 2)] {
            let file = File::create(directory.join(name)).unwrap();
            file.set_modified(now - age).unwrap();
        }
        drop(place(directory).post(&invitation(5)).unwrap());
        let names: Vec<_> = std::fs::read_dir(directory).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["young"]);
    });
}

#[test]
fn names_differ_as_jobs_do() {
    let named = |parts: &[&str]| name(&Identity::Named(parts.iter().map(|part| part.to_string()).collect())).unwrap();
    assert_eq!(named(&["srun", "1", "23"]), named(&["srun", "1", "23"]));
    assert_ne!(named(&["srun", "1", "23"]), named(&["srun", "12", "3"]));
    // Nobody has this variable, so it is the parent that started this process.
    let parent = starter_process("LATHIDE_NO_SUCH_VARIABLE").unwrap();
    let expected = rustix::process::getppid().unwrap().as_raw_nonzero().get().to_string();
    assert_eq!(parent[2], expected);
    assert_eq!(parent, starter_process("LATHIDE_NO_SUCH_VARIABLE").unwrap());
}
