//! Waiting for requests, one or several (MPI-4.1 §3.7.3 to §3.9).

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Function, Ptr};
use crate::failure::{Failure, Outcome};
use crate::generalized::Generalized;
use crate::handle::Handle;
use crate::job;
use crate::request::{Finished, Request};
use crate::status;
use onesided::engine::Waits;
use std::ffi::c_int;
use std::iter;
use std::ops::Range;

/// A request of an array, or nothing for `MPI_REQUEST_NULL`.
fn find(handle: MPI_Request) -> Outcome<Option<&'static Request>> {
    if handle == Handle::NULL { Ok(None) } else { handle.get().map(Some) }
}

/// The number of requests in an array.
fn length(count: c_int) -> Outcome<usize> {
    usize::try_from(count)
        .map_err(|_| Failure::new(MPI_ERR_COUNT, format!("the count {count} is negative")))
}

/// Checks that all requests of an array are valid.
fn check_all(count: usize, requests: Ptr<MPI_Request>) -> Outcome {
    (0..count).try_for_each(|k| find(requests.get_at(k)?).map(drop))
}

/// The requests of an array, which are all valid.
fn all(count: c_int, requests: Ptr<MPI_Request>) -> Outcome<Vec<Option<&'static Request>>> {
    requests.list(length(count)?)?.into_iter().map(find).collect()
}

/// The outcome of a request; `None` if there was no active one.
type Ended = Outcome<Option<MPI_Status>>;

/// [`finish_to`] with the status.
fn finish(requests: Ptr<MPI_Request>, k: usize) -> Ended {
    let mut found = Finished::NOTHING;
    finish_to(requests, k, &mut found)?;
    Ok(found.was_active.then_some(found.status))
}

/// Waits for a request of an array, which is then null or inactive.
#[inline(always)]
fn finish_to(requests: Ptr<MPI_Request>, k: usize, found: &mut Finished) -> Outcome {
    let handle = requests.get_at(k)?;
    let Some(request) = find(handle)? else {
        *found = Finished::NOTHING;
        return Ok(());
    };
    let outcome = request.wait(found);
    if request.is_persistent() {
        return outcome;
    }
    requests.set_at(k, Handle::NULL)?;
    request.release(handle).and(outcome)
}

/// The outcome of a request, which stays as it is.
fn look(request: Option<&Request>) -> Ended {
    request.filter(|request| request.is_active()).map(Request::status).transpose()
}

/// Writes the outcome of a request. An empty status has an error, too: success (MPI-4.1
/// §3.7.3).
fn set_one(place: Ptr<MPI_Status>, ended: Ended) -> Outcome {
    match ended.transpose() {
        Some(outcome) => status::conclude(place, outcome),
        None if place.is_ignored() => Ok(()),
        None => place.set(status::EMPTY),
    }
}

/// Writes the outcomes of several requests to the statuses from the `first` on. If one has failed, all of these have an
/// error; otherwise those of requests that were active have none (MPI-4.1 §3.7.5).
fn set_all(statuses: Ptr<MPI_Status>, first: usize, all: Vec<Ended>) -> Outcome {
    let any_failed = all.iter().any(Result::is_err);
    let mut failed = None;
    for (k, ended) in (first..).zip(all) {
        let (status, error) = match &ended {
            Ok(status) => (*status, MPI_SUCCESS),
            Err(failure) => (failure.status, failure.code),
        };
        match status {
            _ if statuses.is_ignored() => {}
            Some(status) if !any_failed => status::set_at(statuses, k, status)?,
            _ => statuses.set_at(k, MPI_Status { error, ..status.unwrap_or(status::EMPTY) })?,
        }
        failed = failed.or(ended.err());
    }
    match failed {
        None => Ok(()),
        Some(failure) if statuses.is_ignored() => Err(failure),
        Some(mut failure) => {
            failure.code = MPI_ERR_IN_STATUS;
            Err(failure)
        }
    }
}

/// `MPI_Wait`
pub fn wait(request: Ptr<MPI_Request>, status: Ptr<MPI_Status>) -> Outcome {
    let mut found = Finished::NOTHING;
    match finish_to(request, 0, &mut found) {
        Ok(()) if found.was_active => status::set_at(status, 0, found.status),
        inactive_or_failed => set_one(status, inactive_or_failed.map(|()| None)),
    }
}

/// `MPI_Test`
pub fn test(request: Ptr<MPI_Request>, flag: Ptr<c_int>, status: Ptr<MPI_Status>) -> Outcome {
    let done = find(request.get()?)?.is_none_or(Request::is_complete);
    flag.set(done.into())?;
    if done { wait(request, status) } else { Ok(()) }
}

