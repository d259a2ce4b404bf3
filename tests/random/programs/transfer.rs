//! Put, get, accumulate and get_accumulate between layouts, and the requests of them.

use crate::programs::buffer::{Buffer, FRESH};
use crate::programs::operate::Hands;
use crate::programs::program::{Act, Completion, Kind, Use};
use crate::programs::sabotage::Sabotage;
use onesided::engine::Layout;
use onesided::{CommittedDatatype, Rank, Request, Result};

/// The datatypes of an act, which its request borrows.
pub struct Types {
    own: CommittedDatatype,
    target: CommittedDatatype,
}

/// The buffers of an act, which live until its request is complete.
pub struct Buffers {
    origin: Buffer,
    result: Buffer,
}

impl Types {
    pub fn new(act: &Act, sabotage: Sabotage) -> Types {
        let committed = |layout: crate::programs::layout::Layout| {
            layout.datatype(act.datatype).expect("a datatype of the standard")
        };
        Types { own: committed(act.own), target: committed(sabotage.layout(act)) }
    }
}

impl Buffers {
    pub fn new(act: &Act) -> Buffers {
        Buffers {
            origin: Buffer::of(act.own, act.datatype, &act.origin()),
            result: Buffer::fresh(act.own, act.datatype, act.count),
        }
    }

    /// What the act was given, or what is wrong with it.
    pub fn given(&self, act: &Act, sabotage: Sabotage) -> std::result::Result<Vec<u8>, String> {
        let given = self.result.elements()?;
        let fetches = act.fetches();
        if (act.used() == Use::Nothing || !fetches) && given.iter().any(|byte| *byte != FRESH) {
            return Err(format!("given {given:?} by a call that fetches nothing"));
        }
        Ok(if fetches { sabotage.given(act, given) } else { Vec::new() })
    }

    /// The act is complete at the origin: its data may go.
    pub fn reuse(&mut self) {
        self.origin.reuse();
    }
}

impl Hands<'_> {
    /// The operation; its request, if it has one that is not complete yet. `is_lasting`: whether the buffers live until
    /// its epoch has ended.
    pub fn transfer<'t>(
        &self,
        act: &Act,
        types: &'t Types,
        buffers: &mut Buffers,
        is_lasting: bool,
    ) -> Result<Option<Request<'t>>> {
        let (target, disp) = self.place(act);
        if act.completion == Completion::Call {
            self.call_now(act, types, (buffers, is_lasting), target, disp)?;
            return Ok(None);
        }
        if self.sabotage == Sabotage::RequestLate {
            buffers.reuse();
        }
        let request = self.request(act, types, buffers, target, disp)?;
        let open = complete(request, act.completion);
        if matches!(act.completion, Completion::Wait | Completion::Test) {
            buffers.reuse();
        }
        Ok(open)
    }

    fn call_now(
        &self,
        act: &Act,
        types: &Types,
        (buffers, is_lasting): (&mut Buffers, bool),
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let (win, count) = (self.win(), act.own.instances(act.count));
        let (given, result) = (count - self.sabotage.dropped(act), &mut buffers.result);
        let (from, into) = match is_lasting {
            true => {
                (buffers.origin.lasting(given, &types.own), result.lasting_mut(count, &types.own))
            }
            false => {
                (buffers.origin.origin(given, &types.own), result.origin_mut(count, &types.own))
            }
        };
        let layout = Layout::new(act.layout.instances(act.count), &types.target);
        // With one datatype on both sides the first lines of the call do it, as for the C interface.
        let same = act.own == self.sabotage.layout(act);
        let layout = if same { from.layout() } else { layout };
        match act.kind {
            Kind::Put => win.put_layout(from, target, disp, layout),
            Kind::Get => win.get_layout(into, target, disp, layout),
            Kind::Accumulate(op) => (0..self.sabotage.times(act))
                .try_for_each(|_| win.accumulate_layout(from, op, target, disp, layout)),
            Kind::GetAccumulate(op) => {
                win.get_accumulate_layout(from, into, op, target, disp, layout)
            }
            other => unreachable!("{other:?} takes no layouts"),
        }
    }

    fn request<'t>(
        &self,
        act: &Act,
        types: &'t Types,
        buffers: &mut Buffers,
        target: Rank,
        disp: u64,
    ) -> Result<Request<'t>> {
        let (win, count) = (self.win(), act.own.instances(act.count));
        // Only an epoch that ends here has operations with requests.
        let from = buffers.origin.lasting(count, &types.own);
        let into = buffers.result.lasting_mut(count, &types.own);
        let layout = Layout::new(act.layout.instances(act.count), &types.target);
        match act.kind {
            Kind::Put => win.rput_layout(from, target, disp, layout),
            Kind::Get => win.rget_layout(into, target, disp, layout),
            Kind::Accumulate(op) => win.raccumulate_layout(from, op, target, disp, layout),
            Kind::GetAccumulate(op) => {
                win.rget_accumulate_layout(from, into, op, target, disp, layout)
            }
            other => unreachable!("{other:?} takes no layouts"),
        }
    }
}

/// Completes a request, if it is not to be completed with others.
pub fn complete(mut request: Request<'_>, completion: Completion) -> Option<Request<'_>> {
    match completion {
        Completion::Together => return Some(request),
        Completion::Wait => request.wait(),
        Completion::Test => {
            while !request.test() {
                std::thread::yield_now();
            }
        }
        Completion::Call | Completion::Dropped => drop(request),
    }
    None
}

/// Completes the requests of a session, one way or another.
pub fn complete_all(mut requests: Vec<Request<'_>>) {
    match requests.len() % 3 {
        0 => Request::wait_all(&mut requests),
        1 => while !Request::test_all(&mut requests) {},
        _ => while Request::wait_any(&mut requests).is_some() {},
    }
    assert!(!requests.iter().any(Request::is_active), "all requests are complete");
}
