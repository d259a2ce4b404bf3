//! Waiting for requests, one or several (MPI-4.1 §3.7.3 to §3.9).

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Function, Ptr};
use crate::failure::{Failure, Outcome};
use crate::generalized::Generalized;
use crate::handle::Handle;
use crate::job;
use crate::request::Request;
use crate::status;
use std::ffi::c_int;

/// A request of an array, or nothing for `MPI_REQUEST_NULL`.
fn find(handle: MPI_Request) -> Outcome<Option<&'static Request>> {
    if handle == Handle::NULL { Ok(None) } else { handle.get().map(Some) }
}

/// How many requests an array has.
fn length(count: c_int) -> Outcome<usize> {
    usize::try_from(count)
        .map_err(|_| Failure::new(MPI_ERR_COUNT, format!("the count {count} is negative")))
}

/// The requests of an array, which are all good.
fn all(count: c_int, requests: Ptr<MPI_Request>) -> Outcome<Vec<Option<&'static Request>>> {
    requests.list(length(count)?)?.into_iter().map(find).collect()
}

/// Waits for a request of an array, which is then null or inactive.
fn finish(requests: Ptr<MPI_Request>, k: usize) -> Outcome<MPI_Status> {
    let handle = requests.get_at(k)?;
    let Some(request) = find(handle)? else { return Ok(status::EMPTY) };
    let outcome = request.wait();
    if request.is_persistent() {
        return outcome;
    }
    requests.set_at(k, Handle::NULL)?;
    let released = handle.remove()?.release();
    released.and(outcome)
}

/// Tells the program a status, but for its error, which only calls for several requests set, and
/// empty statuses have.
fn tell(place: Ptr<MPI_Status>, k: usize, status: MPI_Status) -> Outcome {
    if place.is_null() {
        return Ok(());
    }
    if status.source == MPI_ANY_SOURCE {
        return place.set_at(k, status);
    }
    let error = place.get_at(k)?.error;
    place.set_at(k, MPI_Status { error, ..status })
}

/// `MPI_Wait`
pub fn wait(request: Ptr<MPI_Request>, status: Ptr<MPI_Status>) -> Outcome {
    let finished = finish(request, 0)?;
    tell(status, 0, finished)
}

/// `MPI_Test`
pub fn test(request: Ptr<MPI_Request>, flag: Ptr<c_int>, status: Ptr<MPI_Status>) -> Outcome {
    let done = find(request.get()?)?.is_none_or(Request::is_complete);
    flag.set(done.into())?;
    if done { wait(request, status) } else { Ok(()) }
}

/// Waits for all requests of an array; if one fails, all statuses say how theirs have ended.
fn finish_all(count: usize, requests: Ptr<MPI_Request>, statuses: Ptr<MPI_Status>) -> Outcome {
    let mut failed = None;
    let outcomes: Vec<_> = (0..count).map(|k| finish(requests, k)).collect();
    let any = outcomes.iter().any(Result::is_err);
    for (k, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(status) if any && !statuses.is_null() => statuses.set_at(k, status)?,
            Ok(status) => tell(statuses, k, status)?,
            Err(failure) => {
                if !statuses.is_null() {
                    statuses.set_at(k, MPI_Status { error: failure.code, ..status::EMPTY })?;
                }
                failed.get_or_insert(failure);
            }
        }
    }
    match failed {
        None => Ok(()),
        Some(failure) if statuses.is_null() => Err(failure),
        Some(failure) => Err(Failure { code: MPI_ERR_IN_STATUS, ..failure }),
    }
}

/// `MPI_Waitall`
pub fn waitall(count: c_int, requests: Ptr<MPI_Request>, statuses: Ptr<MPI_Status>) -> Outcome {
    if count == 0 {
        return Ok(());
    }
    all(count, requests)?;
    finish_all(length(count)?, requests, statuses)
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
    let complete = |request: &Option<&Request>| {
        request.is_some_and(|request| request.is_active() && request.is_complete())
    };
    pending.iter().position(complete)
}

