//! Statistics of ranks that tests make up.

use crate::Call;
use crate::launch::{
    AwaitedKind, CallStatistics, RankStatistics, Times, Traffic, WaitCause, WaitStatistics,
};

/// A rank that was in ten puts and four fences for that long, and of that in three waits for rank 1.
pub fn rank(nanoseconds: u64, put: u64, fence: u64, waited: u64) -> RankStatistics {
    let lasted = |times, nanoseconds| Times { times, nanoseconds, longest: nanoseconds };
    let call = |call, lasted, bytes| CallStatistics {
        call,
        mark: 7,
        window: "grid".into(),
        lasted,
        bytes,
        sizes: Vec::new(),
    };
    let late = WaitCause { late: Some(1), lock_of: None };
    let wait = WaitStatistics {
        call: Call::Fence,
        mark: 7,
        window: "grid".to_owned(),
        line: "heat.rs:17".to_owned(),
        awaited: AwaitedKind::Arrival,
        lasted: lasted(3, waited),
        causes: vec![(late, waited)],
    };
    RankStatistics {
        nanoseconds,
        calls: vec![call(Call::Put, lasted(10, put), 80), call(Call::Fence, lasted(4, fence), 0)],
        waits: vec![wait],
        traffic: vec![Traffic { rank: 1, operations: 10, bytes: 80 }],
        ..RankStatistics::default()
    }
}
