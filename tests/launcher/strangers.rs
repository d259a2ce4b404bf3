//! Another user of the machine: can neither open what a job shares, nor join it, nor take its
//! segment's name first. The job is one user's and the attack another's, so this needs root; where
//! the test is not root's, it prints that.
#![allow(clippy::disallowed_methods, reason = "reads the variables that tell attack from test")]

use crate::support;
use onesided::Universe;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const OWNER: u32 = 54_001;
const STRANGER: u32 = 54_002;
/// What the attack is to be tried on: the ranks' process number.
const VICTIM: &str = "ONESIDED_TEST_VICTIM";

/// Copies of the launcher and of this program where every user can read them.
struct Programs(PathBuf);

impl Programs {
    /// `None` where the test cannot become two users.
    fn new(name: &str) -> Option<Programs> {
        if !nix::unistd::geteuid().is_root() {
            println!("not tested: only root can become two other users");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("onesided-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let own = std::env::current_exe().expect("the test's own path");
        let launcher = Path::new(env!("CARGO_BIN_EXE_rmarun"));
        for (from, to) in [(launcher, "rmarun"), (&own, "attack")] {
            // By another process: what another test starts meanwhile would keep a copy of this one's
            // open for writing, and such a file cannot be executed.
            let copied = Command::new("cp").arg(from).arg(folder.join(to)).status();
            assert!(copied.expect("cp").success());
        }
        for path in [folder.clone(), folder.join("rmarun"), folder.join("attack")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
        }
        Some(Programs(folder))
    }

    fn run_as(&self, user: u32, program: &str) -> Command {
        let mut command = Command::new(self.0.join(program));
        command.uid(user).gid(user).current_dir("/").stdin(Stdio::null());
        command
    }

    /// A job of the owner whose ranks stay, and the first rank's process number.
    fn job(&self, options: &[&str]) -> Job {
        let mut command = self.run_as(OWNER, "rmarun");
        command.args(["-n", "2"]).args(options).args(["sh", "-c", "sleep 1000 & echo $$; wait"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("rmarun starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line of a rank");
        Job { child, _output: output, rank: line.trim().parse().expect("a process number") }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Job {
    child: Child,
    _output: BufReader<ChildStdout>,
    rank: u32,
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The attack: another user's process, on a rank whose number it has found out.
#[test]
#[ignore = "a program"]
fn attack() {
    let Ok(victim) = std::env::var(VICTIM) else { return };
    let folder = format!("/proc/{victim}/fd");
    println!("\nlist: {:?}", fs::read_dir(&folder).map(|_| ()).map_err(|error| error.kind()));
    for number in 0..16 {
        let open = fs::OpenOptions::new().read(true).open(format!("{folder}/{number}"));
        assert!(open.is_err(), "descriptor {number} of the rank can be opened");
    }
    for file in ["mem", "maps", "environ"] {
        let read = fs::File::open(format!("/proc/{victim}/{file}"));
        assert!(read.is_err(), "/proc/{victim}/{file} can be opened");
    }
    for entry in fs::read_dir("/dev/shm").expect("/dev/shm can be listed").flatten() {
        if entry.metadata().is_ok_and(|file| file.uid() == 54_001) {
            let path = entry.path();
            for write in [false, true] {
                let open = fs::OpenOptions::new().read(!write).write(write).open(&path);
                assert!(open.is_err(), "{} can be opened", path.display());
            }
            assert!(fs::remove_file(&path).is_err(), "{} can be removed", path.display());
            println!("\nfound {}", path.display());
        }
    }
    // With all of the rank's environment, which a friend may have passed on.
    match Universe::init() {
        Ok(_) => panic!("joined another user's job"),
        Err(error) => println!("\nrefused: {error}"),
    }
    println!("\nwithout success");
}

/// The program that has its owner's rights, whichever user starts it.
#[test]
#[ignore = "a program"]
fn privileged() {
    let (user, owner) = (nix::unistd::getuid().as_raw(), nix::unistd::geteuid().as_raw());
    println!("\nof {owner} for {user}");
    match Universe::init() {
        Ok(universe) => println!("\njoined {}", universe.world().size()),
        Err(error) => println!("\nrefused: {error}"),
    }
}

#[test]
fn a_program_with_more_rights_reads_no_variable() {
    let Some(programs) = Programs::new("privileged") else { return };
    let program = programs.0.join("attack");
    nix::unistd::chown(&program, Some(OWNER.into()), None).expect("its owner");
    let nowhere = ["ONESIDED_RANK", "ONESIDED_RANKS", "ONESIDED_SEGMENT_FD", "ONESIDED_NOTICE_FD"];
    let nowhere = nowhere.map(|name| (name, "7"));
    let library = [("PMI_RANK", "0"), ("ONESIDED_MPI", "/of/the/stranger.so")];
    let size = [("ONESIDED_SEGMENT_SIZE", "1")];
    for variables in [&nowhere[..], &library, &size] {
        for mode in [0o755, 0o4755] {
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).expect("its mode");
            let mut command = programs.run_as(STRANGER, "attack");
            command.args(["--exact", "strangers::privileged", "--ignored", "--nocapture"]);
            command.arg("--test-threads=1").env("RUST_BACKTRACE", "0");
            command.envs(variables.iter().copied());
            let outcome = support::run(&mut command, "a program with more rights");
            let is_mounted_so = outcome.output.contains(&format!("of {OWNER} for {STRANGER}"));
            if mode == 0o4755 && !is_mounted_so {
                println!("not tested: the folder's file system gives no rights");
                return;
            }
            let answer = if mode == 0o4755 { "joined 1" } else { "refused: " };
            assert!(outcome.output.contains(answer), "{mode:o}: {}", outcome.output);
        }
    }
}

#[test]
fn another_user_opens_nothing() {
    let Some(programs) = Programs::new("strangers") else { return };
    let name = format!("onesided-strangers-{}", std::process::id());
    for segment in ["memfd", "posix", &name] {
        let job = programs.job(&[&format!("--segment={segment}"), "--segment-size=4M"]);
        let mut attack = programs.run_as(STRANGER, "attack");
        attack.args([
            "--exact",
            "strangers::attack",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        let environ = fs::read(format!("/proc/{}/environ", job.rank)).expect("root may");
        let variables = String::from_utf8(environ).expect("text");
        let ours = variables.split('\0').filter_map(|variable| variable.split_once('='));
        let ours: Vec<_> = ours.filter(|(name, _)| name.starts_with("ONESIDED_")).collect();
        assert!(ours.iter().any(|(name, _)| *name == onesided::launch::ENV_RANK), "{ours:?}");
        attack.envs(ours);
        attack.env(VICTIM, job.rank.to_string()).env("RUST_BACKTRACE", "0");
        let outcome = support::run(&mut attack, "the attack");
        assert!(outcome.status.success(), "{segment}: {}", outcome.output);
        for words in ["list: Err(PermissionDenied)", "refused: ", "without success"] {
            assert!(outcome.output.contains(words), "{segment}: {}", outcome.output);
        }
        // The name of a named segment is there to be found, and of no other kind.
        let found = outcome.output.contains(&format!("found /dev/shm/{name}"));
        assert_eq!(found, segment == name, "{}", outcome.output);
    }
}

#[test]
fn a_name_that_another_user_has_taken_is_not_used() {
    let Some(programs) = Programs::new("squatters") else { return };
    let name = format!("onesided-squatters-{}", std::process::id());
    let path = Path::new("/dev/shm").join(&name);
    let mine = std::env::temp_dir().join(format!("{name}-mine"));
    let takings: [fn(&Path, &Path); 3] = [
        |path, _| fs::write(path, "mine").expect("a file"),
        |path, mine| symlink(mine, path).expect("a link to a file"),
        |path, _| symlink("/nowhere/at/all", path).expect("a link to nothing"),
    ];
    for take in takings {
        fs::write(&mine, "mine").expect("a file of the stranger");
        take(&path, &mine);
        for taken in [&path, &mine] {
            // Of what is behind a link, the link itself.
            std::os::unix::fs::lchown(taken, Some(STRANGER), Some(STRANGER)).expect("root may");
            if !taken.is_symlink() {
                fs::set_permissions(taken, fs::Permissions::from_mode(0o666)).expect("a mode");
            }
        }
        let mut command = programs.run_as(OWNER, "rmarun");
        command.args(["-n", "2", &format!("--segment={name}"), "echo", "started"]);
        let outcome = support::run(&mut command, "a job whose name is taken");
        assert_eq!(outcome.status.code(), Some(125), "{}", outcome.output);
        assert!(outcome.output.contains("exists already"), "{}", outcome.output);
        assert!(!outcome.output.contains("started"), "{}", outcome.output);
        assert_eq!(fs::read_to_string(&mine).expect("it is there"), "mine");
        assert!(path.symlink_metadata().is_ok(), "what is another's stays");
        fs::remove_file(&path).expect("root may");
    }
    fs::remove_file(&mine).expect("it is there");
}
