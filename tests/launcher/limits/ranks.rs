//! What the ranks do, and how jobs are started.

use crate::support::{Outcome, run, test_of};
use onesided::engine::ExposedBytes;
use onesided::{ErrorClass, FenceAssert, LockType, Op, Rank, Universe, WindowOptions, launch};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// Bytes of the windows that are too large, of each rank.
const BYTES: &str = "ONESIDED_TEST_BYTES";

/// The file that takes the numbers of all descriptors which a rank closes.
const TAKER: &str = "ONESIDED_TEST_TAKER";

/// The launcher and its arguments, up to the program.
pub fn rmarun(ranks: u32, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", &ranks.to_string(), "--require-join"]).args(options);
    command.env("RUST_BACKTRACE", "0");
    command
}

/// One of the programs below, behind the arguments that are there.
pub fn program<'c>(command: &'c mut Command, name: &str) -> &'c mut Command {
    command.arg("--").arg(std::env::current_exe().expect("the test's own path"));
    let test = test_of(module_path!(), name);
    command.args(["--exact", &test, "--ignored", "--nocapture", "--test-threads=1"])
}

/// Ends with success.
#[track_caller]
pub fn succeeds(command: &mut Command) -> Outcome {
    let outcome = run(command, "a job within limits");
    assert!(outcome.status.success(), "{}: {}", outcome.status, outcome.output);
    outcome
}

/// Ends with an error that names it, without a signal.
#[track_caller]
pub fn fails(command: &mut Command, words: &[&str]) -> Outcome {
    let outcome = run(command, "a job beyond its limits");
    assert!(
        outcome.status.code().is_some_and(|code| code != 0 && code < 126),
        "{}",
        outcome.output
    );
    for word in words {
        assert!(outcome.output.contains(word), "no '{word}' in: {}", outcome.output);
    }
    outcome
}

/// More elements than are updated one by one.
static MANY: [f64; 5000] = [1.5; 5000];

/// Meets, synchronises in every way, and leaves.
#[test]
#[ignore = "a program"]
fn synchronise() {
    let Some(universe) = job() else { return };
    let world = universe.world();
    let (me, next) = (world.rank().0, Rank((world.rank().0 + 1) % world.size()));
    let win = WindowOptions::new().allocate_bytes(world, 64 + 8 * MANY.len() as u64, 8);
    let win = win.expect("a small window");
    win.fence().expect("a fence");
    win.put(&[u64::from(me)], next, 0).expect("a put");
    win.fence_with(FenceAssert::NOSUCCEED).expect("a fence");
    win.lock(LockType::Exclusive, next).expect("a lock");
    win.accumulate(&[1.5f64, 2.5], Op::Sum, next, 1).expect("an accumulate");
    // Many elements: a vectorised loop, where the barriers of all ranks are not denied.
    win.accumulate(&MANY, Op::Sum, next, 8).expect("an accumulate of many");
    win.unlock(next).expect("an unlock");
    world.barrier().expect("a barrier");
    let mut found = [0u64];
    win.load(0, &mut found).expect("a load");
    assert_eq!(found, [u64::from((me + world.size() - 1) % world.size())]);
    let mut many = vec![0.0; MANY.len()];
    win.load(8, &mut many).expect("a load");
    assert_eq!(many, MANY);
    win.free().expect("free");
}

/// Asks for windows that are too large, gets the same error on every rank, and goes on with one
/// that is not, every byte of which it touches.
#[test]
#[ignore = "a program"]
fn ask_for_too_much() {
    let Some(universe) = job() else { return };
    let world = universe.world();
    let bytes = std::env::var(BYTES).expect("how many").parse().expect("a number");
    let allocate = |bytes| WindowOptions::new().allocate_bytes(world, bytes, 1);
    for _ in 0..3 {
        let refused = allocate(bytes).expect_err("more than there is");
        assert_eq!(refused.class(), ErrorClass::NoMem, "{refused}");
        let classes = world.allgather(&[refused.class() as u32]).expect("all have an error");
        assert!(classes.iter().all(|class| *class == ErrorClass::NoMem as u32));
    }
    let small = 1 << 20;
    let win = allocate(small).expect("a window that fits");
    win.store(0, &vec![7u8; small as usize]).expect("its bytes are there");
    win.free().expect("free");
    println!("\nrank {} goes on", world.rank().0);
}

