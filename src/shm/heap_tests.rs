//! Checks the allocator's invariants.

use super::super::layout::Observation;
use super::super::os::{File, FileKind, page_size};
use super::*;
use crate::prim::{Backoff, FailedWord};
use crate::shm::SegmentLayout;
use proptest::prelude::*;

const BYTES: u64 = 8 << 20;

fn segment() -> Segment {
    let file = File::create(&FileKind::Memfd, BYTES).unwrap();
    Segment::create(
        file,
        SegmentLayout::new(2, u32::MAX, Observation::default(), page_size(), BYTES),
        BYTES,
        1,
    )
    .unwrap()
}

fn blocks_of(heap: &Heap<'_>) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let file = format!("/proc/self/fd/{}", heap.segment.file().number());
    std::fs::metadata(file).unwrap().blocks()
}

/// Walks the arena and checks invariant 1; returns the free granules.
fn check_tiling(heap: &Heap<'_>) -> u64 {
    let (mut at, mut previous, mut free) = (heap.segment.layout().arena / GRANULE, 0, 0);
    let mut previous_was_free = false;
    while at < heap.end_of_arena() {
        let header = heap.block(at).unwrap();
        assert_eq!(header.previous.load(), previous);
        let is_free = header.state.load() == FREE;
        assert!(!(is_free && previous_was_free), "two free blocks touch");
        free += if is_free { header.size.load() } else { 0 };
        (previous, previous_was_free) = (at, is_free);
        at += header.size.load();
    }
    assert_eq!(at, heap.end_of_arena());
    free
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_order_of_allocate_and_free_leaves_the_arena_as_it_was(
        steps in prop::collection::vec((1..300_000u64, any::<prop::sample::Index>()), 1..60),
    ) {
        let (failed, backoff) = (FailedWord::default(), Backoff::new(1, 1));
        let waiter = Waiter { rank: 0, failed: &failed, backoff: &backoff, account: None, progress: None };
        let segment = segment();
        let heap = segment.heap();
        let (all, blocks) = (check_tiling(&heap), blocks_of(&heap));
        let mut live: Vec<(u64, u64)> = Vec::new();
        for (bytes, pick) in steps {
            if bytes % 3 == 0 && !live.is_empty() {
                let (offset, _) = live.swap_remove(pick.index(live.len()));
                heap.free(offset, &waiter).unwrap();
            } else if let Ok(offset) = heap.allocate(bytes, &waiter) {
                for (at, n) in Heap::dirty_edges(offset, bytes) {
                    segment.mapping().clear(at, n).unwrap();
                }
                let mut found = vec![1; bytes as usize];
                segment.mapping().read(offset, &mut found).unwrap();
                prop_assert!(found.iter().all(|byte| *byte == 0));
                segment.mapping().write(offset, &vec![0xa5; bytes as usize]).unwrap();
                prop_assert!(live.iter().all(|(o, n)| o + n <= offset || offset + bytes <= *o));
                live.push((offset, bytes));
            }
            check_tiling(&heap);
        }
        for (offset, _) in live {
            heap.free(offset, &waiter).unwrap();
        }
        prop_assert_eq!(check_tiling(&heap), all);
        prop_assert!(blocks_of(&heap) <= blocks + 8, "pages were not given back");
    }
}

#[test]
fn what_a_rank_that_fails_inside_leaves_is_mended() {
    let (failed, backoff) = (FailedWord::default(), Backoff::new(1, 1));
    let rank =
        |rank| Waiter { rank, failed: &failed, backoff: &backoff, account: None, progress: None };
    let segment = segment();
    let heap = segment.heap();
    let all = check_tiling(&heap);
    let blocks: Vec<u64> =
        [100, 70_000, 3_000, 9_000, 128].map(|n| heap.allocate(n, &rank(0)).unwrap()).into();
    for at in [1, 3] {
        heap.free(blocks[at], &rank(0)).unwrap();
    }
    let words = heap.words().unwrap();
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        words.lock.0.run((Site::HeapPost, Site::HeapPre), &rank(1), |found| {
            assert_eq!(found, Found::Whole);
            // Freed, but not yet joined with its neighbours; all except invariant 4 is broken.
            let middle = heap.block(blocks[2] / GRANULE - 1).unwrap();
            middle.state.store(FREE);
            middle.previous.store(7);
            middle.next_free.store(u64::MAX);
            words.first.store(u64::MAX);
            words.heads.as_flattened().iter().for_each(|head| head.store(12_345));
            panic!("the rank fails");
        })
    }));
    assert!(died.is_err());
    failed.set(2);
    let again = heap.allocate(70_000, &rank(0)).unwrap();
    check_tiling(&heap);
    for at in [again, blocks[0], blocks[4]] {
        heap.free(at, &rank(0)).unwrap();
    }
    assert_eq!(check_tiling(&heap), all, "what was freed is one block again");
}
