//! Updates of one element by several ranks: what every order of them can leave behind.

use crate::programs::value::{apply, is_exact};
use onesided::{Datatype, Op};
use std::collections::{BTreeSet, HashSet};

/// More states than this are not searched.
const MOST: usize = 1000;

/// One rank's update of the element.
pub struct Step {
    /// `None` is compare-and-swap.
    pub op: Option<Op>,
    pub origin: Vec<u8>,
    pub compare: Vec<u8>,
    /// The value before it that the rank was given, where one was and it is known.
    pub found: Option<Vec<u8>>,
}

/// The values that the element can have in the end. Each rank's steps keep their order (MPI-4.1
/// §12.7.1, accumulate ordering) and each is atomic; an order in which a step would have been given
/// another value than it was is none.
///
/// `Err` has the reason why nothing is known.
pub fn outcomes(
    datatype: Datatype,
    start: &[u8],
    ranks: &[Vec<Step>],
) -> Result<BTreeSet<Vec<u8>>, &'static str> {
    let states: usize = ranks.iter().map(|steps| steps.len() + 1).product();
    if states > MOST {
        return Err("too many orders of updates");
    }
    let first = (vec![0; ranks.len()], start.to_vec());
    let (mut seen, mut ends) = (HashSet::from([first.clone()]), BTreeSet::new());
    let mut open = vec![first];
    while let Some((done, value)) = open.pop() {
        let mut is_end = true;
        for (rank, steps) in ranks.iter().enumerate() {
            let Some(step) = steps.get(done[rank]) else { continue };
            is_end = false;
            if step.found.as_ref().is_some_and(|found| *found != value) {
                continue;
            }
            if step.op.is_some_and(|op| !is_exact(op, datatype, &value)) {
                return Err("arithmetic with numbers that are not finite");
            }
            let mut next = (done.clone(), step.after(datatype, &value));
            next.0[rank] += 1;
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
        if is_end {
            ends.insert(value);
        }
        if seen.len() > MOST {
            return Err("too many orders of updates");
        }
    }
    Ok(ends)
}

impl Step {
    pub fn after(&self, datatype: Datatype, value: &[u8]) -> Vec<u8> {
        match self.op {
            Some(op) => apply(op, datatype, value, &self.origin),
            None if value == self.compare => self.origin.clone(),
            None => value.into(),
        }
    }
}
