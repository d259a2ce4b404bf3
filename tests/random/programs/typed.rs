//! The typed face: windows of elements, whose acts are made on the guards of epochs.
//!
//! What the library refuses here kills the rank; such programs are shrunk too.

use crate::programs::buffer::FRESH;
use crate::programs::execute::{Has, group};
use crate::programs::layout::Layout;
use crate::programs::program::{
    Access as Epoch, Act, Completion, Flush, Kind, Phase, Session, Sync,
};
use crate::programs::transfer::{complete, complete_all};
use crate::programs::value::of_type;
use onesided::{
    Access, Comm, Datatype, Element, FenceAssert, LockEpoch, LockType, PassiveAccess, Rank,
    Request, Result, Shape, Window,
};

/// A window of elements of some type.
pub trait Typed {
    /// This rank's part in a phase; returns what each of its acts was given.
    fn phase(&mut self, phase: &Phase) -> Vec<Vec<u8>>;
    /// This rank's part, by local loads.
    fn own(&self) -> Vec<u8>;
    fn free(self: Box<Self>);
}

/// A window with the given number of bytes of this rank.
pub fn window(comm: &Comm, datatype: Datatype, bytes: u64) -> Box<dyn Typed> {
    of_type!(datatype, allocate)(comm, bytes)
}

fn allocate<T: Element>(comm: &Comm, bytes: u64) -> Box<dyn Typed> {
    Box::new(Window::<T>::allocate(comm, bytes as usize / size_of::<T>()).expect("a window"))
}

/// Whether there is a call of the typed face for the act, in a window of elements of `datatype`.
pub fn is_possible(datatype: Datatype, phase: &Phase, access: &Epoch, act: &Act) -> bool {
    use Kind::*;
    let is_call = match act.kind {
        Put | Get | Accumulate(_) | GetAccumulate(_) | FetchAndOp(_) | Flush(_) => true,
        Load | Store => phase.sync == Sync::Passive && *access == Epoch::Nothing,
        _ => false,
    };
    // Guards have no requests of shapes.
    let is_plain = (act.layout, act.own) == (Layout::Contiguous, Layout::Contiguous);
    is_call
        && act.target.is_some()
        && act.datatype == datatype
        && (is_plain || act.completion == Completion::Call)
        && has_shape(act.layout, act.count)
        && has_shape(act.own, act.count)
}

/// Whether the typed face can say where the given number of elements lie.
pub fn has_shape(layout: Layout, count: u64) -> bool {
    shape::<u8>(layout, count).is_some()
}

/// The layout as a shape of elements, of which there is one instance.
fn shape<T: Element>(layout: Layout, count: u64) -> Option<Shape<T>> {
    let index = |at: i64| usize::try_from(at).ok();
    let indices = |all: [i64; 2]| all.map(|at| at as usize);
    let shape = match layout {
        Layout::Contiguous => Shape::contiguous(count as usize),
        _ if layout.elements() != count => return None,
        Layout::Vector { blocks, length, stride } => {
            Shape::strided(blocks as usize, length as usize, index(stride)?)
        }
        Layout::IndexedBlock { length: 1, at } => {
            Shape::indices(&at.into_iter().map(index).collect::<Option<Vec<_>>>()?)
        }
        Layout::Subarray { sizes, subsizes, starts } => {
            Shape::block_2d(indices(sizes), indices(starts), indices(subsizes))
        }
        _ => return None,
    };
    Some(shape.expect("a shape of a few elements"))
}

/// The buffers of an act, with gaps where its own layout has them.
struct Buffers<T: Element> {
    origin: Vec<T>,
    result: Vec<T>,
    own: Shape<T>,
    target: Shape<T>,
    is_plain: bool,
}

impl<T: Element> Buffers<T> {
    fn new(act: &Act) -> Buffers<T> {
        let fresh: T = bytemuck::pod_read_unaligned(&[FRESH; 16][..size_of::<T>()]);
        let result = vec![fresh; act.own.range(1, act.count).end as usize];
        let mut origin = result.clone();
        // Of elements of one byte, offsets are indices.
        let values = act.origin();
        for (at, value) in act.own.offsets(1, act.count).zip(values.chunks(size_of::<T>())) {
            origin[at as usize] = bytemuck::pod_read_unaligned(value);
        }
        let shape = |layout| shape(layout, act.count).expect("a possible act");
        let is_plain = (act.own, act.layout) == (Layout::Contiguous, Layout::Contiguous);
        Buffers { origin, result, own: shape(act.own), target: shape(act.layout), is_plain }
    }

