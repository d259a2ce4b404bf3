//! Attributes in C (MPI-4.1 §7.7): keys are numbers, values are addresses, and functions of the program
//! copy and delete them. The library keeps the values and calls the functions (`onesided::Keyval`). This
//! module stores, for the thread during the call, what the library does not know: the object's handle and
//! a function's error code.

mod function;

use crate::abi::*;
use crate::arguments::{Address, Function};
use crate::comm::Communicator;
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};
use crate::handle::{Handle, Object};
use crate::window::Window;
use function::{CopyFunction, DeleteFunction};
use onesided::engine::Attributes;
use onesided::{Call, Comm, Keyval, KeyvalOptions, Place, WindowIdentity};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An object with attributes.
pub trait Bearer: Object {
    /// The object type of the library's keys.
    type About: 'static;
    /// The first number of its keys.
    const FIRST_KEY: c_int;

    fn keys() -> &'static Keys<Self::About>;
    fn set(&self, key: &Key<Self>, value: Address) -> onesided::Result<()>;
    fn attribute(&self, key: &Key<Self>) -> Option<Address>;
    fn delete(&self, key: &Key<Self>) -> onesided::Result<bool>;
    /// The value of one of the standard's own keys.
    fn predefined_attribute(&self, keyval: c_int) -> Option<Address>;
}

/// The library's key of an attribute of an object of C.
type Key<T> = Keyval<<T as Bearer>::About, Address>;

/// The keys of one kind of object that the program can use.
pub struct Keys<A>(Mutex<Known<A>>);

struct Known<A> {
    keys: BTreeMap<c_int, Keyval<A, Address>>,
    /// Keys that the program has freed: they stay keys as long as attributes use them (MPI-4.1 §7.7.2).
    freed: BTreeMap<c_int, Keyval<A, Address>>,
    made: c_int,
}

impl<A> Keys<A> {
    const fn new() -> Keys<A> {
        Keys(Mutex::new(Known { keys: BTreeMap::new(), freed: BTreeMap::new(), made: 0 }))
    }

    fn known(&self) -> MutexGuard<'_, Known<A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// The handle of the object of this thread's call.
    static OBJECT: Cell<usize> = const { Cell::new(0) };
    /// The error code of a function of the program in that call.
    static REFUSAL: Cell<c_int> = const { Cell::new(MPI_SUCCESS) };
}

/// Runs a call of the library that may call functions of the program for `object`. It may be nested in
/// one of those functions.
pub fn about<T: Bearer, R>(
    object: Handle<T>,
    call: impl FnOnce() -> onesided::Result<R>,
) -> Outcome<R> {
    let outer = (OBJECT.replace(object.value()), REFUSAL.replace(MPI_SUCCESS));
    let result = call();
    let refusal = REFUSAL.replace(outer.1);
    OBJECT.set(outer.0);
    result.map_err(|error| match refusal {
        MPI_SUCCESS => error.into(),
        code => Failure::new(code, error.to_string()),
    })
}

/// The result of a function of the program.
fn checked<R>(code: c_int, value: R) -> Result<R, String> {
    if code == MPI_SUCCESS {
        return Ok(value);
    }
    REFUSAL.set(code);
    Err(format!("it returns {}", crate::errors::name(code)))
}

/// `MPI_X_create_keyval`
pub fn create<T: Bearer>(copy: Function, delete: Function, extra_state: Address) -> c_int {
    let mut known = T::keys().known();
    known.made += 1;
    let keyval = T::FIRST_KEY + known.made;
    let mut options = KeyvalOptions::new();
    if let Some(copy) = CopyFunction::of(copy) {
        options = options.on_copy(move |_, value: &Address| {
            let (code, copied) = copy.call(OBJECT.get(), keyval, extra_state, *value);
            checked(code, copied)
        });
    }
    if let Some(delete) = DeleteFunction::of(delete) {
        options = options.on_delete(move |_, value: &Address| {
            checked(delete.call(OBJECT.get(), keyval, *value, extra_state), ())
        });
    }
    known.keys.insert(keyval, options.create());
    keyval
}

