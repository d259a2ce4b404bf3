//! Makes a wrong call and looks at everything around it.

use super::row::{InJob, LEN, State, UNIT};
use onesided::engine::Win;
use onesided::{
    Comm, Error, ErrorClass, FenceAssert, Group, LockType, Rank, Result, WindowOptions,
};

/// Both ranks with a window between them.
pub struct Scene<'a> {
    pub comm: &'a Comm,
    pub win: &'a Win,
    pub me: Rank,
    pub other: Rank,
}

/// A wrong call on a window.
pub struct OnWindow {
    pub state: State,
    pub class: ErrorClass,
    /// What the sentence names beside the window and the own rank.
    pub expected: &'static [&'static str],
    pub call: fn(&Scene<'_>) -> Result<()>,
}

impl Scene<'_> {
    /// The group of these ranks of the window.
    pub fn group(&self, ranks: &[u32]) -> Group {
        self.win.group().incl(ranks).expect("ranks of the window")
    }
}

impl State {
    fn open(self, scene: &Scene<'_>) -> Result<()> {
        let (win, other) = (scene.win, scene.other);
        match self {
            State::Idle => Ok(()),
            State::Fence => win.fence(),
            State::FenceUsed => {
                win.fence()?;
                win.put(&[number(other.0, 0)], other, 0)
            }
            State::Started => {
                win.post(&scene.group(&[other.0]))?;
                win.start(&scene.group(&[other.0]))
            }
            State::Exposed => win.post(&scene.group(&[])),
            State::Locked => win.lock(LockType::Shared, other),
            State::OwnLocked => win.lock(LockType::Exclusive, scene.me),
            State::LockedAll => win.lock_all(),
        }
    }

    fn close(self, scene: &Scene<'_>) -> Result<()> {
        let win = scene.win;
        match self {
            State::Idle => Ok(()),
            State::Fence | State::FenceUsed => win.fence_with(FenceAssert::NOSUCCEED),
            State::Started => win.complete().and_then(|()| win.wait()),
            State::Exposed => win.wait(),
            State::Locked => win.unlock(scene.other),
            State::OwnLocked => win.unlock(scene.me),
            State::LockedAll => win.unlock_all(),
        }
    }
}

/// What stands at `at` of the part of `rank` before the wrong call, and after it.
fn number(rank: u32, at: u64) -> u64 {
    1000 * u64::from(rank + 1) + at
}

fn check(world: &Comm, wrong: &str, error: &Error, class: ErrorClass, expected: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.class(), class, "{wrong}: {text}");
    assert!(!text.contains('\n'), "{wrong}: more than one sentence: {text}");
    assert!(format!("{error:?}").starts_with(&text), "{wrong}: Debug is for people, too");
    let (me, other) = (world.rank().0.to_string(), (1 - world.rank().0).to_string());
    for word in expected {
        let word = word.replace("{me}", &me).replace("{other}", &other);
        assert!(text.contains(&word), "{wrong}: no '{word}' in: {text}");
    }
}

/// Whether windows, locks and collectives work as if nothing had been wrong.
fn goes_on(scene: &Scene<'_>) {
    let Scene { comm, win, me, other } = *scene;
    let sum = comm.allreduce(&[u64::from(me.0)], onesided::Op::Sum).expect("a collective");
    assert_eq!(sum, [1]);
    win.lock(LockType::Exclusive, other).expect("a lock");
    win.put(&[number(me.0, 99)], other, LEN - 1).expect("a put");
    win.unlock(other).expect("an unlock");
    comm.barrier().expect("a barrier");
    let mut found = [0];
    win.load(LEN - 1, &mut found).expect("a load");
    assert_eq!(found, [number(other.0, 99)]);
    win.fence().expect("a fence");
    win.fence_with(FenceAssert::NOSUCCEED).expect("a second fence");
}

/// Makes a wrong call on a window, in its state.
pub fn on_window(world: &Comm, wrong: &str, row: &OnWindow) {
    let options = WindowOptions::new().name("misuse").notifications(2);
    let win = options.allocate_bytes(world, UNIT * LEN, UNIT).expect("a window");
    let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    let scene = Scene { comm: world, win: &win, me, other };
    let before: Vec<u64> = (0..LEN).map(|at| number(me.0, at)).collect();
    win.store(0, &before).expect("a store");
    world.barrier().expect("a barrier");
    row.state.open(&scene).unwrap_or_else(|error| panic!("{wrong}: {:?}: {error}", row.state));
    // Both are in the state, and stay in it until both have made the wrong call.
    world.barrier().expect("a barrier");
    let error = (row.call)(&scene).err().unwrap_or_else(|| panic!("{wrong}: not refused"));
    world.barrier().expect("a barrier");
    check(world, wrong, &error, row.class, &["on window 'misuse'", "by rank {me}"]);
    check(world, wrong, &error, row.class, row.expected);
    row.state.close(&scene).unwrap_or_else(|error| panic!("{wrong}: then {error}"));
    let mut after = [0u64; LEN as usize];
    win.load(0, &mut after).expect("a load");
    assert_eq!(after[..], before, "{wrong}: the window has changed");
    world.barrier().expect("a barrier");
    goes_on(&scene);
    win.free().expect("the window can be freed");
}

/// Makes a wrong call beside a window, which must not mind.
pub fn in_job(world: &Comm, wrong: &str, row: &InJob) {
    let win = WindowOptions::new().allocate_bytes(world, UNIT * LEN, UNIT).expect("a window");
    let error = (row.call)(world).err().unwrap_or_else(|| panic!("{wrong}: not refused"));
    check(world, wrong, &error, row.class, row.expected);
    let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    goes_on(&Scene { comm: world, win: &win, me, other });
    win.free().expect("the window can be freed");
}
