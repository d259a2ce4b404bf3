//! Requests, as C has them (MPI-4.1 §3.7 and §3.9).

use crate::abi::*;
use crate::belonging::Belonging;
use crate::duplication::Duplication;
use crate::failure::Outcome;
use crate::generalized::Generalized;
use crate::handle::{Handle, Object, Table};
use crate::job;
use crate::raise::Owner;
use crate::settled::{self, Settled};
use crate::status;
use onesided::engine::{CollectiveRequest, MessageRequest, Partitioned, Waits};
use std::ffi::c_int;
use std::iter;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Starts a persistent request.
type Begin = Box<dyn Fn() -> Outcome<Work> + Send + Sync>;

/// What a call that completes requests finds of one. The call writes it to its place, part by part: a copy of parts
/// that have just been stored would wait for the stores.
pub struct Finished {
    pub status: MPI_Status,
    pub was_active: bool,
}

impl Finished {
    /// Of no active request.
    pub const NOTHING: Finished = Finished { status: status::EMPTY, was_active: false };
}

/// What an `MPI_Request` stands for.
pub struct Request {
    pub belonging: Belonging,
    form: Form,
}

enum Form {
    /// Until it has been waited for.
    Once(Started),
    Persistent(Box<Persistent>),
    /// Of all operations of that kind that were complete when their calls returned.
    Settled(&'static Settled),
}

/// A persistent request.
struct Persistent {
    /// How it begins again.
    begin: Begin,
    partitioned: Option<Partitioned>,
    /// `None`: it is inactive.
    started: Mutex<Option<Started>>,
}

/// An operation that was started and has not been waited for.
struct Started {
    work: Work,
    /// Its outcome, if the program has looked at it before.
    outcome: OnceLock<Box<Outcome<MPI_Status>>>,
}

/// The pending operation.
pub enum Work {
    /// None any more, of an operation of that kind; its status is empty.
    Nothing(&'static str),
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
    Generalized(Box<Generalized>),
    /// A communicator is being duplicated.
    Duplicate(Box<Duplication>),
    /// A message moves in partitions.
    Partitioned(Partitioned),
}

impl Work {
    /// Whether it is complete; makes progress.
    fn is_complete(&self) -> bool {
        match self {
            Work::Nothing(_) | Work::Done(_) => true,
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
            Work::Nothing(_) | Work::Done(_) | Work::Operation(_) => {}
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
            // An operation ends when this is dropped.
            Work::Nothing(_) | Work::Operation(_) => {}
            Work::Send(message) => *status = status::of_send(&message.wait()?),
            Work::Receive(message) => match message.try_wait() {
                Some(received) => *status = status::of(&of.translated(received)),
                None => *status = status::received(translated, message.wait())?,
            },
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

impl Started {
    #[inline(always)]
    fn new(work: Work) -> Started {
        Started { work, outcome: OnceLock::new() }
    }

    /// A kind of pending operation, in a word for the user, with its plural.
    fn word(&self) -> &'static str {
        match &self.work {
            _ if self.outcome.get().is_some() => "request",
            Work::Nothing(word) => word,
            Work::Done(_) | Work::Operation(_) => "request",
            Work::Send(_) => "send",
            Work::Receive(_) => "receive",
            Work::Both(_) => "send-receive",
            Work::Collective(_) => "collective",
            Work::Generalized(_) => "generalized request",
            Work::Duplicate(_) => "communicator duplicate",
            Work::Partitioned(one) if one.is_send() => "partitioned send",
            Work::Partitioned(_) => "partitioned receive",
        }
    }

    fn is_complete(&self) -> bool {
        self.outcome.get().is_some() || self.work.is_complete()
    }

    /// Adds what it waits for.
    fn add_to(&self, waits: &mut Waits) {
        if self.outcome.get().is_none() {
            self.work.add_to(waits);
        }
    }

    /// Waits for it, if it is not complete yet; `status` is empty before.
    #[inline]
    fn wait(&self, of: &Belonging, status: &mut MPI_Status) -> Outcome {
        match self.outcome.get() {
            None => self.work.wait(of, status),
            Some(outcome) => Outcome::clone(outcome).map(|known| *status = known),
        }
    }

    /// The outcome of an operation that is complete, which stays to be waited for.
    fn look(&self, of: &Belonging) -> Outcome<MPI_Status> {
        let outcome = self.outcome.get_or_init(|| {
            let mut status = status::EMPTY;
            if let Work::Operation(operation) = &self.work {
                operation.get_status();
            }
            Box::new(self.work.wait(of, &mut status).map(|()| status))
        });
        Outcome::clone(outcome)
    }

    /// `MPI_Cancel`
    fn cancel(&self) -> Outcome {
        match &self.work {
            _ if self.outcome.get().is_some() => {}
            Work::Send(message) | Work::Receive(message) => message.cancel(),
            Work::Both(both) => both.iter().for_each(MessageRequest::cancel),
            Work::Collective(_) => return Err(wrong("a collective cannot be cancelled")),
            Work::Partitioned(_) => {
                return Err(wrong("a partitioned message cannot be cancelled"));
            }
            Work::Generalized(generalized) => generalized.cancel()?,
            Work::Nothing(_) | Work::Done(_) | Work::Operation(_) | Work::Duplicate(_) => {}
        }
        Ok(())
    }
}

impl Persistent {
    fn started(&self) -> MutexGuard<'_, Option<Started>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Request {
    #[inline(always)]
    pub fn new(of: impl Into<Belonging>, work: Work) -> Request {
        Request { belonging: of.into(), form: Form::Once(Started::new(work)) }
    }

    /// A persistent request, inactive.
    pub fn persistent(of: impl Into<Belonging>, begin: Begin) -> Request {
        Request::inactive(of, begin, None)
    }

    /// `MPI_Psend_init` and `MPI_Precv_init`
    pub fn partitioned(of: impl Into<Belonging>, partitioned: Partitioned) -> Request {
        let channel = partitioned.clone();
        let begin = move || {
            channel.start()?;
            Ok(Work::Partitioned(channel.clone()))
        };
        Request::inactive(of, Box::new(begin), Some(partitioned))
    }

    fn inactive(
        of: impl Into<Belonging>,
        begin: Begin,
        partitioned: Option<Partitioned>,
    ) -> Request {
        let persistent = Persistent { begin, partitioned, started: Mutex::new(None) };
        Request { belonging: of.into(), form: Form::Persistent(Box::new(persistent)) }
    }

    /// The message of a partitioned request.
    fn in_partitions(&self) -> Option<&Partitioned> {
        match &self.form {
            Form::Persistent(persistent) => persistent.partitioned.as_ref(),
            Form::Once(_) | Form::Settled(_) => None,
        }
    }

    /// The operation of a generalized request, which the program completes itself.
    fn of_program(&self) -> Option<&Generalized> {
        match &self.form {
            Form::Once(Started { work: Work::Generalized(generalized), .. }) => Some(generalized),
            _ => None,
        }
    }

    /// Looks at what was started and has not been waited for.
    fn with_started<R>(&self, look: impl FnOnce(Option<&Started>) -> R) -> R {
        match &self.form {
            Form::Once(started) => look(Some(started)),
            Form::Persistent(persistent) => look(persistent.started().as_ref()),
            Form::Settled(settled) => look(Some(&Started::new(Work::Nothing(settled.word)))),
        }
    }

    /// Makes the requests that many operations share, in a job that this thread joins.
    pub fn settle() {
        if job::is_strict() {
            return;
        }
        for settled in settled::ALL {
            let belonging = Belonging::from(Owner::None);
            let handle = Handle::new(Request { belonging, form: Form::Settled(settled) });
            settled.begin(handle.value());
        }
    }

    /// The number of requests that the program holds.
    pub fn number() -> usize {
        let mut objects = 0;
        let is_own = |request: &Request| !matches!(request.form, Form::Settled(_));
        Request::table().each(|request| objects += usize::from(is_own(request)));
        objects + settled::ALL.iter().map(|settled| settled.held()).sum::<usize>()
    }

    /// The requests that the program holds at the end of the job, each in a word; from now on it gets no new ones.
    pub fn end_all() -> Vec<&'static str> {
        let objects = Request::table().clear();
        let mut open: Vec<_> = objects.iter().filter_map(Request::left_open).collect();
        for settled in settled::ALL {
            open.extend(iter::repeat_n(settled.word, settled.held()));
            settled.begin(0);
        }
        open
    }

    /// Marks partitions of an active send as ready; `partitions` has their numbers, and the number of
    /// all.
    pub fn ready(&self, partitions: impl FnOnce(u32) -> Outcome<Vec<u32>>) -> Outcome {
        let handed = match self.in_partitions().filter(|partitioned| partitioned.is_send()) {
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
        let arrived = match self.in_partitions().filter(|partitioned| !partitioned.is_send()) {
            None => Err(wrong("the request is no partitioned receive")),
            Some(receive) => partition().and_then(|partition| Ok(receive.has_arrived(partition)?)),
        };
        arrived.map_err(|failure| failure.of(self.belonging.owner()))
    }

    /// `MPI_Grequest_start`
    pub fn generalized(generalized: Generalized) -> Request {
        Request::new(Owner::None, Work::Generalized(Box::new(generalized)))
    }

    /// `MPI_Grequest_complete`
    pub fn finish_generalized(&self) -> Outcome {
        match self.of_program() {
            Some(generalized) => generalized.finish(),
            None => Err(wrong("the request is not a generalized one")),
        }
    }

    /// The handle of an operation that is complete when its call returns.
    #[inline(always)]
    pub fn complete(settled: &Settled, owner: Owner) -> MPI_Request {
        match settled.hand_out() {
            Some(handle) => Handle::predefined(handle),
            None => Handle::of_made(|| Request::new(owner, Work::Nothing(settled.word))),
        }
    }

    /// The same of an operation on a window.
    #[inline(always)]
    pub fn of_operation(win: MPI_Win, operation: onesided::Request<'static>) -> MPI_Request {
        match operation.is_checked() {
            false => Request::complete(&settled::OPERATIONS, Owner::Win(win)),
            true => Handle::of_made(|| Request::new(Owner::Win(win), Work::Operation(operation))),
        }
    }

    /// `MPI_Request_free`
    pub fn free(&self, handle: MPI_Request) -> Outcome {
        if let Form::Once(Started { work: Work::Operation(operation), .. }) = &self.form {
            operation.free();
        }
        self.release(handle)
    }

    /// The program has no handle of it any more; a pending operation continues.
    #[inline(always)]
    pub fn release(&self, handle: MPI_Request) -> Outcome {
        match &self.form {
            Form::Settled(settled) => {
                settled.take_back();
                Ok(())
            }
            Form::Once(Started { work: Work::Generalized(generalized), .. }) => {
                let released = generalized.release();
                handle.end()?;
                released
            }
            _ => handle.end(),
        }
    }

    pub fn is_persistent(&self) -> bool {
        matches!(self.form, Form::Persistent(_))
    }

    /// What the program has started and not completed, in a word; `None` for an inactive request.
    pub fn left_open(&self) -> Option<&'static str> {
        match &self.form {
            // They are counted where they are handed out.
            Form::Settled(_) => None,
            _ => self.with_started(|started| started.map(Started::word)),
        }
    }

    /// Whether it was started and has not been waited for.
    pub fn is_active(&self) -> bool {
        self.with_started(|started| started.is_some())
    }

    /// Adds what it waits for, if it is active.
    pub fn add_to(&self, waits: &mut Waits) {
        self.with_started(|started| started.into_iter().for_each(|started| started.add_to(waits)));
    }

    /// `MPI_Start`
    pub fn start(&self) -> Outcome {
        let Form::Persistent(persistent) = &self.form else {
            return Err(wrong("the request is not persistent"));
        };
        let mut started = persistent.started();
        if started.is_some() {
            return Err(wrong("the request has begun, and has not been waited for"));
        }
        *started = Some(Started::new((persistent.begin)()?));
        Ok(())
    }

    /// Whether it is complete, or inactive; makes progress.
    pub fn is_complete(&self) -> bool {
        self.with_started(|started| started.is_none_or(Started::is_complete))
    }

    /// Waits for it, if it is active.
    #[inline(always)]
    pub fn wait(&self, found: &mut Finished) -> Outcome {
        *found = Finished { was_active: true, ..Finished::NOTHING };
        let ended = match &self.form {
            Form::Once(started) => started.wait(&self.belonging, &mut found.status),
            Form::Persistent(persistent) => {
                // The lock is free while it waits: another thread may look at the request.
                let started = persistent.started().take();
                found.was_active = started.is_some();
                started.map_or(Ok(()), |one| one.wait(&self.belonging, &mut found.status))
            }
            Form::Settled(_) => Ok(()),
        };
        ended.map_err(|failure| failure.of(self.belonging.owner()))
    }

    /// The outcome of an active request that is complete, which stays to be waited for
    /// (`MPI_Request_get_status`).
    pub fn status(&self) -> Outcome<MPI_Status> {
        let look = |started: &Started| started.look(&self.belonging);
        let outcome = self.with_started(|started| started.map_or(Ok(status::EMPTY), look));
        outcome.map_err(|failure| failure.of(self.belonging.owner()))
    }

    /// `MPI_Cancel`
    pub fn cancel(&self) -> Outcome {
        let inactive = || Err(wrong("the request is not active"));
        self.with_started(|started| started.map_or_else(inactive, Started::cancel))
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
    const HAS_PREDEFINED: bool = false;

    fn table() -> &'static Table<Request> {
        static TABLE: Table<Request> = Table::new();
        &TABLE
    }
}