/// `MPI_X_free_keyval`. Freeing a key a second time while attributes hold it does nothing, as in other
/// MPIs.
pub fn free<T: Bearer>(keyval: c_int) -> Outcome {
    let mut known = T::keys().known();
    known.freed.retain(|_, key| key.is_held());
    match known.keys.remove(&keyval) {
        Some(key) => {
            known.freed.insert(keyval, key);
            Ok(())
        }
        None if known.freed.contains_key(&keyval) => Ok(()),
        None => Err(no_key::<T>(keyval)),
    }
}

/// `MPI_X_set_attr`
pub fn set<T: Bearer>(handle: Handle<T>, keyval: c_int, value: Address) -> Outcome {
    let object = handle.get()?;
    let key = key::<T>(keyval)?;
    about(handle, || object.set(&key, value))
}

/// `MPI_X_get_attr`
pub fn get<T: Bearer>(handle: Handle<T>, keyval: c_int) -> Outcome<Option<Address>> {
    let object = handle.get()?;
    if is_predefined(keyval) {
        return Ok(object.predefined_attribute(keyval));
    }
    Ok(object.attribute(&key::<T>(keyval)?))
}

/// `MPI_X_delete_attr`
pub fn delete<T: Bearer>(handle: Handle<T>, keyval: c_int) -> Outcome {
    let object = handle.get()?;
    let key = key::<T>(keyval)?;
    match about(handle, || object.delete(&key))? {
        true => Ok(()),
        false => {
            let why = format!("the {} has no attribute of the key {keyval}", T::NAME);
            Err(Failure::new(MPI_ERR_KEYVAL, why))
        }
    }
}

fn is_predefined(keyval: c_int) -> bool {
    const OF_COMMUNICATORS: [c_int; 7] = [
        MPI_TAG_UB,
        MPI_IO,
        MPI_HOST,
        MPI_WTIME_IS_GLOBAL,
        MPI_APPNUM,
        MPI_LASTUSEDCODE,
        MPI_UNIVERSE_SIZE,
    ];
    const OF_WINDOWS: [c_int; 5] =
        [MPI_WIN_BASE, MPI_WIN_DISP_UNIT, MPI_WIN_SIZE, MPI_WIN_CREATE_FLAVOR, MPI_WIN_MODEL];
    OF_COMMUNICATORS.contains(&keyval) || OF_WINDOWS.contains(&keyval)
}

fn key<T: Bearer>(keyval: c_int) -> Outcome<Key<T>> {
    let known = T::keys().known();
    let freed = || known.freed.get(&keyval).filter(|key| key.is_held());
    let key = known.keys.get(&keyval).or_else(freed).cloned();
    key.ok_or_else(|| no_key::<T>(keyval))
}

#[cold]
fn no_key<T: Bearer>(keyval: c_int) -> Failure {
    let why = match keyval {
        MPI_KEYVAL_INVALID => "the key is MPI_KEYVAL_INVALID".into(),
        _ if is_predefined(keyval) => format!("{keyval} is a key of the library's own"),
        _ => {
            format!("{keyval} is no key of an {}, or has been freed and nothing holds it", T::NAME)
        }
    };
    Failure::new(MPI_ERR_KEYVAL, why)
}

/// The context of an error of a datatype's attributes.
fn of_datatype() -> Place {
    Place { call: Call::Attribute, window: None, rank: None }
}

/// The attributes of a duplicate of a datatype, made by its copy functions.
pub fn copy_of(datatype: MPI_Datatype) -> Outcome<Attributes<()>> {
    let attributes = &datatype.get()?.attributes;
    about(datatype, || attributes.copy(&of_datatype(), &()))
}