/// A window over private memory, by which each rank writes to the next.
#[test]
#[ignore = "a program"]
fn reach_private_memory() {
    let Some(universe) = job() else { return };
    let world = universe.world();
    let mut memory = vec![0u64; 4];
    let start = memory.as_mut_ptr().cast();
    // SAFETY: the memory outlives the window.
    match unsafe { WindowOptions::new().create_bytes(world, ExposedBytes::new(start, 32), 8) } {
        Ok(win) => win.free().expect("free"),
        Err(error) => {
            assert_eq!(error.class(), ErrorClass::RmaShared, "{error}");
            let classes = world.allgather(&[error.class() as u32]).expect("all have the error");
            assert!(classes.iter().all(|class| *class == ErrorClass::RmaShared as u32));
            println!("\nrank {} is refused: {error}", world.rank().0);
        }
    }
    world.barrier().expect("a barrier");
}

/// Takes memory of the segment, uses it, and gives it back.
#[test]
#[ignore = "a program"]
fn take_and_give_back() {
    const BYTES: u64 = 4 << 20;
    let Some(universe) = job() else { return };
    let world = universe.world();
    let all = BYTES * u64::from(world.size());
    let before = occupied();
    world.barrier().expect("a barrier");
    for _ in 0..3 {
        let options = WindowOptions::new().reserve();
        let win = options.allocate_bytes(world, BYTES, 1).expect("a window");
        assert!(occupied() >= before + all, "{} bytes, before {before}", occupied());
        win.store(0, &vec![7u8; BYTES as usize]).expect("its bytes are there");
        win.free().expect("free");
        world.barrier().expect("a barrier");
        assert!(occupied() < before + BYTES, "{} bytes, before {before}", occupied());
        world.barrier().expect("a barrier");
    }
}

/// As above, as a job of its own.
#[test]
#[ignore = "a program"]
fn alone() {
    let universe = joined();
    for _ in 0..3 {
        let win = WindowOptions::new().allocate_bytes(universe.world(), 8 << 20, 1);
        let win = win.expect("a window");
        win.store(0, &vec![7u8; 8 << 20]).expect("its bytes are there");
        win.free().expect("free");
    }
}

/// Bytes that the segment occupies: by the launcher's descriptors, since the own ones may be closed.
fn occupied() -> u64 {
    let folder = format!("/proc/{}/fd", std::os::unix::process::parent_id());
    let entries = std::fs::read_dir(folder).expect("a list").flatten();
    let is_ours = |path: &Path| {
        let target = std::fs::read_link(path).unwrap_or_default().to_string_lossy().into_owned();
        target.contains("onesided") || target.starts_with("/dev/shm/#")
    };
    let ours = entries.filter(|entry| is_ours(&entry.path()));
    let files = ours.filter_map(|entry| std::fs::metadata(entry.path()).ok());
    files.max_by_key(|file| file.len()).expect("the launcher has the segment").blocks() * 512
}

fn job() -> Option<Universe> {
    std::env::var_os(launch::ENV_RANK).map(|_| joined())
}

fn joined() -> Universe {
    let universe = Universe::init().expect("a rank joins its job");
    if let Some(taker) = std::env::var_os(TAKER) {
        close_all(Path::new(&taker));
    }
    universe
}

/// As a daemon does, or a program that has another one before its `exec`: closes what it has not opened.
/// Then it opens a file, over and over, until that has all the numbers which the library may have had.
fn close_all(taker: &Path) {
    // SAFETY: the harness has no descriptor of its own here, and the library has to bear it.
    assert_eq!(unsafe { nix::libc::close_range(3, u32::MAX, 0) }, 0);
    let open = || std::fs::OpenOptions::new().read(true).write(true).open(taker);
    while open().expect("the file").into_raw_fd() < 100 {}
}

/// Has the ranks close their descriptors, and `taker` take the numbers.
pub fn closes_all<'c>(command: &'c mut Command, taker: &Path) -> &'c mut Command {
    command.env(TAKER, taker)
}

/// A job that asks for windows of `bytes` for each rank.
pub fn asks_for(command: &mut Command, bytes: u64) -> &mut Command {
    program(command.env(BYTES, bytes.to_string()), "ask_for_too_much")
}
