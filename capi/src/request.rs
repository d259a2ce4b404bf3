//! Requests, as C has them (MPI-4.1 §3.7 and §3.9).

use crate::abi::*;
use crate::belonging::Belonging;
use crate::duplication::Duplication;
use crate::failure::Outcome;
use crate::generalized::Generalized;
use crate::handle::{Object, Table};
use crate::raise::Owner;
use crate::status;
use onesided::engine::{CollectiveRequest, MessageRequest, Partitioned, Waits};
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Starts a persistent request.
type Begin = Box<dyn Fn() -> Outcome<Work> + Send + Sync>;

/// What an `MPI_Request` stands for.
pub struct Request {
    pub belonging: Belonging,
    /// Of a persistent request, how it begins again.
    begin: Option<Begin>,
    /// A generalized request, which the program completes itself.
    generalized: Option<Arc<Generalized>>,
    /// A partitioned message.
    partitioned: Option<Partitioned>,
    state: Mutex<State>,
}

/// The state of a request.
enum State {
    /// Persistent and inactive.
    Inactive,
    Active(Work),
    /// Complete, and not yet waited for.
    Complete(Outcome<MPI_Status>),
}

impl State {
    /// A kind of pending operation, in a word for the user, with its plural.
    fn word(&self) -> Option<&'static str> {
        Some(match self {
            State::Inactive => return None,
            State::Complete(_) => "request",
            State::Active(work) => match work {
                Work::Done(_) | Work::Operation(_) => "request",
                Work::Send(_) => "send",
                Work::Receive(_) => "receive",
                Work::Both(_) => "send-receive",
                Work::Collective(_) => "collective",
                Work::Generalized(_) => "generalized request",
                Work::Duplicate(_) => "communicator duplicate",
                Work::Partitioned(one) if one.is_send() => "partitioned send",
                Work::Partitioned(_) => "partitioned receive",
            },
        })
    }
}

/// The pending operation.
pub enum Work {
    /// None any more.
    Done(MPI_Status),
    /// A one-sided operation, for the check of the job.
    Operation(onesided::Request<'static>),
    /// A message is being sent.
    Send(MessageRequest),
    /// A message is being received.
    Receive(MessageRequest),
    /// One is being sent, and one is being received.
    Both(Box<[MessageRequest; 2]>),
    /// A collective.
    Collective(CollectiveRequest),
    /// A generalized request.
    Generalized(Arc<Generalized>),
    /// A communicator is being duplicated.
    Duplicate(Box<Duplication>),
    /// A message moves in partitions.
    Partitioned(Partitioned),
}

impl Work {
    /// Whether it is complete; makes progress.
    fn is_complete(&self) -> bool {
        match self {
            Work::Done(_) => true,
            Work::Operation(operation) => operation.is_active(),
            Work::Send(message) | Work::Receive(message) => message.is_complete(),
            Work::Both(both) => both.iter().all(MessageRequest::is_complete),
            Work::Collective(collective) => collective.is_complete(),
            Work::Generalized(generalized) => generalized.is_complete(),
            Work::Duplicate(duplication) => duplication.is_complete(),
            Work::Partitioned(partitioned) => partitioned.is_complete(),
        }
    }

    /// Adds what it waits for.
    fn add_to(&self, waits: &mut Waits) {
        match self {
            Work::Done(_) | Work::Operation(_) => {}
            Work::Send(message) | Work::Receive(message) => waits.add(message.waits_for()),
            Work::Both(both) => waits.add(both.iter().flat_map(MessageRequest::waits_for)),
            Work::Generalized(_) => waits.add_program(),
            Work::Collective(_) | Work::Duplicate(_) => waits.add([]),
            Work::Partitioned(partitioned) => waits.add(partitioned.waits_for()),
        }
    }

