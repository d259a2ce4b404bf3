//! Errors planted between program and library, to show that the tester finds such.

use crate::programs::layout::Layout;
use crate::programs::program::{Act, Kind};
use onesided::LockType;

/// What is done wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Sabotage {
    #[default]
    None,
    AccumulateTwice,
    AccumulateLost,
    PutOneOff,
    GetStale,
    FetchWrong,
    /// The last instance is missing from a put to a derived datatype.
    ElementDropped,
    /// The blocks of a target are taken in the order of their displacements.
    BlocksSorted,
    /// What a request reads has been overwritten before it is.
    RequestLate,
    /// A get on a guard of the typed face brings something else.
    TypedGetStale,
    /// A guarded update takes a shared lock: updates get lost, if ranks meet.
    GuardShared,
    /// The process dies.
    Abort,
}

impl Sabotage {
    /// Those that fail every time, and that the ranks of a job can shrink.
    pub const ALL: [Sabotage; 9] = [
        Sabotage::AccumulateTwice,
        Sabotage::AccumulateLost,
        Sabotage::PutOneOff,
        Sabotage::GetStale,
        Sabotage::FetchWrong,
        Sabotage::ElementDropped,
        Sabotage::BlocksSorted,
        Sabotage::RequestLate,
        Sabotage::TypedGetStale,
    ];

    pub fn named(name: &str) -> Sabotage {
        let mut all = Sabotage::ALL.into_iter().chain([Sabotage::GuardShared, Sabotage::Abort]);
        all.find(|sabotage| format!("{sabotage:?}") == name).unwrap_or_default()
    }

    /// Whether the rank dies of the act.
    pub fn is_deadly(self, act: &Act) -> bool {
        self == Sabotage::Abort && act.kind == Kind::CompareAndSwap
    }

    /// The lock of a guarded update.
    pub fn guard(self) -> LockType {
        if self == Sabotage::GuardShared { LockType::Shared } else { LockType::Exclusive }
    }

    /// How often an accumulate is issued.
    pub fn times(self, act: &Act) -> u32 {
        match self {
            Sabotage::AccumulateTwice => 2,
            Sabotage::AccumulateLost if act.value.is_multiple_of(3) => 0,
            _ => 1,
        }
    }

    /// The displacement that is used.
    pub fn disp(self, act: &Act) -> u64 {
        let off = self == Sabotage::PutOneOff && act.kind == Kind::Put && act.target.is_some();
        if off { act.disp.saturating_sub(1) } else { act.disp }
    }

    /// Instances of the origin's datatype that the call leaves out.
    pub fn dropped(self, act: &Act) -> usize {
        let is_strided = matches!(act.layout, Layout::Vector { .. } | Layout::Hvector { .. });
        let drops = self == Sabotage::ElementDropped && act.kind == Kind::Put && is_strided;
        usize::from(drops && act.count > 0)
    }

    /// The target's layout.
    pub fn layout(self, act: &Act) -> Layout {
        match act.layout {
            Layout::IndexedBlock { length, mut at } if self == Sabotage::BlocksSorted => {
                at.sort_unstable();
                Layout::IndexedBlock { length, at }
            }
            layout => layout,
        }
    }

    /// The mistake on a guard of the typed API.
    pub fn given_typed(self, act: &Act, bytes: Vec<u8>) -> Vec<u8> {
        let sabotage = if self == Sabotage::TypedGetStale { Sabotage::GetStale } else { self };
        sabotage.given(act, bytes)
    }

    /// What the origin is given.
    pub fn given(self, act: &Act, mut bytes: Vec<u8>) -> Vec<u8> {
        let wrong = match self {
            Sabotage::GetStale => act.kind == Kind::Get,
            Sabotage::FetchWrong => matches!(act.kind, Kind::FetchAndOp(_)),
            _ => false,
        };
        if let Some(first) = bytes.first_mut().filter(|_| wrong && act.fetches()) {
            *first ^= 1;
        }
        bytes
    }
}