    fn given(mut self, act: &Act) -> Vec<u8> {
        let mut given = Vec::new();
        for at in act.own.offsets(1, act.count) {
            let element = bytemuck::bytes_of_mut(&mut self.result[at as usize]);
            given.extend_from_slice(element);
            element.fill(FRESH);
        }
        let rest: &[u8] = bytemuck::cast_slice(&self.result);
        assert!(rest.iter().all(|byte| *byte == FRESH), "{act:?} has written between elements");
        if act.fetches() { given } else { Vec::new() }
    }
}

impl<T: Element> Typed for Window<T> {
    fn phase(&mut self, phase: &Phase) -> Vec<Vec<u8>> {
        let sessions = &phase.ranks[self.comm().rank().index()];
        match phase.sync {
            Sync::Fence => fence(self, phase, &sessions[0]),
            Sync::Pscw => pscw(self, phase, &sessions[0]),
            Sync::Passive => {
                self.comm().barrier().expect("a barrier");
                let given = sessions.iter().flat_map(|session| passive(self, session)).collect();
                self.sync();
                self.comm().barrier().expect("a barrier");
                self.sync();
                given
            }
        }
    }

    fn own(&self) -> Vec<u8> {
        let mut own = vec![T::zeroed(); self.len()];
        self.load(0, &mut own).expect("the own part");
        bytemuck::cast_slice(&own).to_vec()
    }

    fn free(self: Box<Self>) {
        Window::free(*self).expect("a window without epochs");
    }
}

fn fence<T: Element>(window: &mut Window<T>, phase: &Phase, session: &Session) -> Vec<Vec<u8>> {
    let [first, last] = match phase.asserts {
        true => Has::new(phase, window.comm().rank().0).fence_asserts(),
        false => [FenceAssert::NONE; 2],
    };
    let mut buffers = all_buffers(session);
    let epoch = window.fence_with(first).expect("the first fence");
    perform(session, &mut buffers, |act, on| operate(&epoch, act, on));
    epoch.close_with(last).expect("the last fence");
    given(session, buffers)
}

fn pscw<T: Element>(window: &mut Window<T>, phase: &Phase, session: &Session) -> Vec<Vec<u8>> {
    let comm = window.comm().clone();
    let origins = (0..phase.ranks.len()).filter(|origin| phase.starts(*origin, comm.rank().0));
    let origins = group(&comm, origins.map(|origin| origin as u32));
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&origins).expect("post");
    let mut buffers = all_buffers(session);
    if let Epoch::Start(targets) = &session.access {
        let targets = group(&comm, targets.iter().copied());
        let epoch = access.start(&targets).expect("start");
        perform(session, &mut buffers, |act, on| operate(&epoch, act, on));
        epoch.complete().expect("complete");
    }
    exposed.wait().expect("wait");
    given(session, buffers)
}

fn passive<T: Element>(window: &mut Window<T>, session: &Session) -> Vec<Vec<u8>> {
    let mut buffers = all_buffers(session);
    match &session.access {
        Epoch::All => all(window, session, &mut buffers),
        Epoch::Locks(locks) => locked(window, locks, session, &mut buffers),
        // Outside epochs, the own part as a slice.
        _ => perform(session, &mut buffers, |act, on| {
            let mut own = window.lock_local()?;
            let own = &mut own[act.disp as usize..][..act.count as usize];
            match act.kind {
                Kind::Load => on.result.copy_from_slice(own),
                _ => own.copy_from_slice(&on.origin),
            }
            Ok(())
        }),
    }
    given(session, buffers)
}

fn all<T: Element>(window: &mut Window<T>, session: &Session, buffers: &mut [Buffers<T>]) {
    let mut requests = Vec::new();
    let epoch = window.lock_all().expect("lock_all");
    perform(session, buffers, |act, on| match (act.kind, target(act)) {
        (Kind::Flush(Flush::One), target) => epoch.flush(target),
        (Kind::Flush(Flush::All), _) => epoch.flush_all(),
        (Kind::Flush(Flush::Local), target) => epoch.flush_local(target),
        (Kind::Flush(Flush::LocalAll), _) => epoch.flush_local_all(),
        _ if act.completion == Completion::Call => operate(&epoch, act, on),
        _ => {
            requests.extend(complete(request(&epoch, act, on)?, act.completion));
            Ok(())
        }
    });
    complete_all(requests);
    epoch.unlock_all().expect("unlock_all");
}

