//! Sets `cfg(loom)` for this package alone, so that the plain test command runs the models.

fn main() {
    println!("cargo:rustc-cfg=loom");
}
