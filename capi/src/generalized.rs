//! Generalized requests: operations that the program itself carries out (MPI-4.1 §13.2).
#![allow(unsafe_code, reason = "calls functions of the C program")]

use crate::abi::*;
use crate::arguments::{Address, Function};
use crate::entry::calling_back;
use crate::failure::{Failure, Outcome};
use crate::job;
use crate::status;
use onesided::engine::Waits;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Query = extern "C" fn(Address, *mut MPI_Status) -> c_int;
type Free = extern "C" fn(Address) -> c_int;
type Cancel = extern "C" fn(Address, c_int) -> c_int;

/// An operation of the program, and the functions that the library calls for it.
pub struct Generalized {
    query: Query,
    free: Free,
    cancel: Cancel,
    extra_state: Address,
    complete: Mutex<bool>,
}

impl Generalized {
    /// `MPI_Grequest_start`
    pub fn new(
        query: Function,
        free: Function,
        cancel: Function,
        extra_state: Address,
    ) -> Outcome<Generalized> {
        if [query, free, cancel].iter().any(|function| function.address() == 0) {
            return Err(Failure::new(MPI_ERR_ARG, "a function is null"));
        }
        // SAFETY: the C program gives it as a function of this type, which lives as long as the program.
        let query = unsafe { std::mem::transmute::<usize, Query>(query.address()) };
        // SAFETY: as above.
        let free = unsafe { std::mem::transmute::<usize, Free>(free.address()) };
        // SAFETY: as above.
        let cancel = unsafe { std::mem::transmute::<usize, Cancel>(cancel.address()) };
        Ok(Generalized { query, free, cancel, extra_state, complete: Mutex::new(false) })
    }

    fn complete(&self) -> MutexGuard<'_, bool> {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_complete(&self) -> bool {
        *self.complete()
    }

    /// `MPI_Grequest_complete`
    pub fn finish(&self) -> Outcome {
        *self.complete() = true;
        // Another thread may wait for it.
        job::wake()
    }

    /// Waits for it, and asks the program for its status.
    pub fn wait(&self) -> Outcome<MPI_Status> {
        if !self.is_complete() {
            job::progress_until(Waits::for_program(), || self.is_complete())?;
        }
        let mut status = status::EMPTY;
        check(calling_back(|| (self.query)(self.extra_state, &mut status)), "query")?;
        Ok(status)
    }

    /// `MPI_Cancel`
    pub fn cancel(&self) -> Outcome {
        check(calling_back(|| (self.cancel)(self.extra_state, self.is_complete().into())), "cancel")
    }

    /// Lets the program free its state of a request that no longer exists.
    pub fn release(&self) -> Outcome {
        check(calling_back(|| (self.free)(self.extra_state)), "free")
    }
}

fn check(code: c_int, which: &str) -> Outcome {
    match code {
        MPI_SUCCESS => Ok(()),
        _ => Err(Failure::new(code, format!("the request's {which} function returned {code}"))),
    }
}