/// Deletes the attributes of a datatype before it is freed, unless a function fails.
pub fn delete_all_of(datatype: MPI_Datatype) -> Outcome {
    let attributes = &datatype.get()?.attributes;
    about(datatype, || attributes.delete_all(&of_datatype(), &()))
}

impl Bearer for Datatype {
    type About = ();
    const FIRST_KEY: c_int = 3 << 24;

    fn keys() -> &'static Keys<()> {
        static KEYS: Keys<()> = Keys::new();
        &KEYS
    }

    fn set(&self, key: &Key<Datatype>, value: Address) -> onesided::Result<()> {
        self.attributes.set(of_datatype(), &(), key, value)
    }

    fn attribute(&self, key: &Key<Datatype>) -> Option<Address> {
        self.attributes.get(key).map(|value| *value)
    }

    fn delete(&self, key: &Key<Datatype>) -> onesided::Result<bool> {
        self.attributes.delete(of_datatype(), &(), key)
    }

    fn predefined_attribute(&self, _keyval: c_int) -> Option<Address> {
        None
    }
}

impl Bearer for Communicator {
    type About = Comm;
    const FIRST_KEY: c_int = 1 << 24;

    fn keys() -> &'static Keys<Comm> {
        static KEYS: Keys<Comm> = Keys::new();
        &KEYS
    }

    fn set(&self, key: &Key<Communicator>, value: Address) -> onesided::Result<()> {
        self.comm.set_attribute(key, value)
    }

    fn attribute(&self, key: &Key<Communicator>) -> Option<Address> {
        self.comm.attribute(key).map(|value| *value)
    }

    fn delete(&self, key: &Key<Communicator>) -> onesided::Result<bool> {
        self.comm.delete_attribute(key)
    }

    fn predefined_attribute(&self, keyval: c_int) -> Option<Address> {
        static TAG_UB: c_int = c_int::MAX;
        static NO_HOST: c_int = MPI_PROC_NULL;
        static ANY_RANK: c_int = MPI_ANY_SOURCE;
        static ONE_PROGRAM: c_int = 0;
        static ONE_CLOCK: c_int = 1;
        match keyval {
            MPI_TAG_UB => Some(Address::of(&TAG_UB)),
            MPI_HOST => Some(Address::of(&NO_HOST)),
            MPI_IO => Some(Address::of(&ANY_RANK)),
            MPI_APPNUM => Some(Address::of(&ONE_PROGRAM)),
            MPI_WTIME_IS_GLOBAL => Some(Address::of(&ONE_CLOCK)),
            MPI_LASTUSEDCODE => Some(crate::errors::last_used()),
            MPI_UNIVERSE_SIZE => crate::job::ranks().map(|ranks| Address::of(ranks)),
            _ => None,
        }
    }
}

impl Bearer for Window {
    type About = WindowIdentity;
    const FIRST_KEY: c_int = 2 << 24;

    fn keys() -> &'static Keys<WindowIdentity> {
        static KEYS: Keys<WindowIdentity> = Keys::new();
        &KEYS
    }

    fn set(&self, key: &Key<Window>, value: Address) -> onesided::Result<()> {
        self.win.set_attribute(key, value)
    }

    fn attribute(&self, key: &Key<Window>) -> Option<Address> {
        self.win.attribute(key).map(|value| *value)
    }

    fn delete(&self, key: &Key<Window>) -> onesided::Result<bool> {
        self.win.delete_attribute(key)
    }

    fn predefined_attribute(&self, keyval: c_int) -> Option<Address> {
        match keyval {
            MPI_WIN_BASE => Some(self.facts.base),
            MPI_WIN_SIZE => Some(Address::of(&self.facts.size)),
            MPI_WIN_DISP_UNIT => Some(Address::of(&self.facts.disp_unit)),
            MPI_WIN_CREATE_FLAVOR => Some(Address::of(&self.facts.flavour)),
            MPI_WIN_MODEL => Some(Address::of(&self.facts.model)),
            _ => None,
        }
    }
}
