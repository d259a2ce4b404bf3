//! Assertions, one type per call (MPI-2.2 §11.4.4): a wrong one for the call does not compile.
//!
//! `docs/assertions.md` lists what each saves here.

use std::ops::BitOr;

/// Defines a set of assertion flags with its constants and their union.
macro_rules! flags {
    ($(#[$doc:meta])* $name:ident { $($(#[$flag_doc:meta])* $flag:ident = $bit:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(u8);

        impl $name {
            /// No assertion: always valid.
            pub const NONE: $name = $name(0);
            $($(#[$flag_doc])* pub const $flag: $name = $name($bit);)*

            /// Whether all of `other` is asserted.
            pub const fn has(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }
        }

        impl BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }
        }
    };
}

flags!(
    /// Assertions of `fence`.
    FenceAssert {
        /// `MPI_MODE_NOSTORE`: the local window was not stored to since the last synchronisation.
        NOSTORE = 1;
        /// `MPI_MODE_NOPUT`: the local window is not the target of put or accumulate until the
        /// next fence.
        NOPUT = 2;
        /// `MPI_MODE_NOPRECEDE`: no operation of this rank since the last fence. On all ranks or
        /// on none.
        NOPRECEDE = 4;
        /// `MPI_MODE_NOSUCCEED`: no operation of this rank until the next fence. On all ranks or
        /// on none.
        NOSUCCEED = 8;
    }
);

flags!(
    /// Assertions of `post`.
    PostAssert {
        /// `MPI_MODE_NOCHECK`: no origin has called `start` yet; each will assert NOCHECK too.
        NOCHECK = 1;
        /// `MPI_MODE_NOSTORE`: as for fence.
        NOSTORE = 2;
        /// `MPI_MODE_NOPUT`: the window is not the target of put or accumulate until `wait`.
        NOPUT = 4;
    }
);

/// Assertions of `start`. The one for `MPI_MODE_NOCHECK` is made in `epoch/local.rs`, whose slices rely on it.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let other = world.group().incl(&[1 - world.rank().0])?;
/// let (mut access, mut exposure) = window.sides();
/// let exposed = exposure.post_with(&other, PostAssert::NOCHECK)?;
/// world.barrier()?;
/// // SAFETY: the other rank has posted with NOCHECK before the barrier.
/// let epoch = access.start_with(&other, unsafe { StartAssert::nocheck() })?;
/// epoch.put(&[7], Rank(1 - world.rank().0), 0)?;
/// epoch.complete()?;
/// exposed.wait()?;
/// assert_eq!(window.load_one(0)?, 7);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartAssert {
    pub(crate) nocheck: bool,
}

/// Assertions of `lock` and `lock_all`, likewise.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let mut window = Window::<u32>::allocate(world, 2)?;
/// let mine = [world.rank().0];
/// // SAFETY: all locks of this window are those of lock_all, which are shared.
/// let epoch = window.lock_all_with(unsafe { LockAssert::nocheck() })?;
/// epoch.put(&mine, Rank(0), mine[0] as usize)?;
/// epoch.unlock_all()?;
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockAssert {
    pub(crate) nocheck: bool,
}

impl StartAssert {
    /// No assertion: always valid.
    pub const NONE: StartAssert = StartAssert { nocheck: false };

    /// Whether NOCHECK is asserted.
    pub const fn is_nocheck(self) -> bool {
        self.nocheck
    }
}

impl LockAssert {
    /// No assertion: always valid.
    pub const NONE: LockAssert = LockAssert { nocheck: false };

    /// Whether NOCHECK is asserted.
    pub const fn is_nocheck(self) -> bool {
        self.nocheck
    }
}
