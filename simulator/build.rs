//! Sets `cfg(simulated)` for this package alone.

fn main() {
    println!("cargo:rustc-cfg=simulated");
}
