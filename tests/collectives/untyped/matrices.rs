//! What the tests move and combine: matrices, whose product is not commutative, in several layouts.

use onesided::engine::{Combine, Origin, OriginMut};
use onesided::{CommittedDatatype, Datatype, DerivedDatatype};

/// Two by two, in words.
pub type Matrix = [u64; 4];

/// The product, in the ring of the words: associative, and not commutative.
pub fn product(a: Matrix, b: Matrix) -> Matrix {
    let cell = |r: usize, c: usize| {
        a[2 * r].wrapping_mul(b[c]).wrapping_add(a[2 * r + 1].wrapping_mul(b[2 + c]))
    };
    [cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)]
}

/// Matrix `i` of what `rank` contributes.
pub fn matrix(rank: u32, i: usize) -> Matrix {
    let seed = u64::from(rank) * 1_000_003 + i as u64 * 17 + 1;
    [seed, seed.wrapping_mul(seed) | 1, seed ^ 0xabcd, seed.wrapping_mul(31) + 7]
}

/// What `rank` contributes.
pub fn matrices(rank: u32, count: usize) -> Vec<Matrix> {
    (0..count).map(|i| matrix(rank, i)).collect()
}

/// The product of what the ranks below `ranks` contribute, element by element, in rank order.
pub fn product_of(ranks: u32, count: usize) -> Vec<Matrix> {
    (0..count).map(|i| (0..ranks).map(|rank| matrix(rank, i)).reduce(product).unwrap()).collect()
}

/// Where the four words of a matrix are, and how far the next one is, in words.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    at: [i64; 4],
    extent: i64,
}

/// One block; with gaps; beginning behind displacement 0; beginning before it, and backwards.
pub const FORMS: [Form; 4] = [
    Form { at: [0, 1, 2, 3], extent: 4 },
    Form { at: [0, 1, 3, 4], extent: 6 },
    Form { at: [1, 2, 4, 6], extent: 7 },
    Form { at: [2, 1, 0, -1], extent: -5 },
];

/// What the gaps hold.
const GAP: u64 = 0xdead_beef_dead_beef;

/// Matrices in a form.
#[derive(Clone)]
pub struct Laid {
    form: Form,
    count: usize,
    words: Vec<u64>,
    datatype: CommittedDatatype,
}

impl Form {
    fn datatype(self) -> CommittedDatatype {
        let bytes = self.at.map(|word| word * 8);
        let words = DerivedDatatype::hindexed_block(1, &bytes, Datatype::U64).unwrap();
        DerivedDatatype::resized(0, self.extent * 8, words).unwrap().commit()
    }

    /// The product of matrices in this form.
    pub fn product(self) -> Combine {
        Combine::user(false, move |lower, upper, count| {
            for i in 0..count as i64 {
                let word = |k: usize| (self.at[k] + i * self.extent) as isize;
                let (lower, upper) = (lower.cast::<u64>(), upper.cast::<u64>());
                let read = |from: *const u64| -> Matrix {
                    // SAFETY: the engine hands out that many matrices in this form, aligned.
                    std::array::from_fn(|k| unsafe { from.wrapping_offset(word(k)).read() })
                };
                let combined = product(read(lower), read(upper));
                for (k, value) in combined.into_iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { upper.wrapping_offset(word(k)).write(value) };
                }
            }
        })
    }
}

impl Laid {
    /// Room for `count` matrices.
    pub fn empty(form: Form, count: usize) -> Laid {
        let words = vec![GAP; 16 + count * form.extent.unsigned_abs() as usize];
        Laid { form, count, words, datatype: form.datatype() }
    }

    pub fn holding(form: Form, matrices: &[Matrix]) -> Laid {
        let mut laid = Laid::empty(form, matrices.len());
        laid.put(0, matrices);
        laid
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Where displacement 0 of instance `i` is.
    fn zero(&self, i: usize) -> usize {
        let first = if self.form.extent < 0 { self.words.len() as i64 - 8 } else { 4 };
        (first + i as i64 * self.form.extent) as usize
    }

    fn places(&self, i: usize) -> [usize; 4] {
        self.form.at.map(|word| (self.zero(i) as i64 + word) as usize)
    }

    /// Sets matrices from number `first` on.
    pub fn put(&mut self, first: usize, matrices: &[Matrix]) {
        for (i, matrix) in matrices.iter().enumerate() {
            for (place, word) in self.places(first + i).into_iter().zip(matrix) {
                self.words[place] = *word;
            }
        }
    }

    /// The matrices; nothing else has been written.
    pub fn get(mut self) -> Vec<Matrix> {
        let all = (0..self.count).map(|i| self.places(i).map(|place| self.words[place])).collect();
        (0..self.count).for_each(|i| self.put(i, &[[GAP; 4]]));
        assert!(self.words.iter().all(|word| *word == GAP), "a gap of {:?} was hit", self.form);
        all
    }

    pub fn origin(&self) -> Origin<'_> {
        let start = self.words.as_ptr().wrapping_add(self.zero(0)).cast();
        // SAFETY: the tests keep every buffer, and leave it alone, until its request is complete.
        unsafe { Origin::new(start, self.count, &self.datatype) }
    }

    pub fn origin_mut(&mut self) -> OriginMut<'static> {
        self.part_mut(0, self.count)
    }

    /// `count` matrices from number `first` on. The datatype is leaked: the tests are short.
    pub fn part_mut(&mut self, first: usize, count: usize) -> OriginMut<'static> {
        let start = self.words.as_mut_ptr().wrapping_add(self.zero(first)).cast();
        let datatype: &'static CommittedDatatype = Box::leak(Box::new(self.datatype.clone()));
        // SAFETY: as in `origin`.
        unsafe { OriginMut::new(start, count, datatype) }
    }

    /// The part, to be read.
    pub fn part(&self, first: usize, count: usize) -> Origin<'_> {
        let start = self.words.as_ptr().wrapping_add(self.zero(first)).cast();
        // SAFETY: as in `origin`.
        unsafe { Origin::new(start, count, &self.datatype) }
    }

    /// Parts of `counts` matrices each, one behind the other.
    pub fn parts(&self, counts: &[usize]) -> Vec<Origin<'_>> {
        starts(counts).zip(counts).map(|(first, count)| self.part(first, *count)).collect()
    }

    pub fn parts_mut(&mut self, counts: &[usize]) -> Vec<OriginMut<'static>> {
        starts(counts).zip(counts).map(|(first, count)| self.part_mut(first, *count)).collect()
    }
}

/// Where parts of these lengths begin.
pub fn starts(counts: &[usize]) -> impl Iterator<Item = usize> {
    counts.iter().scan(0, |end, count| {
        let start = *end;
        *end += count;
        Some(start)
    })
}

/// Numbers of matrices: none, short, and long enough to be fetched or cut, for any number of ranks.
pub const COUNTS: [usize; 5] = [0, 1, 7, 400, 1501];
