//! The acts as calls of the engine.
#![allow(unsafe_code, reason = "shared windows expose memory by address")]

use crate::programs::buffer::{Buffer, FRESH};
use crate::programs::exposed::Exposed;
use crate::programs::layout::Layout;
use crate::programs::mistakes;
use crate::programs::program::{Access, Act, Completion, Flush, Kind, Session, Use};
use crate::programs::sabotage::Sabotage;
use crate::programs::transfer::{Buffers, Types};
use crate::programs::value::{apply, of_type, size};
use onesided::engine::{Layout as Contiguous, Win};
use onesided::{Datatype, Element, Integer, Op, Rank, Request, Result};

/// Whether the epoch of an access ends while the session's buffers live, so that operations may use them as long.
pub fn ends(access: &Access) -> bool {
    !matches!(access, Access::Fence | Access::Nothing)
}

/// One rank's hands on a window.
pub struct Hands<'a> {
    pub exposed: &'a Exposed,
    pub sabotage: Sabotage,
}

impl Hands<'_> {
    pub fn win(&self) -> &Win {
        &self.exposed.win
    }

    /// Performs the acts of a session but for what its requests still have to do.
    pub fn acts<'t>(
        &self,
        session: &Session,
        types: &'t [Types],
        buffers: &mut [Buffers],
        requests: &mut Vec<Request<'t>>,
    ) -> Vec<std::result::Result<Vec<u8>, String>> {
        let acts = session.acts.iter().zip(types).zip(buffers);
        acts.map(|((act, types), buffers)| {
            if !act.is_general() {
                return self.act(&session.access, act);
            }
            let is_lasting = ends(&session.access);
            let request = self.transfer(act, types, buffers, is_lasting);
            requests.extend(request.map_err(|error| format!("refused: {error}"))?);
            match act.completion {
                Completion::Together | Completion::Dropped => Ok(Vec::new()),
                Completion::Call if is_lasting => Ok(Vec::new()),
                _ => buffers.given(act, self.sabotage),
            }
        })
        .collect()
    }

    /// Performs an act without layouts; returns what it was given, or what is wrong.
    fn act(&self, access: &Access, act: &Act) -> std::result::Result<Vec<u8>, String> {
        if self.sabotage.is_deadly(act) {
            std::process::abort();
        }
        if let Kind::Wrong(mistake) = act.kind {
            return mistakes::make(self.exposed, mistake, access, act).map(|()| Vec::new());
        }
        let given = self.call(act).map_err(|error| format!("refused: {error}"))?;
        if act.used() == Use::Nothing && given.iter().any(|byte| *byte != FRESH) {
            return Err(format!("given {given:?} by a call without elements"));
        }
        Ok(if act.fetches() { given } else { Vec::new() })
    }

    /// The target and the displacement of the call.
    pub fn place(&self, act: &Act) -> (Rank, u64) {
        let disp = self.exposed.disp(act.target, self.sabotage.disp(act));
        (act.target.map_or(Rank::NULL, Rank), disp)
    }

    fn call(&self, act: &Act) -> Result<Vec<u8>> {
        let (target, disp) = self.place(act);
        match act.kind {
            Kind::FetchAndOp(op) => self.fetch_and_op(act, op, target, disp),
            Kind::CompareAndSwap => self.compare_and_swap(act, target, disp),
            Kind::Guarded => self.guarded(act, target, disp),
            Kind::Flush(flush) => self.flush(flush, target).map(|()| Vec::new()),
            _ => self.local(act),
        }
    }

    /// A read-modify-write that the exclusive lock makes atomic.
    fn guarded(&self, act: &Act, target: Rank, disp: u64) -> Result<Vec<u8>> {
        let (win, count) = (self.win(), act.count as usize);
        let mut result = Buffer::fresh(Layout::Contiguous, act.datatype, act.count);
        win.lock(self.sabotage.guard(), target)?;
        let layout = Contiguous::new(count, act.datatype);
        win.get_layout(result.lasting_mut(count, act.datatype.into()), target, disp, layout)?;
        win.flush(target)?;
        // Any other rank that could enter now would.
        std::thread::yield_now();
        let (size, origin) = (size(act.datatype), act.origin());
        let given = result.elements().expect("elements without gaps");
        let pairs = given.chunks(size).zip(origin.chunks(size));
        let sums = pairs.flat_map(|(old, new)| apply(Op::Sum, act.datatype, old, new));
        let sums = Buffer::of(Layout::Contiguous, act.datatype, &sums.collect::<Vec<_>>());
        win.put_layout(sums.lasting(count, act.datatype.into()), target, disp, layout)?;
        win.unlock(target).map(|()| given)
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
                // SAFETY: `legal` has checked the range; no other thread writes these bytes now.
                Kind::DirectLoad => *byte = unsafe { at.read_volatile() },
                // SAFETY: as above; nor does any thread read them.
                _ => unsafe { at.write_volatile(*byte) },
            }
        }
        Ok(())
    }

    fn fetch_and_op(&self, act: &Act, op: Op, target: Rank, disp: u64) -> Result<Vec<u8>> {
        let fetch = of_type!(act.datatype, fetch);
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
