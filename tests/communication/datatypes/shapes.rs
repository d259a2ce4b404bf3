//! Shapes at the guards of the typed face.

use crate::support::spmd;
use onesided::{Access, ErrorClass, LockType, Op, Rank, Shape, Window};

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Particle {
    at: [f64; 3],
    mass: f64,
}

#[test]
fn shapes_at_guards() {
    spmd(2, |world| {
        let mut window = Window::<f64>::allocate(world, 64).unwrap();
        let other = Rank(1 - world.rank().0);
        let column = Shape::<f64>::block_2d([8, 8], [0, 3], [8, 1]).unwrap();
        let masses = Shape::field::<Particle>(std::mem::offset_of!(Particle, mass), 8).unwrap();
        let particle = |i| Particle { at: [0.5; 3], mass: f64::from(i) };
        let particles: Vec<_> = (0..8).map(particle).collect();
        let (mut got, mut short) = ([0.0; 8], [0.0; 7]);
        let epoch = window.lock_all().unwrap();
        epoch.put_shaped(masses.over(&particles).unwrap(), other, 0, &column).unwrap();
        epoch.accumulate_shaped(&[100.0; 8], Op::Sum, other, 0, &column).unwrap();
        epoch.get_shaped(&mut got, other, 0, &column).unwrap();
        let refused = epoch.get_shaped(&mut short, other, 0, &column).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::Count);
        epoch.put_shaped(&[0.0; 8], other, 4, &column).unwrap();
        let refused = epoch.put_shaped(&[0.0; 8], other, 5, &column).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::RmaRange);
        epoch.unlock_all().unwrap();
        assert!(got.iter().copied().eq((0..8).map(|i| 100.0 + f64::from(i))));
        assert!(masses.over(&particles[1..]).is_err(), "the shape leaves the slice");
        world.barrier().unwrap();
        let (mut back, sevens) = (particles.clone(), vec![7.0; 8]);
        let epoch = window.lock(LockType::Exclusive, other).unwrap();
        epoch.put_shaped(&sevens, other, 0, &column).unwrap();
        let (ones, into) = ([1.0; 8], masses.over_mut(&mut back).unwrap());
        epoch.get_accumulate_shaped(&ones, into, Op::Sum, other, 0, &column).unwrap();
        epoch.get_shaped(&mut got, other, 0, &column).unwrap();
        epoch.unlock().unwrap();
        assert_eq!(got, [8.0; 8]);
        assert!(back.iter().all(|particle| particle.mass == 7.0 && particle.at == [0.5; 3]));
        world.barrier().unwrap();
        window.free().unwrap();
    });
}
