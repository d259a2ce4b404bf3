//! Messages: there and back between pairs of ranks, one way after the other, and round all ranks.

use crate::Options;
use crate::limits;
use crate::measure::{Case, measure};
use crate::pages::Pages;
use onesided::{Comm, Rank, Tag, Window};
use std::cell::RefCell;
use std::hint::black_box;

pub const PING_PONG: &str = "message there and back";
pub const ONE_WAY: &str = "messages one way";
pub const ROUND: &str = "sendrecv round all ranks";
const WORD: &str = "limit: a word there and back";
const COPY: &str = "limit: memcpy in private memory";

/// Lengths of messages, in bytes: around those that go another way.
const LENGTHS: [usize; 9] =
    [8, 64, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Messages that go one way before an answer comes.
const IN_A_ROW: u32 = 16;

pub fn run(world: &Comm, options: &Options) {
    let (me, ranks) = (world.rank(), world.size());
    let other = Rank(me ^ 1);
    let window = Window::<u64>::allocate(world, 64).expect("a window");
    let pages = Pages::locate(world, &window, 0);
    for bytes in LENGTHS {
        let (from, into) = (vec![7u8; bytes], RefCell::new(vec![0u8; bytes]));
        let send = || world.send(&from, other, 0).expect("send");
        let receive = || drop(world.recv(&mut into.borrow_mut(), other, Tag::Any).expect("recv"));
        let there_and_back = |n| {
            for _ in 0..n {
                if me % 2 == 0 {
                    send();
                    receive();
                } else {
                    receive();
                    send();
                }
            }
        };
        let one_way = |n| {
            for k in 0..n {
                if me % 2 == 0 {
                    send()
                } else {
                    receive()
                }
                if k % IN_A_ROW == IN_A_ROW - 1 || k == n - 1 {
                    if me % 2 == 0 { receive() } else { send() }
                }
            }
        };
        let copy = |n| {
            for _ in 0..n {
                black_box(&mut *into.borrow_mut()).copy_from_slice(black_box(&from));
            }
        };
        let length = bytes as u64;
        let mut cases = vec![Case::new(PING_PONG, length, there_and_back).longer(4)];
        if bytes == 8 && ranks == 2 {
            let by_hand = |n| limits::ping_pong(pages, me == 0, n);
            cases = cases.into_iter().map(|case| case.against(WORD)).collect();
            cases.push(Case::new(WORD, length, by_hand));
        }
        if bytes == 8 {
            let (left, right) = (Rank((me + ranks - 1) % ranks), Rank((me + 1) % ranks));
            let round = |n| {
                for _ in 0..n {
                    let into = &mut *into.borrow_mut();
                    world.sendrecv(&from, (right, 1), into, (left, 1)).expect("sendrecv");
                }
            };
            cases.push(Case::new(ROUND, length, round).longer(4));
        } else {
            cases.push(Case::new(ONE_WAY, length, one_way).longer(4).against(COPY));
            cases.push(Case::new(COPY, length, copy));
        }
        measure(Some(world), ranks, cases, options);
    }
    world.barrier().expect("the job goes on");
}
