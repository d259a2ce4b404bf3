//! A pending duplication of a communicator (`MPI_Comm_idup`): the program gets the handle when the request
//! is complete.

use crate::abi::*;
use crate::arguments::{Address, Ptr};
use crate::attribute;
use crate::comm::Heritage;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use onesided::DuplicateRequest;

/// A pending duplication.
pub struct Duplication {
    heritage: Heritage,
    comm: DuplicateRequest,
    /// Of an intercommunicator, the communicator of both groups.
    both: Option<DuplicateRequest>,
    /// The address for the handle.
    newcomm: Address,
}

impl Duplication {
    pub fn begin(handle: MPI_Comm, newcomm: Ptr<MPI_Comm>) -> Outcome<Duplication> {
        let of = handle.get()?;
        if newcomm.is_null() {
            return Err(Failure::new(MPI_ERR_ARG, "there is no place for the new communicator"));
        }
        let comm = attribute::about(handle, || of.comm.idup())?;
        let both = of.inter.as_ref().map(|inter| inter.both.idup()).transpose()?;
        Ok(Duplication { heritage: of.heritage(), comm, both, newcomm: newcomm.later() })
    }

    pub fn is_complete(&self) -> bool {
        self.comm.is_complete() && self.both.as_ref().is_none_or(DuplicateRequest::is_complete)
    }

    /// Waits for it, and gives the program the handle.
    pub fn finish(&self) -> Outcome {
        let both = self.both.as_ref().map(DuplicateRequest::wait).transpose();
        let copy = self.heritage.with(self.comm.wait()?, both?)?;
        self.newcomm.place().set(Handle::new(copy))
    }
}
