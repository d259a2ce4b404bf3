//! Tests of the table of states and calls.

use super::*;

const SHARED: LockType = LockType::Shared;

fn lock(epochs: &Epochs, target: u32) {
    let grant = epochs.grant_of(target).unwrap();
    epochs.takes_lock(may_lock(epochs, target).unwrap(), grant, Grant::Awaited);
    epochs.locked(grant, SHARED);
}

fn may_lock(epochs: &Epochs, target: u32) -> Check<AccessState> {
    let before = epochs.may_lock()?;
    epochs.may_lock_target(epochs.grant_of(target)?)?;
    Ok(before)
}

fn in_state(access: AccessState) -> Epochs {
    let epochs = Epochs::new(3);
    match access {
        AccessState::None => {}
        AccessState::Fence => epochs.fenced(true),
        AccessState::Started => epochs.started(&[1]),
        AccessState::Locked { .. } => lock(&epochs, 1),
        AccessState::LockedAll { nocheck } => epochs.locked_all(nocheck),
    }
    epochs
}

#[test]
fn the_table_of_states_and_calls() {
    // Columns: fence start complete lock(1) lock(2) unlock(1) lock_all unlock_all flush(1)
    // flush(2) put(1) put(2) free.
    let rows = [
        (AccessState::None, "fs.lL..a....f"),
        (AccessState::Fence, "fs.lL..a..pPf"),
        (AccessState::Started, "..c.......p.."),
        (AccessState::Locked { locks: 1 }, "....Lu..x.p.."),
        (AccessState::LockedAll { nocheck: false }, ".......AxXpP."),
    ];
    for (access, expected) in rows {
        let allowed = |k: usize, e: &Epochs| match k {
            0 => e.may_fence().is_ok(),
            1 => e.may_start().is_ok(),
            2 => e.may_complete().is_ok(),
            3 => may_lock(e, 1).is_ok(),
            4 => may_lock(e, 2).is_ok(),
            5 => e.may_unlock(e.grant_of(1).unwrap()).is_ok(),
            6 => false,
            7 => e.may_lock_all().is_ok() || e.may_unlock_all().is_ok(),
            8 => e.may_flush(1).is_ok(),
            9 => e.may_flush(2).is_ok(),
            10 => e.may_operate(1).is_ok(),
            11 => e.may_operate(2).is_ok(),
            _ => e.may_free().is_ok(),
        };
        for (k, mark) in expected.chars().enumerate() {
            assert_eq!(allowed(k, &in_state(access)), mark != '.', "{access:?}, column {k}");
        }
    }
}

#[test]
fn a_fence_epoch_with_operations_admits_nothing_but_a_fence() {
    let epochs = in_state(AccessState::Fence);
    epochs.may_operate(2).unwrap();
    assert!(epochs.may_start().is_ok(), "it may still be refused");
    epochs.operated();
    assert!(epochs.may_start().is_err() && may_lock(&epochs, 1).is_err());
    assert!(epochs.may_lock_all().is_err() && epochs.may_free().is_err());
    assert!(epochs.may_fence().is_ok());
    epochs.fenced(true);
    assert!(epochs.may_start().is_ok());
}

#[test]
fn exposure_and_access_are_independent_but_for_locks_and_fences() {
    let epochs = in_state(AccessState::Started);
    epochs.may_post(0).unwrap();
    epochs.posted(2);
    assert_eq!(epochs.may_wait(), Ok(2));
    assert!(epochs.may_post(0).is_err());
    epochs.completed(&[1]);
    assert!(epochs.may_operate(1).is_err() && epochs.may_complete().is_err());
    assert!(epochs.may_fence().is_err() && epochs.may_free().is_err());
    assert!(may_lock(&epochs, 1).is_ok());
    epochs.waited();
    assert!(epochs.may_fence().is_ok() && epochs.may_wait().is_err());
    lock(&epochs, 0);
    assert!(epochs.may_post(0).is_err());
}
