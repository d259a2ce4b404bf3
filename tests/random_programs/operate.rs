//! The acts as calls of the engine.
#![allow(unsafe_code, reason = "the engine takes untyped buffers and exposes memory by address")]

use crate::exposed::Exposed;
use crate::mistakes;
use crate::program::{Access, Act, Flush, Kind, Use};
use crate::sabotage::Sabotage;
use crate::value::{apply, size};
use onesided::engine::{Origin, OriginMut, Win};
use onesided::{
    Complex, Datatype, DoubleInt, Element, FloatInt, Integer, LockAssert, LongInt, Op, Rank,
    Result, ShortInt, TwoInt,
};

/// What no buffer holds before something is written to it.
const FRESH: u8 = 0xEE;

/// Bytes aligned for every datatype.
struct Buffer {
    words: Vec<u128>,
    bytes: usize,
}

impl Buffer {
    fn of(bytes: &[u8]) -> Buffer {
        let mut buffer = Buffer { words: vec![0; bytes.len().div_ceil(16)], bytes: bytes.len() };
        bytemuck::cast_slice_mut(&mut buffer.words)[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    fn origin(&self, act: &Act) -> Origin<'static> {
        let start = self.words.as_ptr().cast();
        // SAFETY: aligned and long enough; nobody writes the buffer while it is borrowed.
        unsafe { Origin::new(start, act.count as usize, act.datatype) }
    }

    fn origin_mut(&mut self, act: &Act) -> OriginMut<'static> {
        let start = self.words.as_mut_ptr().cast();
        // SAFETY: aligned, initialised and long enough; borrowed until the call returns.
        unsafe { OriginMut::new(start, act.count as usize, act.datatype) }
    }
}

/// One rank's hands on a window.
pub struct Hands<'a> {
    pub exposed: &'a Exposed,
    pub sabotage: Sabotage,
}

