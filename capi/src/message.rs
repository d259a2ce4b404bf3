//! Messages that were matched and not yet received (MPI-4.1 §3.8.2).

use crate::abi::*;
use crate::belonging::Belonging;
use crate::handle::{Object, Table};
use crate::raise::Owner;
use onesided::engine::Message;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

/// What an `MPI_Message` stands for.
pub struct MessageObject {
    message: Mutex<Message>,
    pub belonging: Belonging,
}

impl MessageObject {
    pub fn new(comm: MPI_Comm, message: Message) -> MessageObject {
        MessageObject { message: Mutex::new(message), belonging: Owner::Comm(comm).into() }
    }

    pub fn into_inner(self) -> (Message, Belonging) {
        (self.message.into_inner().unwrap_or_else(PoisonError::into_inner), self.belonging)
    }
}

impl Object for MessageObject {
    const NAME: &'static str = "MPI_Message";
    const NULL: usize = MPI_MESSAGE_NULL;
    const CLASS: c_int = MPI_ERR_REQUEST;
    const KIND: usize = 11;

    fn table() -> &'static Table<MessageObject> {
        static TABLE: Table<MessageObject> = Table::new();
        &TABLE
    }
}
