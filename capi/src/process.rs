//! The functions of the process, by their names: of the program, of the C library, of an interpreter, of the other MPI.
#![allow(unsafe_code, reason = "asks the loader, and gives its answers a type")]

use std::ffi::{CStr, c_char, c_void};

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The address of a function of the process; zero if it has none with that name.
pub fn find(name: &CStr) -> usize {
    #[cfg(node)]
    if name.to_bytes().starts_with(b"PMPI_") {
        return find_in(other_mpi(), name);
    }
    find_in(std::ptr::null_mut(), name)
}

/// The address of a function of a library, or of the process.
fn find_in(library: *mut c_void, name: &CStr) -> usize {
    // SAFETY: the name ends with a zero byte, and the library is loaded, or none is named.
    unsafe { dlsym(library, name.as_ptr()) }.expose_provenance()
}

/// The other MPI's library, which may be loaded for an interpreter's module alone. If it is of another ABI: what is loaded
/// behind this library.
#[cfg(node)]
fn other_mpi() -> *mut c_void {
    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: std::ffi::c_int) -> *mut c_void;
    }
    /// RTLD_NOW and RTLD_NOLOAD
    const IF_LOADED: std::ffi::c_int = 2 | 4;
    /// RTLD_NEXT
    const BEHIND: usize = usize::MAX;
    // SAFETY: the name ends with a zero byte, and nothing is loaded.
    let library = unsafe { dlopen(c"libmpi_abi.so.1".as_ptr(), IF_LOADED) };
    if library.is_null() { std::ptr::without_provenance_mut(BEHIND) } else { library }
}

/// The function with a name, as the program would have called it.
macro_rules! real {
    ($name:expr, fn($($type:ty),* $(,)?) $(-> $result:ty)? $(,)?) => {
        $crate::process::real!(@ $name, extern "C" fn($($type),*) $(-> $result)?)
    };
    // Of any number of arguments behind these.
    ($name:expr, fn($($type:ty),*; ...) $(,)?) => {
        $crate::process::real!(@ $name, extern "C" fn($($type),*, ...))
    };
    (@ $name:expr, $type:ty) => {{
        static FOUND: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let at = *FOUND.get_or_init(|| $crate::process::find($name));
        assert_ne!(at, 0, "the program has no function {:?}", $name);
        let at = std::ptr::with_exposed_provenance::<std::ffi::c_void>(at);
        // SAFETY: the function has this type by its standard, and is there as long as the process.
        unsafe { std::mem::transmute::<*const std::ffi::c_void, $type>(at) }
    }};
}
pub(crate) use real;