    /// Waits for it, if it is not complete yet; `status` is empty before.
    fn wait(&self, of: &Belonging, status: &mut MPI_Status) -> Outcome {
        let translated = |status| of.translated(status);
        match self {
            Work::Done(done) => *status = *done,
            // It ends when this is dropped.
            Work::Operation(_) => {}
            Work::Send(message) => *status = status::of_send(&message.wait()?),
            Work::Receive(message) => *status = status::received(translated, message.wait())?,
            Work::Both(both) => {
                let [send, receive] = &**both;
                let (received, sent) = (receive.wait(), send.wait());
                *status = status::received(translated, received)?;
                sent?;
            }
            Work::Collective(collective) => collective.wait()?,
            Work::Generalized(generalized) => *status = generalized.wait()?,
            Work::Duplicate(duplication) => duplication.finish()?,
            Work::Partitioned(partitioned) if partitioned.is_send() => {
                *status = status::of_send(&partitioned.wait()?);
            }
            Work::Partitioned(partitioned) => {
                *status = status::received(translated, partitioned.wait())?;
            }
        }
        Ok(())
    }
}

impl Request {
    #[inline(always)]
    pub fn new(of: impl Into<Belonging>, work: Work) -> Request {
        let (belonging, state) = (of.into(), Mutex::new(State::Active(work)));
        Request { belonging, begin: None, generalized: None, partitioned: None, state }
    }

    /// A persistent request, inactive.
    pub fn persistent(of: impl Into<Belonging>, begin: Begin) -> Request {
        let (belonging, state) = (of.into(), Mutex::new(State::Inactive));
        Request { belonging, begin: Some(begin), generalized: None, partitioned: None, state }
    }

    /// `MPI_Psend_init` and `MPI_Precv_init`
    pub fn partitioned(of: impl Into<Belonging>, partitioned: Partitioned) -> Request {
        let channel = partitioned.clone();
        let begin = move || {
            channel.start()?;
            Ok(Work::Partitioned(channel.clone()))
        };
        let request = Request::persistent(of, Box::new(begin));
        Request { partitioned: Some(partitioned), ..request }
    }

    /// Marks partitions of an active send as ready; `partitions` has their numbers, and the number of
    /// all.
    pub fn ready(&self, partitions: impl FnOnce(u32) -> Outcome<Vec<u32>>) -> Outcome {
        let handed = match self.partitioned.as_ref().filter(|partitioned| partitioned.is_send()) {
            None => Err(wrong("the request is no partitioned send")),
            // Also while another thread waits for it.
            Some(send) if !send.is_active() => Err(wrong("the request is not active")),
            Some(send) => {
                partitions(send.partitions()).and_then(|partitions| Ok(send.ready(&partitions)?))
            }
        };
        handed.map_err(|failure| failure.of(self.belonging.owner()))
    }

    /// Whether a partition of a receive has arrived.
    pub fn has_arrived(&self, partition: impl FnOnce() -> Outcome<u32>) -> Outcome<bool> {
        let arrived = match self.partitioned.as_ref().filter(|partitioned| !partitioned.is_send()) {
            None => Err(wrong("the request is no partitioned receive")),
            Some(receive) => partition().and_then(|partition| Ok(receive.has_arrived(partition)?)),
        };
        arrived.map_err(|failure| failure.of(self.belonging.owner()))
    }

    /// `MPI_Grequest_start`
    pub fn generalized(generalized: Generalized) -> Request {
        let generalized = Arc::new(generalized);
        let request = Request::new(Owner::None, Work::Generalized(generalized.clone()));
        Request { generalized: Some(generalized), ..request }
    }

    /// `MPI_Grequest_complete`
    pub fn finish_generalized(&self) -> Outcome {
        match &self.generalized {
            Some(generalized) => generalized.finish(),
            None => Err(wrong("the request is not a generalized one")),
        }
    }

    /// An operation that is complete when its call returns.
    pub fn complete(owner: Owner) -> Request {
        Request::new(owner, Work::Done(status::EMPTY))
    }

