//! The predefined reduction operations.

/// A predefined reduction operation (MPI-2.2 §5.9.2; REPLACE §11.3.4; NO_OP MPI-4.1 §12.3.4).
///
/// | operations | integers | floating | complex | pairs |
/// | --- | --- | --- | --- | --- |
/// | `Sum`, `Prod` | yes | yes | yes | |
/// | `Max`, `Min` | yes | yes | | |
/// | `Land`, `Lor`, `Lxor`, `Band`, `Bor`, `Bxor` | yes | | | |
/// | `Maxloc`, `Minloc` | | | | yes |
/// | `Replace`, `NoOp` | yes | yes | yes | yes |
///
/// Integer sums and products wrap. `Max` and `Min` of a floating number and a NaN are the number.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// assert_eq!(world.allreduce(&[world.rank().0], Op::Max)?, [1]);
/// assert_eq!(world.allreduce(&[1 << world.rank().0], Op::Bor)?, [0b11]);
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// `MPI_SUM`
    Sum,
    /// `MPI_PROD`
    Prod,
    /// `MPI_MAX`
    Max,
    /// `MPI_MIN`
    Min,
    /// `MPI_LAND`
    Land,
    /// `MPI_LOR`
    Lor,
    /// `MPI_LXOR`
    Lxor,
    /// `MPI_BAND`
    Band,
    /// `MPI_BOR`
    Bor,
    /// `MPI_BXOR`
    Bxor,
    /// `MPI_MAXLOC`: the larger value; of equal ones, the smaller index.
    Maxloc,
    /// `MPI_MINLOC`: the smaller value; of equal ones, the smaller index.
    Minloc,
    /// `MPI_REPLACE`: the origin's value. Not for reductions of a communicator.
    Replace,
    /// `MPI_NO_OP`: the target's value. Not for reductions of a communicator.
    NoOp,
}

impl Op {
    /// All predefined operations.
    pub const ALL: [Op; 14] = [
        Op::Sum,
        Op::Prod,
        Op::Max,
        Op::Min,
        Op::Land,
        Op::Lor,
        Op::Lxor,
        Op::Band,
        Op::Bor,
        Op::Bxor,
        Op::Maxloc,
        Op::Minloc,
        Op::Replace,
        Op::NoOp,
    ];

    /// The name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Op::Sum => "MPI_SUM",
            Op::Prod => "MPI_PROD",
            Op::Max => "MPI_MAX",
            Op::Min => "MPI_MIN",
            Op::Land => "MPI_LAND",
            Op::Lor => "MPI_LOR",
            Op::Lxor => "MPI_LXOR",
            Op::Band => "MPI_BAND",
            Op::Bor => "MPI_BOR",
            Op::Bxor => "MPI_BXOR",
            Op::Maxloc => "MPI_MAXLOC",
            Op::Minloc => "MPI_MINLOC",
            Op::Replace => "MPI_REPLACE",
            Op::NoOp => "MPI_NO_OP",
        }
    }

    /// Whether the operation is valid in reductions of a communicator (MPI-2.2 §11.3.4: REPLACE "can be
    /// used only in MPI_ACCUMULATE").
    pub fn is_reduction(self) -> bool {
        !matches!(self, Op::Replace | Op::NoOp)
    }
}