fn has_active(pending: &[Option<&'static Request>]) -> bool {
    pending.iter().flatten().any(|request| request.is_active())
}

/// Ends the request at `index`, or says that none is active.
fn tell_any(
    index: Option<usize>,
    requests: Ptr<MPI_Request>,
    place: Ptr<c_int>,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let Some(k) = index else {
        place.set(MPI_UNDEFINED)?;
        return tell(status, 0, status::EMPTY);
    };
    place.set(k as c_int)?;
    let finished = finish(requests, k)?;
    tell(status, 0, finished)
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
        job::progress_until(|| {
            first = first_complete(&pending);
            first.is_some()
        })?;
    }
    tell_any(first, requests, index, status)
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
    tell_any(first, requests, index, status)
}

/// Ends all requests of an array that are complete.
fn finish_some(
    pending: &[Option<&'static Request>],
    requests: Ptr<MPI_Request>,
    outcount: Ptr<c_int>,
    indices: Ptr<c_int>,
    statuses: Ptr<MPI_Status>,
) -> Outcome {
    if !has_active(pending) {
        return outcount.set(MPI_UNDEFINED);
    }
    let (mut found, mut failed) = (0, None);
    for (k, request) in pending.iter().enumerate() {
        if !request.is_some_and(|request| request.is_active() && request.is_complete()) {
            continue;
        }
        indices.set_at(found, k as c_int)?;
        match finish(requests, k) {
            Ok(status) => tell(statuses, found, status)?,
            Err(failure) => {
                if !statuses.is_null() {
                    statuses.set_at(found, MPI_Status { error: failure.code, ..status::EMPTY })?;
                }
                failed.get_or_insert(failure);
            }
        }
        found += 1;
    }
    outcount.set(found as c_int)?;
    match failed {
        None => Ok(()),
        Some(failure) if statuses.is_null() => Err(failure),
        Some(failure) => Err(Failure { code: MPI_ERR_IN_STATUS, ..failure }),
    }
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
        job::progress_until(|| first_complete(&pending).is_some())?;
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

/// `MPI_Request_free`: what is under way goes on.
pub fn request_free(request: Ptr<MPI_Request>) -> Outcome {
    let removed = request.get()?.remove()?;
    request.set(Handle::NULL)?;
    removed.release()
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
    match request {
        Some(request) if done => tell(status, 0, request.status()?),
        None => tell(status, 0, status::EMPTY),
        Some(_) => Ok(()),
    }
}

/// The requests of an array that is only looked at.
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
            tell(status, 0, pending[k].map_or(Ok(status::EMPTY), Request::status)?)
        }
        None if has_active(&pending) => {
            flag.set(0)?;
            index.set(MPI_UNDEFINED)
        }
        None => {
            flag.set(1)?;
            index.set(MPI_UNDEFINED)?;
            tell(status, 0, status::EMPTY)
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
    if !has_active(&pending) {
        return outcount.set(MPI_UNDEFINED);
    }
    let mut found = 0;
    for (k, request) in pending.iter().enumerate() {
        if let Some(request) = request.filter(|one| one.is_active() && one.is_complete()) {
            indices.set_at(found, k as c_int)?;
            tell(statuses, found, request.status()?)?;
            found += 1;
        }
    }
    outcount.set(found as c_int)
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
    for (k, request) in pending.into_iter().enumerate().filter(|_| done) {
        tell(statuses, k, request.map_or(Ok(status::EMPTY), Request::status)?)?;
    }
    Ok(())
}

/// `MPI_Start`
pub fn start(request: Ptr<MPI_Request>) -> Outcome {
    request.get()?.get()?.start()
}

/// `MPI_Startall`
pub fn startall(count: c_int, requests: Ptr<MPI_Request>) -> Outcome {
    let handles = if count == 0 { Vec::new() } else { requests.list(length(count)?)? };
    handles.into_iter().try_for_each(|handle| handle.get()?.start())
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