    /// An operation on a window, which is complete at the origin when its call returns.
    #[inline(always)]
    pub fn of_operation(win: MPI_Win, operation: onesided::Request<'static>) -> Request {
        Request::new(Owner::Win(win), Work::Operation(operation))
    }

    /// The program has no handle of it any more; a pending operation continues (`MPI_Request_free`).
    pub fn release(self) -> Outcome {
        self.generalized.as_ref().map_or(Ok(()), |generalized| generalized.release())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_persistent(&self) -> bool {
        self.begin.is_some()
    }

    /// What the program has started and not completed, in a word; `None` for an inactive request.
    pub fn left_open(&self) -> Option<&'static str> {
        self.state().word()
    }

    /// Whether it was started and has not been waited for.
    pub fn is_active(&self) -> bool {
        !matches!(*self.state(), State::Inactive)
    }

    /// Adds what it waits for, if it is active.
    pub fn add_to(&self, waits: &mut Waits) {
        if let State::Active(work) = &*self.state() {
            work.add_to(waits);
        }
    }

    /// `MPI_Start`
    pub fn start(&self) -> Outcome {
        let mut state = self.state();
        match (&self.begin, &*state) {
            (Some(begin), State::Inactive) => {
                *state = State::Active(begin()?);
                Ok(())
            }
            (Some(_), _) => Err(wrong("the request has begun, and has not been waited for")),
            (None, _) => Err(wrong("the request is not persistent")),
        }
    }

    /// Whether it is complete, or inactive; makes progress.
    pub fn is_complete(&self) -> bool {
        match &*self.state() {
            State::Inactive | State::Complete(_) => true,
            State::Active(work) => work.is_complete(),
        }
    }

    /// Waits for it, if it is active, and writes its status; whether it is. The status is written to its place: a copy
    /// would wait for the stores of its parts.
    pub fn wait(&self, status: &mut MPI_Status) -> Outcome<bool> {
        *status = status::EMPTY;
        // The lock is free while it waits: another thread may look at the state.
        let state = std::mem::replace(&mut *self.state(), State::Inactive);
        let ended = match state {
            State::Inactive => return Ok(false),
            State::Complete(outcome) => outcome.map(|outcome| *status = outcome),
            State::Active(work) => work.wait(&self.belonging, status),
        };
        ended.map(|()| true).map_err(|failure| failure.of(self.belonging.owner()))
    }

    /// The outcome of an active request that is complete, which does not change it
    /// (`MPI_Request_get_status`).
    pub fn status(&self) -> Outcome<MPI_Status> {
        let mut status = status::EMPTY;
        let outcome = self.wait(&mut status).map(|_| status);
        *self.state() = State::Complete(outcome.clone());
        outcome
    }

    /// `MPI_Cancel`
    pub fn cancel(&self) -> Outcome {
        match &*self.state() {
            State::Active(Work::Send(message) | Work::Receive(message)) => message.cancel(),
            State::Active(Work::Both(both)) => both.iter().for_each(MessageRequest::cancel),
            State::Active(Work::Collective(_)) => {
                return Err(wrong("a collective cannot be cancelled"));
            }
            State::Active(Work::Partitioned(_)) => {
                return Err(wrong("a partitioned message cannot be cancelled"));
            }
            State::Active(Work::Generalized(generalized)) => generalized.cancel()?,
            State::Active(_) | State::Complete(_) => {}
            State::Inactive => return Err(wrong("the request is not active")),
        }
        Ok(())
    }
}

fn wrong(why: &str) -> crate::failure::Failure {
    crate::failure::Failure::new(MPI_ERR_REQUEST, why)
}

impl Object for Request {
    const NAME: &'static str = "MPI_Request";
    const NULL: usize = MPI_REQUEST_NULL;
    const CLASS: c_int = MPI_ERR_REQUEST;
    const KIND: usize = 8;

    fn table() -> &'static Table<Request> {
        static TABLE: Table<Request> = Table::new();
        &TABLE
    }
}
