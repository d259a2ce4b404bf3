//! Accumulate and get_accumulate, at once and by request.

use crate::datatypes::layouts::{
    BYTES, CANARY, ZERO, every_memory, packed, put_and_get, put_into, random_layouts, read, values,
    written,
};
use crate::support::choices::Choices;
use crate::support::spmd;
use onesided::engine::{ExposedBytes, Layout, Origin, Win};
use onesided::{Comm, CommittedDatatype, Datatype, DerivedDatatype, Op, Rank, WindowOptions};

#[test]
fn random_layouts_accumulate_what_an_oracle_says() {
    every_memory(|win, zero| {
        let mut random = Choices(0x0d07);
        let (mut done, numbers) = (0, (0..BYTES).map(|i| (i * 31) as u8).collect::<Vec<_>>());
        while done < 300 {
            let Some((own, other)) = random_layouts(&mut random, Datatype::I32) else { continue };
            done += 1;
            let op = [Op::Sum, Op::Max, Op::Replace, Op::Prod, Op::Band][random.below(5) as usize];
            let clean: Vec<u8> = (0..BYTES).map(|i| (i * 13 + 5) as u8).collect();
            win.put(&clean, Rank(1), zero).unwrap();
            let layout = Layout::new(other.0, &other.1);
            let (origin, at) = (read(&numbers, own.0, &own.1), zero + ZERO as u64);
            let before: Vec<i32> = values(&packed(&clean, other.0, &other.1));
            let operands: Vec<i32> = values(&packed(&numbers, own.0, &own.1));
            // Every other one with the values before, in the layout of the target.
            let mut result = vec![CANARY; BYTES];
            if done % 2 == 0 {
                let result = written(&mut result, other.0, &other.1);
                win.get_accumulate_layout(origin, result, op, Rank(1), at, layout).unwrap();
            } else {
                win.accumulate_layout(origin, op, Rank(1), at, layout).unwrap();
            }
            let mut after = before.clone();
            for (value, operand) in after.iter_mut().zip(&operands) {
                *value = match op {
                    Op::Sum => value.wrapping_add(*operand),
                    Op::Prod => value.wrapping_mul(*operand),
                    Op::Max => (*value).max(*operand),
                    Op::Band => *value & operand,
                    _ => *operand,
                };
            }
            let mut expected = clean;
            put_into(&mut expected, bytemuck::cast_slice(&after), other.0, &other.1);
            let mut found = vec![0; BYTES];
            win.get(&mut found, Rank(1), zero).unwrap();
            assert!(found == expected, "{op:?} of {own:?} into {other:?}");
            let mut expected = vec![CANARY; BYTES];
            if done % 2 == 0 {
                put_into(&mut expected, bytemuck::cast_slice(&before), other.0, &other.1);
            }
            assert!(result == expected, "{op:?} of {own:?} into {other:?}, fetched");
            put_random(win, zero, &mut random);
        }
    });
}

fn put_random(win: &Win, zero: u64, random: &mut Choices) {
    if let Some((own, other)) = random_layouts(random, Datatype::F32)
        && other.1.fits_into(other.0, &own.1, own.0)
    {
        put_and_get(win, Rank(1), zero, (own.0, &own.1), (other.0, &other.1));
    }
}

