//! The operation of a reduction: one of the standard, or a function of the program.

use crate::datatype::Element;
use crate::op::Op;
use std::sync::Arc;

/// A function of the program, of the values of lower ranks and of higher ranks; it replaces the latter.
pub(crate) type Function<T> = Arc<dyn Fn(&[T], &mut [T]) + Send + Sync>;

/// The operation of [`Comm::reduce`](crate::Comm::reduce) and other reductions: an [`Op`], or a reference
/// to a [`UserOp`].
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (sum, last) = (Op::Sum, onesided::UserOp::new(|_, later: u32| later));
/// assert_eq!(world.allreduce(&[world.rank().0], sum)?, [1]);
/// assert_eq!(world.allreduce(&[world.rank().0 + 5], &last)?, [6]);
/// # Ok(())
/// # });
/// ```
pub trait Reduction<T: Element>: sealed::Apply<T> {}

impl<T: Element> Reduction<T> for Op {}
impl<T: Element> Reduction<T> for &UserOp<T> {}

/// A user-defined operation (MPI-2.2 §5.9.5): an associative function of two values, the first of
/// which comes from the lower ranks. It must give the same results on all ranks.
///
/// It is applied in rank order even if it is commutative, so every rank gets the same bits every
/// time. It runs while its rank is in the collective, so it cannot itself call a collective on the
/// same communicator. Clones are the same operation; `MPI_Op_free` is dropping it.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided::UserOp;
/// let saturating = UserOp::new(|a: u8, b: u8| a.saturating_add(b)).commutative();
/// let sums = universe.world().allreduce(&[200], &saturating)?;
/// # Ok(()) }
/// ```
pub struct UserOp<T> {
    function: Function<T>,
    commutative: bool,
}

impl<T> std::fmt::Debug for UserOp<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserOp").finish_non_exhaustive()
    }
}

impl<T: Element> UserOp<T> {
    /// `MPI_Op_create` of a function of two elements.
    #[doc(alias = "MPI_Op_create")]
    pub fn new(function: impl Fn(T, T) -> T + Send + Sync + 'static) -> UserOp<T> {
        UserOp::from_slices(move |lower: &[T], upper: &mut [T]| {
            for (a, b) in lower.iter().zip(upper) {
                *b = function(*a, *b);
            }
        })
    }

    /// `MPI_Op_create` of a function of two slices of equal length, which replaces each element of
    /// the second by the result. Long buffers are handed to it piece by piece.
    #[doc(alias = "MPI_Op_create")]
    pub fn from_slices(function: impl Fn(&[T], &mut [T]) + Send + Sync + 'static) -> UserOp<T> {
        UserOp { function: Arc::new(function), commutative: false }
    }

    /// Declares that the order of the two values does not matter. All ranks must declare the same.
    pub fn commutative(mut self) -> UserOp<T> {
        self.commutative = true;
        self
    }
}

impl<T> UserOp<T> {
    /// `MPI_Op_commutative`
    #[doc(alias = "MPI_Op_commutative")]
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }
}

impl<T> Clone for UserOp<T> {
    fn clone(&self) -> Self {
        UserOp { function: self.function.clone(), commutative: self.commutative }
    }
}

/// Keeps the trait to the types above, and its methods to the library.
pub(super) mod sealed {
    use super::{Element, Function, Op, UserOp};

    /// What a reduction applies, in a form that ranks can compare.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OpKind {
        /// An operation of the standard.
        Predefined(Op),
        /// A function of the program.
        User {
            /// Whether it is declared so.
            commutative: bool,
        },
    }

    /// What a reduction needs.
    pub trait Apply<T> {
        /// As ranks compare it.
        fn kind(&self) -> OpKind;
        /// Its name in the standard.
        fn name(&self) -> &'static str;
        /// The operation of the standard that it is, if it is one.
        fn predefined(&self) -> Option<Op> {
            match self.kind() {
                OpKind::Predefined(op) => Some(op),
                OpKind::User { .. } => None,
            }
        }
        /// The function of the program that it is, if it is one.
        fn user(&self) -> Option<Function<T>> {
            None
        }
    }

    impl<T: Element> Apply<T> for Op {
        fn kind(&self) -> OpKind {
            OpKind::Predefined(*self)
        }
        fn name(&self) -> &'static str {
            Op::name(*self)
        }
    }

    impl<T: Element> Apply<T> for &UserOp<T> {
        fn kind(&self) -> OpKind {
            OpKind::User { commutative: self.commutative }
        }
        fn name(&self) -> &'static str {
            "user function"
        }
        fn user(&self) -> Option<Function<T>> {
            Some(self.function.clone())
        }
    }
}
