//! Copies to and from private memory of the ranks' processes, by the kernel and without their help.
#![allow(unsafe_code, reason = "names local memory by address for the kernel to copy")]

use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};

/// Bytes per system call: the kernel moves at most 2 GiB less a page.
const MOST: usize = 1 << 30;

/// Pieces per system call: half of what the kernel takes (`IOV_MAX`).
const MOST_PIECES: usize = 512;

/// Bytes to be copied between this process and another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) own: *mut u8,
    /// In the other process.
    pub(crate) other: *mut u8,
    /// Not zero.
    pub(crate) bytes: usize,
}

impl Piece {
    /// The rest after the first `bytes` bytes.
    fn behind(self, bytes: usize) -> Piece {
        let Piece { own, other, bytes: all } = self;
        Piece { own: own.wrapping_add(bytes), other: other.wrapping_add(bytes), bytes: all - bytes }
    }

    fn remote(&self) -> RemoteIoVec {
        RemoteIoVec { base: self.other as usize, len: self.bytes }
    }
}

/// A process whose memory the kernel copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(i32);

impl Process {
    /// This process.
    pub(crate) fn own() -> Process {
        Process(nix::unistd::getpid().as_raw())
    }

    /// The process with that number.
    pub(crate) fn numbered(pid: i32) -> Process {
        Process(pid)
    }

    pub(crate) fn number(self) -> i32 {
        self.0
    }

    /// Copies `bytes` bytes from the address `from` of the process to `to`.
    ///
    /// # Errors
    /// The kernel's: `EFAULT` for memory that is not mapped, `EPERM`, `ESRCH`.
    ///
    /// # Safety
    /// `to` is valid for writes of `bytes` bytes that no Rust reference is to.
    pub(crate) unsafe fn read(self, from: *const u8, to: *mut u8, bytes: usize) -> Result<()> {
        in_chunks(bytes, |done, n| {
            // SAFETY: a part of the caller's bytes; any bytes are valid.
            let to = unsafe { std::slice::from_raw_parts_mut(to.wrapping_add(done), n) };
            let from = RemoteIoVec { base: from as usize + done, len: n };
            Ok(process_vm_readv(Pid::from_raw(self.0), &mut [IoSliceMut::new(to)], &[from])?)
        })
    }

    /// Copies `bytes` bytes from `from` to the address `to` of the process.
    ///
    /// # Errors
    /// The kernel's: `EFAULT` for memory that is not mapped, `EPERM`, `ESRCH`.
    ///
    /// # Safety
    /// `from` is valid for reads of `bytes` bytes, and the memory at `to` is exposed by its owner.
    pub(crate) unsafe fn write(self, from: *const u8, to: *mut u8, bytes: usize) -> Result<()> {
        in_chunks(bytes, |done, n| {
            // SAFETY: a part of the caller's bytes.
            let from = unsafe { std::slice::from_raw_parts(from.wrapping_add(done), n) };
            let to = RemoteIoVec { base: to as usize + done, len: n };
            Ok(process_vm_writev(Pid::from_raw(self.0), &[IoSlice::new(from)], &[to])?)
        })
    }

    /// [`Process::read`] of many pieces.
    ///
    /// # Errors
    /// The kernel's: `EFAULT` for memory that is not mapped, `EPERM`, `ESRCH`.
    ///
    /// # Safety
    /// 1. Each own piece is valid for writes, and no Rust reference is to it.
    /// 2. No two own pieces overlap.
    pub(crate) unsafe fn read_pieces(self, pieces: &[Piece]) -> Result<()> {
        if let &[Piece { own, other, bytes }] = pieces {
            // SAFETY: obligation 1.
            return unsafe { self.read(other, own, bytes) };
        }
        in_batches(pieces, |batch| {
            let slice = |piece: &Piece| {
                // SAFETY: obligations 1 and 2; any bytes are valid.
                IoSliceMut::new(unsafe { std::slice::from_raw_parts_mut(piece.own, piece.bytes) })
            };
            let mut to: Vec<_> = batch.iter().map(slice).collect();
            let from: Vec<_> = batch.iter().map(Piece::remote).collect();
            Ok(process_vm_readv(Pid::from_raw(self.0), &mut to, &from)?)
        })
    }

    /// [`Process::write`] of many pieces.
    ///
    /// # Errors
    /// The kernel's: `EFAULT` for memory that is not mapped, `EPERM`, `ESRCH`.
    ///
    /// # Safety
    /// Each own piece is valid for reads, and the memory of each other piece is exposed by its
    /// owner.
    pub(crate) unsafe fn write_pieces(self, pieces: &[Piece]) -> Result<()> {
        if let &[Piece { own, other, bytes }] = pieces {
            // SAFETY: the caller's obligation.
            return unsafe { self.write(own, other, bytes) };
        }
        in_batches(pieces, |batch| {
            let slice = |piece: &Piece| {
                // SAFETY: the caller's obligation.
                IoSlice::new(unsafe { std::slice::from_raw_parts(piece.own, piece.bytes) })
            };
            let from: Vec<_> = batch.iter().map(slice).collect();
            let to: Vec<_> = batch.iter().map(Piece::remote).collect();
            Ok(process_vm_writev(Pid::from_raw(self.0), &from, &to)?)
        })
    }

    /// Checks that this process may read and write `bytes` bytes at `at` of the process, on the first
    /// and the last byte, without writing any.
    pub(crate) fn probe(self, at: *mut u8, bytes: usize) -> Result<()> {
        for at in [at, at.wrapping_add(bytes - 1)] {
            let mut byte = 0u8;
            // SAFETY: a local byte.
            unsafe { self.read(at, &raw mut byte, 1) }?;
        }
        // Of no bytes: a system may permit one call and not the other.
        process_vm_writev(Pid::from_raw(self.0), &[], &[])?;
        Ok(())
    }
}

/// Calls `transfer(done, next)` until all bytes are transferred.
fn in_chunks(bytes: usize, mut transfer: impl FnMut(usize, usize) -> Result<usize>) -> Result<()> {
    let mut done = 0;
    while done < bytes {
        match transfer(done, (bytes - done).min(MOST))? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => done += n,
        }
    }
    Ok(())
}

/// Calls `transfer` with as many pieces as one call takes, until all are transferred. It returns how
/// many bytes of its pieces it has transferred.
fn in_batches(pieces: &[Piece], mut transfer: impl FnMut(&[Piece]) -> Result<usize>) -> Result<()> {
    for chunk in pieces.chunks(MOST_PIECES) {
        let mut batch = chunk.to_vec();
        while !batch.is_empty() {
            let mut done = transfer(&batch)?;
            if done == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let mut moved = 0;
            while let Some(piece) = batch.get(moved).filter(|piece| piece.bytes <= done) {
                done -= piece.bytes;
                moved += 1;
            }
            batch.drain(..moved);
            if let Some(first) = batch.first_mut() {
                *first = first.behind(done);
            }
        }
    }
    Ok(())
}

/// Allows `tracer` and its descendants to access this process's private memory, where the system
/// restricts that to named processes (Yama).
pub(crate) fn admit(tracer: u32) {
    let pid = rustix::process::Pid::from_raw(tracer as i32);
    if let Some(pid) = pid {
        // Fails on systems without Yama, which do not need it.
        let _ = rustix::process::set_ptracer(rustix::process::PTracer::ProcessID(pid));
    }
}

/// Whether that is the kernel's answer for a process that has ended.
pub(crate) fn is_gone(error: &Error) -> bool {
    error.raw_os_error() == Some(nix::Error::ESRCH as i32)
}
