//! Random layouts: small, mostly without overlap, some in another order than that of memory.

use crate::programs::layout::Layout;
use crate::support::choices::Choices;

/// A derived layout of elements of `size` bytes.
pub fn layout(choices: &mut Choices, size: usize) -> Layout {
    let size = size as i64;
    let mut below = |n: i64| choices.below(n as u64) as i64;
    match below(8) {
        kind @ 0..2 => {
            let (blocks, length) = (1 + below(3), 1 + below(2));
            // In both directions, and now and then into the block before.
            let stride = if below(3) == 0 { below(7) - 3 } else { length + below(3) };
            match kind {
                0 => Layout::Vector { blocks, length, stride },
                _ => Layout::Hvector { blocks, length, stride: stride * size + below(3) },
            }
        }
        2 => {
            let (first, second) = (below(3), 1 + below(2));
            let (near, far) = (below(3) - 1, first.max(second) + below(3));
            let at = if below(2) == 0 { [near, near + far] } else { [near + far, near] };
            Layout::Indexed { lengths: [first, second], at }
        }
        3 => {
            let (length, first) = (1 + below(2), below(3));
            let at = [0, 1, 2].map(|k| (first + k) % 3 * length + below(2));
            Layout::IndexedBlock { length, at }
        }
        kind @ 4..6 => {
            let sizes = [1 + below(3), 1 + below(3)];
            let subsizes = sizes.map(|size| 1 + below(size));
            let starts = [0, 1].map(|k| below(sizes[k] - subsizes[k] + 1));
            match kind {
                4 => Layout::Subarray { sizes, subsizes, starts },
                _ => Layout::FortranSubarray { sizes, subsizes, starts },
            }
        }
        6 => {
            let (lengths, gap) = ([1 + below(2), below(3)], below(size + 1));
            let in_order = below(2) == 0;
            let at = if in_order { [0, lengths[0] * size + gap] } else { [lengths[1] * size, 0] };
            let extent = (lengths[0] + lengths[1]) * size + gap + below(5);
            Layout::Struct { lengths, at, extent }
        }
        _ => {
            let extent = size + below(size + 1);
            Layout::Resized {
                lower: below(9) - 4,
                extent: if below(4) == 0 { -extent } else { extent },
            }
        }
    }
}