/// Waits for all requests of an array.
fn finish_all(count: usize, requests: Ptr<MPI_Request>, statuses: Ptr<MPI_Status>) -> Outcome {
    let mut found = Finished::NOTHING;
    for k in 0..count {
        match finish_to(requests, k, &mut found) {
            Ok(()) if statuses.is_ignored() => {}
            Ok(()) if found.was_active => status::set_at(statuses, k, found.status)?,
            Ok(()) => statuses.set_at(k, status::EMPTY)?,
            Err(failure) => return finish_others(k..count, requests, statuses, Err(failure)),
        }
    }
    Ok(())
}

/// The rest of [`finish_all`], of which the first one has `failed`: all statuses have an error.
#[cold]
fn finish_others(
    rest: Range<usize>,
    requests: Ptr<MPI_Request>,
    statuses: Ptr<MPI_Status>,
    failed: Ended,
) -> Outcome {
    for k in (0..rest.start).filter(|_| !statuses.is_ignored()) {
        statuses.set_at(k, MPI_Status { error: MPI_SUCCESS, ..statuses.get_at(k)? })?;
    }
    let others = (rest.start + 1..rest.end).map(|k| finish(requests, k));
    set_all(statuses, rest.start, iter::once(failed).chain(others).collect())
}

/// `MPI_Waitall`
pub fn waitall(count: c_int, requests: Ptr<MPI_Request>, statuses: Ptr<MPI_Status>) -> Outcome {
    let count = length(count)?;
    check_all(count, requests)?;
    finish_all(count, requests, statuses)
}

/// `MPI_Testall`
pub fn testall(
    count: c_int,
    requests: Ptr<MPI_Request>,
    flag: Ptr<c_int>,
    statuses: Ptr<MPI_Status>,
) -> Outcome {
    let count = length(count)?;
    let pending = if count == 0 { Vec::new() } else { all(count as c_int, requests)? };
    let done = pending.iter().flatten().all(|request| request.is_complete());
    flag.set(done.into())?;
    if done { finish_all(count, requests, statuses) } else { Ok(()) }
}

