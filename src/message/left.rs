//! What a rank that leaves the job has not completed or received (MPI-4.1 §11.2.4).

use super::Channel;
use super::mailbox::{Mailbox, MailboxState};
use super::matching::Envelope;
use super::slots::RequestStage;
use crate::context::Context;

/// The number of each, in the order of their first.
///
/// ```
/// assert_eq!(onesided::engine::numbers_of(&["send", "receive", "send"]), "2 sends, 1 receive");
/// ```
#[doc(hidden)]
pub fn numbers_of(words: &[&str]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in words {
        match counts.iter_mut().find(|(known, _)| known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let plural = |count| if count == 1 { "" } else { "s" };
    let listed = counts.iter().map(|(word, count)| format!("{count} {word}{}", plural(*count)));
    listed.collect::<Vec<_>>().join(", ")
}

/// The process's mailbox with all that has arrived.
fn mailbox(context: &Context) -> Option<&'static Mailbox> {
    let mailbox = Mailbox::of(context).ok()?;
    // In a job that has failed, less.
    let _ = mailbox.look(context, |_| false);
    Some(mailbox)
}

/// What is under way: what the program has not waited for, or dropped before it was complete.
pub(super) fn not_completed(context: &Context) -> Option<String> {
    let mailbox = mailbox(context)?;
    let mut words = mailbox.lock().slots.open().filter_map(name).collect::<Vec<_>>();
    words.extend(mailbox.driven.names());
    (!words.is_empty()).then(|| numbers_of(&words))
}

/// The messages of the program that have come, and that nothing has received.
pub(super) fn not_received(context: &Context) -> Option<String> {
    let mailbox = mailbox(context)?;
    let state: &MailboxState = &mailbox.lock();
    let mut messages = state.unexpected.all().filter(|envelope| is_program(envelope));
    let Envelope { source, tag, .. } = messages.next()?;
    let number = numbers_of(&vec!["message"; 1 + messages.count()]);
    Some(format!("{number}; the first is from rank {source}, with tag {tag}"))
}

fn is_program(envelope: &Envelope) -> bool {
    Channel::Program.is_of(envelope.context)
}

/// What the program calls a request that is not done, if it is one of its own.
fn name(stage: &RequestStage) -> Option<&'static str> {
    let (name, envelope) = match stage {
        RequestStage::Offered { envelope, .. } => ("send", envelope),
        RequestStage::Posted { wanted: envelope, .. } | RequestStage::Promised { envelope, .. } => {
            ("receive", envelope)
        }
        RequestStage::Pulling | RequestStage::Done(_) => return None,
    };
    is_program(envelope).then_some(name)
}
