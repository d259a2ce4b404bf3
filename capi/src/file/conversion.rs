//! The data of a buffer, as a file represents it.

use super::access::Buffer;
use super::representation::{Registered, Representation};
use crate::abi::*;
use crate::datatype::{Sequence, from_external, to_external};
use crate::failure::{Failure, Outcome};

/// That many bytes, all 0.
pub fn zeros(bytes: u64) -> Outcome<Vec<u8>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(bytes as usize).map_err(|_| {
        let why = format!("{bytes} bytes for the data side by side");
        Failure::new(MPI_ERR_NO_MEM, why)
    })?;
    zeros.resize(bytes as usize, 0);
    Ok(zeros)
}

/// Without a function that converts, the bytes of memory are those of the file.
fn check_unconverted(own: &Registered, memory: u64, file: u64) -> Outcome {
    if memory == file {
        return Ok(());
    }
    let name = &own.name;
    let why = format!("{name:?} has no function that makes {file} bytes in a file of {memory}");
    Err(Failure::new(MPI_ERR_CONVERSION, why))
}

impl Buffer {
    fn sequence(&self) -> Outcome<&'static Sequence> {
        Ok(self.handle.get()?.sequence())
    }

    /// Its bytes in a file.
    pub fn bytes_in(&self, representation: Representation) -> Outcome<u64> {
        match representation.is_memory() {
            true => Ok(self.bytes as u64),
            false => representation.size(self.sequence()?, self.count as u64),
        }
    }

    /// The data side by side.
    pub fn represented(&self, representation: Representation) -> Outcome<Vec<u8>> {
        match representation {
            Representation::Memory(_) => self.packed(),
            Representation::External => {
                to_external(self.sequence()?, self.count as u64, &self.packed()?)
            }
            Representation::Registered(own) => self.converted(own, representation),
        }
    }

    fn converted(&self, own: &Registered, representation: Representation) -> Outcome<Vec<u8>> {
        let whole = representation.whole(self.sequence()?, self.count as u64, u64::MAX)?;
        let Some(write) = &own.write else {
            check_unconverted(own, whole.memory, whole.file)?;
            return self.packed();
        };
        let mut file = zeros(whole.file)?;
        write.call(self.start, self.handle, whole.elements, &mut file, own.extra_state)?;
        Ok(file)
    }

    /// Takes data that lies side by side as the file has it; returns its bytes in memory. At the end of the file it is
    /// less than the buffer has room for, of which the rest stays as it is.
    pub fn take(&self, representation: Representation, file: &mut [u8]) -> Outcome<usize> {
        let (sequence, count) = (self.sequence()?, self.count as u64);
        let whole = representation.whole(sequence, count, file.len() as u64)?;
        let file = &mut file[..whole.file as usize];
        let data = match representation {
            Representation::External => from_external(sequence, count, file),
            Representation::Registered(own) => match &own.read {
                Some(read) => {
                    read.call(self.start, self.handle, whole.elements, file, own.extra_state)?;
                    return Ok(whole.memory as usize);
                }
                None => {
                    check_unconverted(own, whole.memory, whole.file)?;
                    file.to_vec()
                }
            },
            Representation::Memory(_) => file.to_vec(),
        };
        let mut packed = self.packed()?;
        packed[..data.len()].copy_from_slice(&data);
        self.start.origin_mut(self.count, self.datatype).unpack(&packed)?;
        Ok(data.len())
    }
}
