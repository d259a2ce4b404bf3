//! Runs a model through all its executions within bounds.

use crate::prim::model::{self, Mutant, Setting};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// Longest execution. Ranks that wait for each other for ever reach it, and fail.
const MAX_BRANCHES: usize = 3000;

/// How much of a model is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Failed polls that branch, of each wait; later ones follow the default schedule.
    pub polls: usize,
    /// Most preemptions of one execution; `None` explores any number.
    pub preemptions: Option<usize>,
}

/// No bound on preemptions: two ranks.
pub const EXHAUSTIVE: Bounds = Bounds { polls: 1, preemptions: None };
/// No bound on preemptions, but a wait that fails once does not branch again.
pub const ONE_LOOK: Bounds = Bounds { polls: 0, preemptions: None };
/// Five preemptions: two ranks in programs too long for an exhaustive search.
pub const BOUND_5: Bounds = Bounds { polls: 1, preemptions: Some(5) };
/// Three preemptions.
pub const BOUND_3: Bounds = Bounds { polls: 1, preemptions: Some(3) };
/// Two preemptions: three ranks.
pub const BOUND_2: Bounds = Bounds { polls: 1, preemptions: Some(2) };
/// One preemption: three ranks that sleep and wake in programs too long for two.
pub const BOUND_1: Bounds = Bounds { polls: 1, preemptions: Some(1) };
/// Two preemptions and no failed polls: four ranks. Too weak to find algorithm faults.
pub const WIDE: Bounds = Bounds { polls: 0, preemptions: Some(2) };

/// A program of ranks over the words of one protocol, and how it is explored.
#[derive(Clone)]
pub struct Model {
    /// Protocol, program and variant, as in `fence/neighbours`.
    pub name: String,
    /// Its ranks (the failure models add a launcher).
    pub ranks: usize,
    /// Waiters sleep instead of polling.
    pub park: bool,
    /// MEM_SYNC is the full barrier, because that is what the model shows.
    pub full_barrier: bool,
    /// How often a rank contends for a lock that is held before it queues.
    pub contends: u32,
    /// Each rank has a core: exclusive lockers queue by their nodes.
    pub has_cores: bool,
    /// Bounds of the ordinary test command.
    pub short: Bounds,
    /// Bounds of the deep command.
    pub deep: Bounds,
    program: Arc<dyn Fn() + Send + Sync>,
}

/// What an exploration without a finding went through.
#[derive(Clone, Copy, Debug)]
pub struct Explored {
    /// Executions.
    pub executions: usize,
    /// Wall time.
    pub elapsed: Duration,
}

/// The first execution that went wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// loom's message, or the failed assertion of the program.
    pub message: String,
    /// Executions until then.
    pub executions: usize,
    /// Wall time until then.
    pub elapsed: Duration,
}

impl Model {
    /// A model of `ranks` ranks, explored as their number affords.
    pub fn new(
        protocol: &str,
        program: &str,
        ranks: usize,
        run: impl Fn(usize) + Send + Sync + 'static,
    ) -> Model {
        let (short, deep) = match ranks {
            0..=2 => (EXHAUSTIVE, EXHAUSTIVE),
            3 => (BOUND_2, BOUND_3),
            _ => (WIDE, WIDE),
        };
        Model {
            name: format!("{protocol}/{program} x{ranks}"),
            ranks,
            park: false,
            full_barrier: false,
            contends: 0,
            has_cores: false,
            short,
            deep,
            program: Arc::new(move || run(ranks)),
        }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn within(self, short: Bounds, deep: Bounds) -> Model {
        Model { short, deep, ..self }
    }

    /// The same with waiters that sleep.
    #[must_use]
    pub fn parked(self) -> Model {
        Model { name: format!("{} asleep", self.name), park: true, ..self }
    }

    /// The same with ranks that contend for a lock once before they queue.
    #[must_use]
    pub fn contending(self) -> Model {
        Model { name: format!("{} contending", self.name), contends: 1, ..self }
    }

    /// The same with ranks that have a core each, and queue by their nodes.
    #[must_use]
    pub fn queued(self) -> Model {
        Model { name: format!("{} queued", self.name), has_cores: true, ..self }
    }

    /// The same with MEM_SYNC as a full barrier.
    #[must_use]
    pub fn with_full_barrier(self) -> Model {
        Model { full_barrier: true, ..self }
    }

    /// The bounds of the ordinary or the deep command.
    pub fn bounds(&self, deep: bool) -> Bounds {
        if deep { self.deep } else { self.short }
    }

    /// Explores every execution within `bounds`, or up to the first that goes wrong.
    pub fn explore(&self, mutant: Mutant, bounds: Bounds) -> Result<Explored, Finding> {
        model::set(Setting {
            mutant,
            park: self.park,
            polls: bounds.polls,
            full_barrier: self.full_barrier,
            contends: self.contends,
            has_cores: self.has_cores,
        });
        let executions = Arc::new(std::sync::Mutex::new(0));
        let (counter, program) = (executions.clone(), self.program.clone());
        let start = Instant::now();
        let outcome = quietly(|| {
            builder(bounds).check(move || {
                *lock(&counter) += 1;
                program();
            });
        });
        let (executions, elapsed) = (*lock(&executions), start.elapsed());
        match outcome {
            Ok(()) => Ok(Explored { executions, elapsed }),
            Err(message) => Err(Finding { message, executions, elapsed }),
        }
    }
}

fn lock(counter: &std::sync::Mutex<usize>) -> std::sync::MutexGuard<'_, usize> {
    counter.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn builder(bounds: Bounds) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = MAX_BRANCHES;
    builder.preemption_bound = bounds.preemptions;
    // A limit from the environment would end an exploration early, and silently.
    builder.max_permutations = None;
    builder.max_duration = None;
    builder
}

thread_local! {
    static EXPECTS_PANICS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; a panic in it is returned as its first line instead of being printed.
fn quietly(f: impl FnOnce()) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !EXPECTS_PANICS.get() {
                usual(panic);
            }
        }));
    });
    EXPECTS_PANICS.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(f));
    EXPECTS_PANICS.set(false);
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        text.lines().next().unwrap_or_default().trim().to_owned()
    })
}
