//! Statuses: what the library keeps in the members that the program does not see.

use crate::abi::*;
use std::ffi::c_int;

impl MPI_Status {
    /// Bytes received, also of what is not whole elements.
    pub fn bytes(&self) -> u64 {
        let [low, high, ..] = self.internal;
        u64::from(low as u32) | u64::from(high as u32) << 32
    }

    pub fn with_bytes(self, bytes: u64) -> MPI_Status {
        let [_, _, cancelled, a, b] = self.internal;
        let internal = [bytes as c_int, (bytes >> 32) as c_int, cancelled, a, b];
        MPI_Status { internal, ..self }
    }

    pub fn is_cancelled(&self) -> bool {
        self.internal[2] != 0
    }

    pub fn with_cancelled(mut self, cancelled: bool) -> MPI_Status {
        self.internal[2] = cancelled.into();
        self
    }
}