/// The first active request that is complete.
fn first_complete(pending: &[Option<&'static Request>]) -> Option<usize> {
    pending.iter().position(|request| is_complete(*request))
}

/// Whether it is a request that is active and complete.
fn is_complete(request: Option<&Request>) -> bool {
    request.is_some_and(|request| request.is_active() && request.is_complete())
}

fn has_active(pending: &[Option<&'static Request>]) -> bool {
    pending.iter().flatten().any(|request| request.is_active())
}

/// What a wait for the active ones of these requests records for reports.
fn waiting_for(mut waits: Waits, pending: &[Option<&'static Request>]) -> Waits {
    pending.iter().flatten().for_each(|request| request.add_to(&mut waits));
    waits
}

/// Ends the request at `index`, or reports that none is active.
fn set_any(
    index: Option<usize>,
    requests: Ptr<MPI_Request>,
    place: Ptr<c_int>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let Some(k) = index else {
        place.set(MPI_UNDEFINED)?;
        return set_one(status, Ok(None));
    };
    place.set(k as c_int)?;
    set_one(status, finish(requests, k))
}

/// `MPI_Waitany`
pub fn waitany(
    count: c_int,
    requests: Ptr<MPI_Request>,
    index: Ptr<c_int>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let pending = if count == 0 { Vec::new() } else { all(count, requests)? };
    let mut first = None;
    if has_active(&pending) {
        job::progress_until(waiting_for(Waits::for_any(), &pending), || {
            first = first_complete(&pending);
            first.is_some()
        })?;
    }
    set_any(first, requests, index, status)
}

/// `MPI_Testany`
pub fn testany(
    count: c_int,
    requests: Ptr<MPI_Request>,
    index: Ptr<c_int>,
    flag: Ptr<c_int>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let pending = if count == 0 { Vec::new() } else { all(count, requests)? };
    let first = first_complete(&pending);
    if first.is_none() && has_active(&pending) {
        flag.set(0)?;
        return index.set(MPI_UNDEFINED);
    }
    flag.set(1)?;
    set_any(first, requests, index, status)
}

/// The requests of an array that are active and complete, whose places are returned.
fn set_complete(
    pending: &[Option<&'static Request>],
    outcount: Ptr<c_int>,
    indices: Ptr<c_int>,
) -> Outcome<Vec<usize>> {
    if !has_active(pending) {
        outcount.set(MPI_UNDEFINED)?;
        return Ok(Vec::new());
    }
    let places = (0..pending.len()).filter(|k| is_complete(pending[*k]));
    let complete: Vec<usize> = places.collect();
    indices.set_all(complete.iter().map(|k| *k as c_int))?;
    outcount.set(complete.len() as c_int)?;
    Ok(complete)
}

/// Ends all requests of an array that are complete.
fn finish_some(
    pending: &[Option<&'static Request>],
    requests: Ptr<MPI_Request>,
    outcount: Ptr<c_int>,
    indices: Ptr<c_int>,
    statuses: Ptr<MPI_Status>,
) -> Outcome {
    let complete = set_complete(pending, outcount, indices)?;
    set_all(statuses, 0, complete.into_iter().map(|k| finish(requests, k)).collect())
}

/// `MPI_Waitsome`
pub fn waitsome(
    incount: c_int,
    requests: Ptr<MPI_Request>,
    outcount: Ptr<c_int>,
    indices: Ptr<c_int>,
    statuses: Ptr<MPI_Status>,
) -> Outcome {
    let pending = if incount == 0 { Vec::new() } else { all(incount, requests)? };
    if has_active(&pending) {
        let waits = waiting_for(Waits::for_some(), &pending);
        job::progress_until(waits, || first_complete(&pending).is_some())?;
    }
    finish_some(&pending, requests, outcount, indices, statuses)
}

/// `MPI_Testsome`
pub fn testsome(
    incount: c_int,
    requests: Ptr<MPI_Request>,
    outcount: Ptr<c_int>,
    indices: Ptr<c_int>,
    statuses: Ptr<MPI_Status>,
) -> Outcome {
    let pending = if incount == 0 { Vec::new() } else { all(incount, requests)? };
    finish_some(&pending, requests, outcount, indices, statuses)
}

/// `MPI_Request_free`: a pending operation continues.
pub fn request_free(request: Ptr<MPI_Request>) -> Outcome {
    let handle = request.get()?;
    let released = handle.get()?.free(handle);
    request.set(Handle::NULL)?;
    released
}

/// `MPI_Cancel`
pub fn cancel(request: Ptr<MPI_Request>) -> Outcome {
    request.get()?.get()?.cancel()
}

/// `MPI_Request_get_status`
pub fn request_get_status(
    request: MPI_Request,
    flag: Ptr<c_int>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let request = find(request)?;
    let done = request.is_none_or(Request::is_complete);
    flag.set(done.into())?;
    if done { set_one(status, look(request)) } else { Ok(()) }
}

/// The requests of an array, which stays as it is.
fn looked_at(
    count: c_int,
    requests: ConstPtr<MPI_Request>,
) -> Outcome<Vec<Option<&'static Request>>> {
    let handles = if count == 0 { Vec::new() } else { requests.list(length(count)?)? };
    handles.into_iter().map(find).collect()
}

/// `MPI_Request_get_status_any`
pub fn request_get_status_any(
    count: c_int,
    requests: ConstPtr<MPI_Request>,
    index: Ptr<c_int>,
    flag: Ptr<c_int>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let pending = looked_at(count, requests)?;
    match first_complete(&pending) {
        Some(k) => {
            flag.set(1)?;
            index.set(k as c_int)?;
            set_one(status, look(pending[k]))
        }
        None if has_active(&pending) => {
            flag.set(0)?;
            index.set(MPI_UNDEFINED)
        }
        None => {
            flag.set(1)?;
            index.set(MPI_UNDEFINED)?;
            set_one(status, Ok(None))
        }
    }
}

/// `MPI_Request_get_status_some`
pub fn request_get_status_some(
    incount: c_int,
    requests: ConstPtr<MPI_Request>,
    outcount: Ptr<c_int>,
    indices: Ptr<c_int>,
    statuses: Ptr<MPI_Status>,
) -> Outcome {
    let pending = looked_at(incount, requests)?;
    let complete = set_complete(&pending, outcount, indices)?;
    set_all(statuses, 0, complete.into_iter().map(|k| look(pending[k])).collect())
}

/// `MPI_Request_get_status_all`
pub fn request_get_status_all(
    count: c_int,
    requests: ConstPtr<MPI_Request>,
    flag: Ptr<c_int>,
    statuses: Ptr<MPI_Status>,
) -> Outcome {
    let pending = looked_at(count, requests)?;
    let done = pending.iter().flatten().all(|request| request.is_complete());
    flag.set(done.into())?;
    if done { set_all(statuses, 0, pending.into_iter().map(look).collect()) } else { Ok(()) }
}

/// `MPI_Start`
pub fn start(request: Ptr<MPI_Request>) -> Outcome {
    request.get()?.get()?.start()
}

/// `MPI_Startall`
pub fn startall(count: c_int, requests: Ptr<MPI_Request>) -> Outcome {
    let handles = if count == 0 { Vec::new() } else { requests.list(length(count)?)? };
    let requests: Vec<_> = handles.into_iter().map(Handle::get).collect::<Outcome<_>>()?;
    requests.into_iter().try_for_each(Request::start)
}

/// `MPI_Grequest_start`
pub fn grequest_start(
    query_fn: Function,
    free_fn: Function,
    cancel_fn: Function,
    extra_state: Address,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let generalized = Generalized::new(query_fn, free_fn, cancel_fn, extra_state)?;
    request.set(Handle::new(Request::generalized(generalized)))
}

/// `MPI_Grequest_complete`
pub fn grequest_complete(request: MPI_Request) -> Outcome {
    request.get()?.finish_generalized()
}