impl Hands<'_> {
    fn win(&self) -> &Win {
        &self.exposed.win
    }

    /// Performs the act in an epoch; returns what it was given, or what is wrong.
    pub fn act(&self, access: &Access, act: &Act) -> std::result::Result<Vec<u8>, String> {
        if self.sabotage.is_deadly(act) {
            std::process::abort();
        }
        if let Kind::Wrong(mistake) = act.kind {
            let class = mistakes::expected(mistake, access, act.target);
            let beyond = self.exposed.beyond(act.target, act.value);
            let refused = mistakes::make(self.win(), mistake, act, beyond);
            return match refused.as_ref().map_err(|error| error.class()).err() {
                found if found == class => Ok(Vec::new()),
                _ => Err(format!("{refused:?} instead of {class:?}")),
            };
        }
        let given = self.call(act).map_err(|error| format!("refused: {error}"))?;
        if act.used() == Use::Nothing && given.iter().any(|byte| *byte != FRESH) {
            return Err(format!("given {given:?} by a call without elements"));
        }
        Ok(if act.fetches() { given } else { Vec::new() })
    }

    fn call(&self, act: &Act) -> Result<Vec<u8>> {
        let target = act.target.map_or(Rank::NULL, Rank);
        let disp = self.exposed.disp(act.target, self.sabotage.disp(act));
        let origin = Buffer::of(&act.origin());
        let mut result = Buffer::of(&vec![FRESH; origin.bytes]);
        let win = self.win();
        match act.kind {
            Kind::Put => win.put_untyped(origin.origin(act), target, disp)?,
            Kind::Get => win.get_untyped(result.origin_mut(act), target, disp)?,
            Kind::Accumulate(op) => {
                for _ in 0..self.sabotage.times(act) {
                    win.accumulate_untyped(origin.origin(act), op, target, disp)?;
                }
            }
            Kind::GetAccumulate(op) => {
                let (from, to) = (origin.origin(act), result.origin_mut(act));
                win.get_accumulate_untyped(from, to, op, target, disp)?;
            }
            Kind::FetchAndOp(op) => return self.fetch_and_op(act, op, target, disp),
            Kind::CompareAndSwap => return self.compare_and_swap(act, target, disp),
            Kind::Guarded => self.guarded(act, target, disp, &mut result)?,
            Kind::Flush(flush) => self.flush(flush, target)?,
            _ => return self.local(act),
        }
        Ok(self.sabotage.given(act, result.bytes().into()))
    }

    /// A read-modify-write that the exclusive lock makes atomic.
    fn guarded(&self, act: &Act, target: Rank, disp: u64, result: &mut Buffer) -> Result<()> {
        let win = self.win();
        win.lock(self.sabotage.guard(), target, LockAssert::NONE)?;
        win.get_untyped(result.origin_mut(act), target, disp)?;
        win.flush(target)?;
        // Whoever else could come in now would.
        std::thread::yield_now();
        let size = size(act.datatype);
        let origin = act.origin();
        let pairs = result.bytes().chunks(size).zip(origin.chunks(size));
        let sums = pairs.flat_map(|(old, new)| apply(Op::Sum, act.datatype, old, new));
        let sums: Vec<u8> = sums.collect();
        win.put_untyped(Buffer::of(&sums).origin(act), target, disp)?;
        win.unlock(target)
    }

    fn flush(&self, flush: Flush, target: Rank) -> Result<()> {
        match flush {
            Flush::One => self.win().flush(target),
            Flush::All => self.win().flush_all(),
            Flush::Local => self.win().flush_local(target),
            Flush::LocalAll => self.win().flush_local_all(),
        }
    }

    fn local(&self, act: &Act) -> Result<Vec<u8>> {
        let mut bytes = act.origin();
        let disp = self.exposed.disp(act.target, act.disp);
        match act.kind {
            Kind::Load => self.win().load(disp, &mut bytes)?,
            Kind::Store => self.win().store(disp, &bytes)?,
            _ => self.direct(act, &mut bytes)?,
        }
        Ok(if act.used() == Use::Nothing { Vec::new() } else { bytes })
    }

    fn direct(&self, act: &Act, bytes: &mut [u8]) -> Result<()> {
        let target = act.target.expect("a direct access has a target");
        let (_, unit, start) = self.win().shared_query(Rank(target))?;
        let start = start.wrapping_add((act.disp * u64::from(unit)) as usize);
        for (k, byte) in bytes.iter_mut().enumerate() {
            let at = start.wrapping_add(k);
            match act.kind {
                // SAFETY: `legal` has checked the range; nobody else writes these bytes now.
                Kind::DirectLoad => *byte = unsafe { at.read_volatile() },
                // SAFETY: as above; nor does anybody read them.
                _ => unsafe { at.write_volatile(*byte) },
            }
        }
        Ok(())
    }

    fn fetch_and_op(&self, act: &Act, op: Op, target: Rank, disp: u64) -> Result<Vec<u8>> {
        let fetch = match act.datatype {
            Datatype::I8 => fetch::<i8>,
            Datatype::I16 => fetch::<i16>,
            Datatype::I32 => fetch::<i32>,
            Datatype::I64 => fetch::<i64>,
            Datatype::U8 => fetch::<u8>,
            Datatype::U16 => fetch::<u16>,
            Datatype::U32 => fetch::<u32>,
            Datatype::U64 => fetch::<u64>,
            Datatype::F32 => fetch::<f32>,
            Datatype::F64 => fetch::<f64>,
            Datatype::C32 => fetch::<Complex<f32>>,
            Datatype::C64 => fetch::<Complex<f64>>,
            Datatype::FloatInt => fetch::<FloatInt>,
            Datatype::DoubleInt => fetch::<DoubleInt>,
            Datatype::LongInt => fetch::<LongInt>,
            Datatype::TwoInt => fetch::<TwoInt>,
            Datatype::ShortInt => fetch::<ShortInt>,
            other => unreachable!("{other:?} is in no program"),
        };
        let given = fetch(self.win(), &act.origin(), op, target, disp)?;
        Ok(self.sabotage.given(act, given))
    }

    fn compare_and_swap(&self, act: &Act, target: Rank, disp: u64) -> Result<Vec<u8>> {
        use Datatype::*;
        let swap = match act.datatype {
            I8 => swap::<i8>,
            I16 => swap::<i16>,
            I32 => swap::<i32>,
            I64 => swap::<i64>,
            U8 => swap::<u8>,
            U16 => swap::<u16>,
            U32 => swap::<u32>,
            _ => swap::<u64>,
        };
        swap(self.win(), &act.origin(), &act.compare(), target, disp)
    }
}

fn fetch<T: Element>(win: &Win, origin: &[u8], op: Op, target: Rank, disp: u64) -> Result<Vec<u8>> {
    let origin: T = bytemuck::pod_read_unaligned(origin);
    let mut result = fresh::<T>();
    win.fetch_and_op(&origin, &mut result, op, target, disp)?;
    Ok(bytemuck::bytes_of(&result).into())
}

fn swap<T: Integer>(
    win: &Win,
    new: &[u8],
    compare: &[u8],
    target: Rank,
    disp: u64,
) -> Result<Vec<u8>> {
    let [new, compare]: [T; 2] = [new, compare].map(bytemuck::pod_read_unaligned);
    let mut result = fresh::<T>();
    win.compare_and_swap(&new, &compare, &mut result, target, disp)?;
    Ok(bytemuck::bytes_of(&result).into())
}

fn fresh<T: Element>() -> T {
    bytemuck::pod_read_unaligned(&[FRESH; 16][..size_of::<T>()])
}