fn locked<T: Element>(
    window: &Window<T>,
    locks: &[(u32, bool)],
    session: &Session,
    buffers: &mut [Buffers<T>],
) {
    let mut requests = Vec::new();
    let lock = |(target, exclusive): &(u32, bool)| {
        let kind = if *exclusive { LockType::Exclusive } else { LockType::Shared };
        window.lock(kind, Rank(*target)).expect("a lock")
    };
    let epochs: Vec<LockEpoch<'_, '_, T>> = locks.iter().map(lock).collect();
    perform(session, buffers, |act, on| {
        let of_target = |epoch: &&LockEpoch<'_, '_, T>| epoch.target() == target(act);
        let epoch = epochs.iter().find(of_target);
        let epoch = || epoch.expect("a lock of the target");
        match act.kind {
            Kind::Flush(Flush::One) => epoch().flush(),
            Kind::Flush(Flush::Local) => epoch().flush_local(),
            Kind::Flush(_) => epochs.iter().try_for_each(LockEpoch::flush),
            _ if act.completion == Completion::Call => operate(epoch(), act, on),
            _ => {
                let request = request(epoch(), act, on)?;
                requests.extend(complete(request, act.completion));
                Ok(())
            }
        }
    });
    complete_all(requests);
    epochs.into_iter().try_for_each(LockEpoch::unlock).expect("unlock");
}

fn all_buffers<T: Element>(session: &Session) -> Vec<Buffers<T>> {
    session.acts.iter().map(Buffers::new).collect()
}

fn given<T: Element>(session: &Session, buffers: Vec<Buffers<T>>) -> Vec<Vec<u8>> {
    session.acts.iter().zip(buffers).map(|(act, buffers)| buffers.given(act)).collect()
}

fn target(act: &Act) -> Rank {
    Rank(act.target.expect("an act of the typed face has a target"))
}

fn perform<'b, T: Element>(
    session: &Session,
    buffers: &'b mut [Buffers<T>],
    mut make: impl FnMut(&Act, &'b mut Buffers<T>) -> Result<()>,
) {
    for (act, on) in session.acts.iter().zip(buffers) {
        make(act, on).unwrap_or_else(|error| panic!("{act:?}: refused: {error}"));
    }
}

fn operate<'b, T: Element>(
    epoch: &impl Access<'b, T>,
    act: &Act,
    on: &'b mut Buffers<T>,
) -> Result<()> {
    let (target, disp, plain) = (target(act), act.disp, on.is_plain);
    let Buffers { origin, result, own, target: to, .. } = on;
    match act.kind {
        Kind::Put if plain => epoch.put(origin, target, disp as usize),
        Kind::Put => epoch.put_shaped(own.over(origin)?, target, disp as usize, to),
        Kind::Get if plain => epoch.get(result, target, disp as usize),
        Kind::Get => epoch.get_shaped(own.over_mut(result)?, target, disp as usize, to),
        Kind::Accumulate(op) if plain => epoch.accumulate(origin, op, target, disp as usize),
        Kind::Accumulate(op) => {
            epoch.accumulate_shaped(own.over(origin)?, op, target, disp as usize, to)
        }
        Kind::GetAccumulate(op) if plain => {
            epoch.get_accumulate(origin, result, op, target, disp as usize)
        }
        Kind::GetAccumulate(op) => {
            let (origin, result) = (own.over(origin)?, own.over_mut(result)?);
            epoch.get_accumulate_shaped(origin, result, op, target, disp as usize, to)
        }
        Kind::FetchAndOp(op) => {
            epoch.fetch_and_op(&origin[0], &mut result[0], op, target, disp as usize)
        }
        other => unreachable!("{other:?} is no call of the typed face"),
    }
}

fn request<'b, T: Element>(
    epoch: &impl PassiveAccess<T>,
    act: &Act,
    on: &'b mut Buffers<T>,
) -> Result<Request<'b>> {
    let (target, disp) = (target(act), act.disp);
    let Buffers { origin, result, .. } = on;
    match act.kind {
        Kind::Put => epoch.rput(origin, target, disp as usize),
        Kind::Get => epoch.rget(result, target, disp as usize),
        Kind::Accumulate(op) => epoch.raccumulate(origin, op, target, disp as usize),
        Kind::GetAccumulate(op) => epoch.rget_accumulate(origin, result, op, target, disp as usize),
        other => unreachable!("{other:?} takes no request"),
    }
}
