//! Which accesses to the same bytes conflict if nothing orders them (MPI-4.1 §12.3, §12.7): the one table.

/// How an operation accesses the bytes of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum AccessKind {
    /// Put, in all forms.
    Put,
    /// Get, in all forms.
    Get,
    /// Accumulates that may change the target.
    Update,
    /// Accumulates with `MPI_NO_OP`, which only fetch.
    Fetch,
    /// A load of a rank from mapped memory, by a call of the library.
    Load,
    /// A store, likewise.
    Store,
    /// What an operation reads in memory that its own rank exposes: a load until it is complete in that process.
    Source,
    /// What it writes there.
    Result,
}

/// What two accesses that nothing orders are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// Both may happen at the same time.
    Fine,
    /// Fine for elements of the same predefined datatype (MPI-4.1 §12.7.1).
    SameDatatype,
    /// The result is undefined.
    Conflict,
}

use AccessKind::{Fetch, Get, Load, Put, Result, Source, Store, Update};
use Rule::{Conflict as C, Fine as F, SameDatatype as S};

/// All kinds, those of the table first, in its order.
const ALL: [AccessKind; 8] = [Put, Get, Update, Fetch, Load, Store, Source, Result];

/// Those of the table.
#[cfg(test)]
pub(crate) const KINDS: [AccessKind; 6] = [Put, Get, Update, Fetch, Load, Store];

/// Rows and columns in the order of [`ALL`].
const TABLE: [[Rule; 6]; 6] = [
    [C, C, C, C, C, C],
    [C, F, C, F, F, C],
    [C, C, S, S, C, C],
    [C, F, S, F, F, C],
    [C, F, C, F, F, C],
    [C, C, C, C, C, C],
];

/// [`AccessKind::replaces`] of accumulates of different datatypes, and of one datatype: for each kind a bit for each earlier one.
const REPLACES: [[u8; 8]; 2] = [replacing(false), replacing(true)];

const fn replacing(of_one_datatype: bool) -> [u8; 8] {
    let (mut all, mut pair) = ([0; 8], 0);
    while pair < 64 {
        let (own, earlier, mut third) = (pair / 8, pair % 8, 0);
        let rows = (ALL[own].row() as usize, ALL[earlier].row() as usize);
        let mut replaces = true;
        while third < 6 {
            replaces &= match (TABLE[rows.0][third], TABLE[rows.1][third]) {
                (S, S) => of_one_datatype,
                (own, other) => own as u8 >= other as u8,
            };
            third += 1;
        }
        all[own] |= (replaces as u8) << earlier;
        pair += 1;
    }
    all
}

impl AccessKind {
    #[inline]
    pub(crate) fn of_word(word: u8) -> AccessKind {
        ALL.get(usize::from(word)).copied().unwrap_or(Put)
    }

    /// The row and column that it has in the table.
    const fn row(self) -> AccessKind {
        match self {
            Source => Load,
            Result => Store,
            kind => kind,
        }
    }

    /// What this access and `other` are if nothing orders them.
    #[inline]
    pub(crate) fn rule(self, other: AccessKind) -> Rule {
        TABLE[self.row() as usize][other.row() as usize]
    }

    /// Its row and column in the table of the documentation.
    pub(super) fn name(self) -> &'static str {
        match self.row() {
            Put => "put",
            Get => "get",
            Update => "update",
            Fetch => "fetch",
            Load => "load",
            _ => "store",
        }
    }

    /// Whether it has a predefined datatype.
    pub(crate) fn is_accumulate(self) -> bool {
        matches!(self, Update | Fetch)
    }

    /// Whether it leaves the bytes as they are.
    pub(super) fn only_reads(self) -> bool {
        matches!(self, Get | Fetch | Load | Source)
    }

    /// Whether an operation may change these bytes of its target.
    pub(super) fn updates(self) -> bool {
        matches!(self, Put | Update)
    }

    /// Whether an operation accesses these bytes as its buffer.
    pub(super) fn is_of_buffer(self) -> bool {
        matches!(self, Source | Result)
    }

    /// Whether it is complete when the call returns.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Load | Store)
    }

    /// Whether an access that conflicts with `earlier` also conflicts with this one, given that this one is
    /// ordered behind it. Then `earlier` need not be known any more.
    #[inline]
    pub(crate) fn replaces(self, earlier: AccessKind, of_one_datatype: bool) -> bool {
        REPLACES[usize::from(of_one_datatype)][self as usize] >> earlier as u8 & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_symmetric() {
        for (a, b) in ALL.iter().flat_map(|a| ALL.iter().map(move |b| (*a, *b))) {
            assert_eq!(a.rule(b), b.rule(a), "{a:?} {b:?}");
            assert_eq!(AccessKind::of_word(a as u8), a);
        }
    }

    #[test]
    fn the_table_of_the_documentation_is_this_one() {
        let mut rows = vec![std::iter::once("").chain(KINDS.map(AccessKind::name)).collect()];
        for (kind, rules) in KINDS.iter().zip(TABLE) {
            let cells = rules.map(|rule| match rule {
                F => "fine",
                S => "same datatype",
                C => "conflict",
            });
            rows.push([vec![kind.name()], cells.to_vec()].concat());
        }
        let mut rows = rows.iter().map(|cells: &Vec<_>| format!("| {} |", cells.join(" | ")));
        let head = rows.next().map(|head| head.replace("|  |", "| |")).expect("it has columns");
        let rule = format!("|{}", " --- |".repeat(KINDS.len() + 1));
        let table = [head, rule].into_iter().chain(rows).collect::<Vec<_>>().join("\n");
        assert!(include_str!("../../docs/check.md").contains(&table), "{table}");
    }

    #[test]
    fn writes_replace_everything_and_reads_only_reads() {
        for kind in KINDS {
            assert!(Put.replaces(kind, false) && Store.replaces(kind, false));
            assert_eq!(Get.replaces(kind, true), matches!(kind, Get | Load | Fetch));
        }
        assert!(Update.replaces(Update, true) && !Update.replaces(Update, false));
        assert!(!Update.replaces(Get, true) && Update.replaces(Fetch, true));
        for (own, earlier) in ALL.iter().flat_map(|a| ALL.iter().map(move |b| (*a, *b))) {
            for is_one in [false, true] {
                let replaces =
                    KINDS.iter().all(|third| match (own.rule(*third), earlier.rule(*third)) {
                        (S, S) => is_one,
                        (own, other) => own >= other,
                    });
                assert_eq!(own.replaces(earlier, is_one), replaces, "{own:?} {earlier:?}");
            }
        }
    }
}
