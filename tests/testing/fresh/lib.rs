//! ```
//! onesided::testing::Job::new(2).run(|universe| assert_eq!(universe.world().size(), 2));
//! ```
//!
//! ```should_panic
//! onesided::testing::Job::new(2).run(|universe| assert_eq!(universe.world().size(), 3));
//! ```
#![forbid(unsafe_code)]

#[cfg(test)]
mod tests {
    use super::*;

    #[onesided::test(ranks = 2)]
    fn inside(world: &onesided::Comm) {
        assert_eq!(size(world), 2);
    }
}

pub fn size(world: &onesided::Comm) -> u32 {
    world.size()
}
