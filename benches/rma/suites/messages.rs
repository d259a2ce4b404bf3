//! Messages: there and back between pairs of ranks, one way after the other, and round all ranks.

use crate::Options;
use crate::freed::Freed;
use crate::limits;
use crate::measure::{Case, measure};
use crate::pages::Pages;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use onesided::{Comm, Rank, Tag, Window};
use std::cell::RefCell;
use std::hint::black_box;
use std::io::IoSliceMut;

pub const PING_PONG: &str = "message there and back";
pub const ONE_WAY: &str = "messages one way";
pub const ROUND: &str = "sendrecv round all ranks";
const WORD: &str = "limit: a word there and back";
const COPY: &str = "limit: memcpy in private memory";
const KERNEL: &str = "limit: read of the other rank's memory by the kernel";

/// Lengths of messages, in bytes: around those that go another way.
const LENGTHS: [usize; 9] =
    [8, 64, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// From this many bytes on the kernel copies them.
const LONG: usize = 16 << 10;
/// Messages that go one way before an answer comes.
const IN_A_ROW: u32 = 16;

/// A rank, the other of its pair, and what they send each other.
struct Pair<'a> {
    world: &'a Comm,
    other: Rank,
    begins: bool,
    from: Vec<u8>,
    into: RefCell<Vec<u8>>,
}

impl Pair<'_> {
    fn send(&self) {
        self.world.send(&self.from, self.other, 0).expect("send");
    }

    fn receive(&self) {
        self.world.recv(&mut self.into.borrow_mut(), self.other, Tag::Any).expect("recv");
    }

    /// One sends and the other receives: in the first direction, or in the second.
    fn one_way(&self, first: bool) {
        if self.begins == first { self.send() } else { self.receive() }
    }

    fn there_and_back(&self, n: u32) {
        for _ in 0..n {
            self.one_way(true);
            self.one_way(false);
        }
    }

    fn in_a_row(&self, n: u32) {
        for k in 1..=n {
            self.one_way(true);
            if k % IN_A_ROW == 0 || k == n {
                self.one_way(false);
            }
        }
    }

    fn copy(&self, n: u32) {
        for _ in 0..n {
            black_box(&mut *self.into.borrow_mut()).copy_from_slice(black_box(&self.from));
        }
    }

    /// The process of the other rank, and where its bytes are.
    fn there(&self) -> (Pid, usize) {
        let mine = [u64::from(std::process::id()), self.from.as_ptr() as u64];
        let mut theirs = [0u64; 2];
        let (to, from) = ((self.other, 2), (self.other, 2));
        self.world.sendrecv(&mine, to, &mut theirs, from).expect("sendrecv");
        (Pid::from_raw(theirs[0] as i32), theirs[1] as usize)
    }

    /// What a receive of a long message cannot do without.
    fn read(&self, (process, base): (Pid, usize), n: u32) {
        if !self.begins {
            return;
        }
        let (into, len) = (&mut *self.into.borrow_mut(), self.from.len());
        for _ in 0..n {
            let remote = [RemoteIoVec { base, len }];
            let read = process_vm_readv(process, &mut [IoSliceMut::new(into)], &remote);
            assert_eq!(read, Ok(len));
        }
    }

    /// To the next rank, from the one before.
    fn round(&self, n: u32) {
        let (me, ranks) = (self.world.rank().0, self.world.size());
        let (left, right) = (Rank((me + ranks - 1) % ranks), Rank((me + 1) % ranks));
        for _ in 0..n {
            let into = &mut *self.into.borrow_mut();
            self.world.sendrecv(&self.from, (right, 1), into, (left, 1)).expect("sendrecv");
        }
    }
}

/// 8 bytes there and back between ranks 0 and 1.
pub fn short(world: &Comm) -> Case<'_> {
    let (other, begins) = (Rank(world.rank().0 ^ 1), world.rank() == 0);
    let pair = Pair { world, other, begins, from: vec![7; 8], into: RefCell::new(vec![0; 8]) };
    Case::new(PING_PONG, 8, move |n| pair.there_and_back(n))
}

pub fn run(world: &Comm, options: &Options) {
    let (me, ranks) = (world.rank().0, world.size());
    let window = Freed::new(Window::<u64>::allocate(world, 64));
    let pages = Pages::locate(world, &window, 0);
    for bytes in LENGTHS {
        let (from, into) = (vec![7; bytes], RefCell::new(vec![0; bytes]));
        let pair = Pair { world, other: Rank(me ^ 1), begins: me % 2 == 0, from, into };
        let (pair, length) = (&pair, bytes as u64);
        let there = pair.there();
        let limit = match bytes {
            ..LONG => Case::new(COPY, length, |n| pair.copy(n)),
            _ => Case::new(KERNEL, length, |n| pair.read(there, n)).longer(4),
        };
        let name = if bytes < LONG { COPY } else { KERNEL };
        let mut cases = vec![
            Case::new(PING_PONG, length, |n| pair.there_and_back(n)).longer(4),
            Case::new(ONE_WAY, length, |n| pair.in_a_row(n)).longer(4).against(name),
            limit,
        ];
        if bytes == 8 {
            cases.push(Case::new(ROUND, length, |n| pair.round(n)).longer(4));
        }
        measure(Some(world), ranks, cases, options);
        // A rank reads the memory of its pair by the kernel.
        world.barrier().expect("the job goes on");
    }
    if ranks == 2 {
        let by_hand = move |n| limits::ping_pong(pages, me == 0, n);
        measure(Some(world), ranks, vec![Case::new(WORD, 8, by_hand)], options);
    }
}
