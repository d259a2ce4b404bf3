//! The notice of a job: which of its ranks have failed, and whether the others continue.
//!
//! A file of its own, of one page. Where the kernel offers that, only the launcher can write it, so no
//! rank can forge a failure or hide one.

use super::os::{self, File};
use super::segment::Mapping;
use crate::error::{Error, Result};
use crate::prim::{FailedWord, Failure, Site, Word32, Word64, mem_sync};
use crate::sync::MAX_RANKS;
use std::sync::Arc;

const WORDS: usize = MAX_RANKS.div_ceil(64) as usize;

/// The words of the notice.
#[repr(C)]
pub(crate) struct Notice {
    /// The job's nonce, which distinguishes the notice from any other file of one page.
    nonce: Word64,
    /// Set after the first failure is recorded below. Its alarm rings at each change of the notice.
    failed: FailedWord,
    /// When the launcher has begun, as the kernel counts it.
    began: Word64,
    /// 1 while the job goes on without the ranks that have failed.
    continues: Word32,
    /// One bit for each failed rank, and for every number that is no rank: so no rank waits for one
    /// that only a damaged word names.
    dead: [Word64; WORDS],
}

/// The notice of a job, mapped into this process.
pub(crate) struct NoticeBoard {
    mapping: Mapping,
    file: File,
}

impl NoticeBoard {
    /// Creates the notice of a job of `ranks` ranks. Only this process can write it, where the kernel
    /// offers that.
    pub(crate) fn create(
        kind: &os::FileKind,
        nonce: u64,
        ranks: u32,
        continues: bool,
        began: u64,
    ) -> Result<NoticeBoard> {
        let page = os::page_size();
        let kind =
            if *kind == os::FileKind::Memfd { os::FileKind::Memfd } else { os::FileKind::Posix };
        let file = File::create(&kind, page)?;
        file.reserve(0, page).map_err(|errno| Error::system("reserving the notice", errno))?;
        let mapping = Mapping::of(&file, page, true)?;
        let notice = mapping.view::<Notice>(0)?;
        notice.nonce.store(nonce);
        notice.began.store(began);
        notice.continues.store(continues.into());
        for (word, first) in notice.dead.iter().zip((0..).step_by(64)) {
            let ours = ranks.saturating_sub(first);
            word.store(u64::MAX.checked_shl(ours).unwrap_or(0));
        }
        file.seal_future_writes()?;
        Ok(NoticeBoard { mapping, file: file.reopen_read_only()? })
    }

    /// Maps an existing notice, read-only.
    pub(crate) fn attach(file: File, nonce: u64) -> Result<NoticeBoard> {
        let page = os::page_size();
        let not_ours = || Error::NotInJob { what: "the descriptor is not the job's notice".into() };
        if file.len()? != page {
            return Err(not_ours());
        }
        let mapping = Mapping::of(&file, page, false)?;
        if mapping.view::<Notice>(0)?.nonce.load() != nonce {
            return Err(not_ours());
        }
        Ok(NoticeBoard { mapping, file })
    }

    /// The read-only descriptor to pass on.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    #[inline]
    fn notice(&self) -> &Notice {
        self.mapping.view(0).expect("the notice is one page long")
    }

    /// When the launcher has begun, as the kernel counts it (proc(5), starttime).
    pub(crate) fn began(&self) -> u64 {
        self.notice().began.load()
    }

    /// The launcher: records that a rank has failed, which ends the waits for it. The first failed
    /// rank stays the first.
    pub(crate) fn fail(&self, rank: u32) {
        let notice = self.notice();
        // Publishes what the rank had written, which this process observes with the rank's end; pairs
        // with the grant in `sync/robust.rs`. Fails without it: models/robust.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync(Site::NoticePre);
        let dead = &notice.dead[(rank / 64) as usize];
        dead.store(dead.load() | 1 << (rank % 64));
        notice.failed.set(rank + 1);
    }

    /// The launcher: the job ends.
    pub(crate) fn end(&self) {
        let notice = self.notice();
        notice.continues.store(0);
        notice.failed.sound();
    }

    /// Whether the job continues without failed ranks.
    pub(crate) fn continues(&self) -> bool {
        self.notice().continues.load() != 0
    }

    /// Whether that rank of the job has failed; true for a rank that does not exist.
    fn has_failed(&self, rank: u32) -> bool {
        let word = self.notice().dead.get((rank / 64) as usize);
        word.is_none_or(|word| word.load() & 1 << (rank % 64) != 0)
    }

    /// The first rank that failed, if one has.
    pub(crate) fn first_failed(&self) -> Option<u32> {
        self.notice().failed.cause().checked_sub(1)
    }
}

/// The ranks whose failure ends a wait: in a job that continues after a failure, those of the
/// communicator or window; in any other, all.
#[derive(Clone)]
pub(crate) struct Scope {
    board: Arc<NoticeBoard>,
    /// One bit for each rank.
    members: [u64; WORDS],
}

impl Scope {
    /// The scope of waits that the failure of any of these ranks ends.
    pub(crate) fn of(board: &Arc<NoticeBoard>, ranks: impl IntoIterator<Item = u32>) -> Scope {
        let mut members = [0; WORDS];
        ranks.into_iter().for_each(|rank| members[(rank / 64) as usize] |= 1 << (rank % 64));
        Scope { board: board.clone(), members }
    }

    /// Whether a rank of the job is in this scope and has failed.
    pub(crate) fn has_lost(&self, rank: u32) -> bool {
        let (word, bit) = ((rank / 64) as usize, 1 << (rank % 64));
        self.members[word] & bit != 0 && self.board.has_failed(rank)
    }

    /// Whether the failure of some rank ends its waits.
    #[cold]
    fn has_lost_a_member(&self) -> bool {
        let notice = self.board.notice();
        let dead = || notice.dead.iter().zip(self.members);
        notice.continues.load() == 0 || dead().any(|(dead, members)| dead.load() & members != 0)
    }

    /// All those ranks, in order.
    pub(crate) fn lost(&self) -> impl Iterator<Item = u32> + '_ {
        (0..MAX_RANKS).filter(|rank| self.has_lost(*rank))
    }

    /// The rank to name in the error of a wait that a failure has ended.
    pub(crate) fn named(&self) -> u32 {
        // A rank of another scope, if the job does not go on.
        self.lost().next().or(self.board.first_failed()).unwrap_or_default()
    }
}

impl Failure for Scope {
    fn word(&self) -> &FailedWord {
        &self.board.notice().failed
    }

    fn has_failed(&self, rank: u32) -> bool {
        self.board.has_failed(rank)
    }

    #[inline]
    fn is_set(&self) -> bool {
        self.board.notice().failed.is_set() && self.has_lost_a_member()
    }
}
