//! Only types of which every byte pattern is a value, and every value bytes, can lie in a window.
use onesided::{Comm, Result, Window};

fn main() {}

fn truth(world: &Comm) -> Result<Window<bool>> { //~ E0277 Window Pod
    Window::allocate(world, 1)
}

fn text(world: &Comm) -> Result<Window<String>> { //~ E0277 Window Pod
    Window::allocate(world, 1)
}

fn reference(world: &Comm) -> Result<Window<&'static u8>> { //~ E0277 Window Pod
    Window::allocate(world, 1)
}