/// Each rank adds one to every element of a layout, many times: nothing is lost, whether elements
/// are updated by instructions or under the exclusion.
fn contended(world: &Comm, win: &Win, zero: u64) {
    const TIMES: i64 = 300;
    let doubles = DerivedDatatype::vector(20, 1, 3, Datatype::F64).unwrap().commit();
    // Every element at another alignment, and every eighth at one that instructions update.
    let odd = DerivedDatatype::hvector(20, 1, 9, Datatype::I64).unwrap().commit();
    let wide = DerivedDatatype::vector(5, 2, 3, Datatype::C64).unwrap().commit();
    let (one, ones) = ([1i64; 20], [1.0f64; 20]);
    let bytes = (bytemuck::cast_slice::<_, u8>(&one), bytemuck::cast_slice::<_, u8>(&ones));
    let origin = |bytes: &[u8], count, datatype: Datatype| {
        assert_eq!(bytes.len(), count * datatype.size());
        // SAFETY: the given number of bytes, that outlive the calls.
        unsafe { Origin::new(bytes.as_ptr(), count, datatype) }
    };
    world.barrier().unwrap();
    win.lock_all().unwrap();
    for _ in 0..TIMES {
        let add = |origin, at, datatype: &CommittedDatatype| {
            win.accumulate_layout(origin, Op::Sum, Rank(0), zero + at, Layout::new(1, datatype))
        };
        add(origin(bytes.1, 20, Datatype::F64), 0, &doubles).unwrap();
        add(origin(bytes.0, 20, Datatype::I64), 1000, &odd).unwrap();
        add(origin(bytes.1, 10, Datatype::C64), 2000, &wide).unwrap();
    }
    win.unlock_all().unwrap();
    world.barrier().unwrap();
    if world.rank() == 0 {
        let mut memory = vec![0; BYTES];
        win.load(zero, &mut memory).unwrap();
        let all = TIMES * i64::from(world.size());
        let found = |at: usize, datatype: &CommittedDatatype| {
            let mut out = vec![0; datatype.bytes(1).unwrap() as usize];
            datatype.pack(1, &memory, at, &mut out).unwrap();
            out
        };
        assert_eq!(values::<f64>(&found(0, &doubles)), [all as f64; 20]);
        assert_eq!(values::<i64>(&found(1000, &odd)), [all; 20]);
        assert_eq!(values::<f64>(&found(2000, &wide)), [all as f64; 20]);
    }
    world.barrier().unwrap();
}

#[test]
fn contended_strided_accumulates_lose_nothing() {
    spmd(4, |world| {
        let win = WindowOptions::new().allocate_bytes(world, BYTES as u64, 1).unwrap();
        contended(world, &win, 0);
        win.free().unwrap();
        let mut private = vec![0u64; BYTES / 8];
        let start = private.as_mut_ptr().cast();
        // SAFETY: the vector outlives the window, and only operations access it meanwhile.
        let win = unsafe {
            WindowOptions::new().create_bytes(world, ExposedBytes::new(start, BYTES as u64), 1)
        };
        let win = win.unwrap();
        contended(world, &win, 0);
        win.free().unwrap();
    });
}

#[test]
fn a_short_origin_combines_the_first_and_fetches_all() {
    every_memory(|win, zero| {
        let every_second = DerivedDatatype::vector(5, 1, 2, Datatype::U16).unwrap().commit();
        let backwards = DerivedDatatype::vector(5, 1, -3, Datatype::U16).unwrap().commit();
        win.put(&[1u16, 2, 3, 4, 5, 6, 7, 8, 9, 10], Rank(1), zero).unwrap();
        let (ten, mut result) = ([10u16, 20], vec![CANARY; BYTES]);
        let layout = Layout::new(1, &every_second);
        // SAFETY: two elements, that outlive the calls.
        let origin = unsafe { Origin::new(ten.as_ptr().cast(), 2, Datatype::U16) };
        let into = written(&mut result, 1, &backwards);
        win.get_accumulate_layout(origin, into, Op::Sum, Rank(1), zero, layout).unwrap();
        assert_eq!(values::<u16>(&packed(&result, 1, &backwards)), [1, 3, 5, 7, 9]);
        let mut found = [0u16; 10];
        win.get(&mut found, Rank(1), zero).unwrap();
        assert_eq!(found, [11, 2, 23, 4, 5, 6, 7, 8, 9, 10]);
        let into = written(&mut result, 1, &backwards);
        win.get_accumulate_layout(origin, into, Op::NoOp, Rank(1), zero, layout).unwrap();
        assert_eq!(values::<u16>(&packed(&result, 1, &backwards)), [11, 23, 5, 7, 9]);
        // Requests: the same, complete when they are returned.
        win.rput_layout(origin, Rank(1), zero, layout).unwrap().wait();
        win.raccumulate_layout(origin, Op::Sum, Rank(1), zero, layout).unwrap().wait();
        let into = written(&mut result, 1, &backwards);
        win.rget_layout(into, Rank(1), zero, layout).unwrap().wait();
        assert_eq!(values::<u16>(&packed(&result, 1, &backwards)), [20, 40, 5, 7, 9]);
        let into = written(&mut result, 1, &backwards);
        let request = win.rget_accumulate_layout(origin, into, Op::Replace, Rank(1), zero, layout);
        request.unwrap().wait();
        assert_eq!(values::<u16>(&packed(&result, 1, &backwards)), [20, 40, 5, 7, 9]);
    });
}
