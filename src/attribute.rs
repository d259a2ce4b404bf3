//! Attributes: values that a program attaches to a communicator or window, with callbacks for copying
//! and deleting (MPI-4.1 §7.7, MPI-2.2 §6.7).

use crate::error::{Error, Place, Result};
use crate::prim::Word32;
use std::any::Any;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard};

type Value = Arc<dyn Any + Send + Sync>;
/// The result of a copy callback: the value for the copy, none, or an error.
type Copied<V> = std::result::Result<Option<V>, String>;
type Copy<O> = Box<dyn Fn(&O, &Value) -> Copied<Value> + Send + Sync>;
type Delete<O> = Box<dyn Fn(&O, &Value) -> std::result::Result<(), String> + Send + Sync>;

/// An attribute key: names an attribute of type `T` of objects of type `O`, which is
/// [`Comm`](crate::Comm) or [`WindowIdentity`](crate::WindowIdentity). Clones are the same key.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided::{Comm, CommKeyval, KeyvalOptions};
/// let depth: CommKeyval<u32> = KeyvalOptions::new()
///     .on_copy(|_: &Comm, depth: &u32| Ok(Some(depth + 1)))
///     .create();
/// universe.world().set_attribute(&depth, 0)?;
/// let inner = universe.world().dup()?;
/// assert_eq!(inner.attribute(&depth).as_deref(), Some(&1));
/// # Ok(()) }
/// ```
pub struct Keyval<O, T> {
    key: Arc<KeyEntry<O>>,
    values: PhantomData<fn(T) -> T>,
}

impl<O, T> std::fmt::Debug for Keyval<O, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyval").finish_non_exhaustive()
    }
}

/// Options of an attribute key: its callbacks.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let key = onesided::KeyvalOptions::new().copied().create();
/// world.set_attribute(&key, "of the world")?;
/// let duplicate = world.dup()?;
/// assert_eq!(duplicate.attribute(&key).as_deref(), Some(&"of the world"));
/// duplicate.free()?;
/// # Ok(())
/// # });
/// ```
pub struct KeyvalOptions<O, T> {
    copy: Option<Copy<O>>,
    delete: Option<Delete<O>>,
    values: PhantomData<fn(T) -> T>,
}

impl<O, T> std::fmt::Debug for KeyvalOptions<O, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyvalOptions").finish_non_exhaustive()
    }
}

struct KeyEntry<O> {
    copy: Option<Copy<O>>,
    delete: Option<Delete<O>>,
    freed: Word32,
}

/// The attributes of one object: a communicator, a window, or an object of a language binding
/// (`MPI_Type_set_attr`, MPI-4.1 §7.7.4). All its functions are local and do not block.
///
/// ```
/// # onesided::testing::Job::new(1).run(|universe| -> onesided::Result<()> {
/// use onesided::engine::Attributes;
/// use onesided::{Call, Keyval, KeyvalOptions, Place};
///
/// /// A datatype of a language binding, which has attributes.
/// struct Named(&'static str);
///
/// let key: Keyval<Named, u32> = KeyvalOptions::new().create();
/// let (row, attributes) = (Named("row"), Attributes::default());
/// let at = Place { call: Call::None, window: None, rank: None };
/// attributes.set(at.clone(), &row, &key, 7)?;
/// assert_eq!(attributes.get(&key).as_deref(), Some(&7), "{}", row.0);
/// attributes.delete_all(&at, &row)?;
/// assert!(attributes.get(&key).is_none());
/// # Ok(())
/// # });
/// ```
pub struct Attributes<O> {
    /// In the order in which they were set.
    slots: Mutex<Vec<AttributeSlot<O>>>,
}

impl<O> std::fmt::Debug for Attributes<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attributes").finish_non_exhaustive()
    }
}

struct AttributeSlot<O> {
    key: Arc<KeyEntry<O>>,
    value: Value,
}

fn position<O>(slots: &[AttributeSlot<O>], key: &Arc<KeyEntry<O>>) -> Option<usize> {
    slots.iter().position(|slot| Arc::ptr_eq(&slot.key, key))
}

fn typed<T: Any>(value: &Value) -> &T {
    value.downcast_ref().expect("a key's values are set through the key, so have its type")
}

impl<O, T: Any + Send + Sync> KeyvalOptions<O, T> {
    /// No callbacks: a duplicate of the object does not have the attribute
    /// (`MPI_COMM_NULL_COPY_FN`), and nothing happens when it is deleted.
    pub fn new() -> Self {
        Self { copy: None, delete: None, values: PhantomData }
    }

    /// `copy` is called with the old object and its value when the object is duplicated. Its result is
    /// the duplicate's value; with `None` the duplicate has no such attribute. With an `Err` the
    /// duplication fails on all ranks.
    ///
    /// It runs before the duplication and may itself call collectives on the old object, if all
    /// ranks have set the same attributes in the same order.
    pub fn on_copy(mut self, copy: impl Fn(&O, &T) -> Copied<T> + Send + Sync + 'static) -> Self {
        self.copy = Some(Box::new(move |object, value| {
            Ok(copy(object, typed(value))?.map(|value| Arc::new(value) as Value))
        }));
        self
    }

    /// `MPI_COMM_DUP_FN`: the duplicate shares the value.
    #[doc(alias = "MPI_COMM_DUP_FN")]
    pub fn copied(mut self) -> Self {
        self.copy = Some(Box::new(|_, value| Ok(Some(value.clone()))));
        self
    }

    /// `delete` is called with the object and the value when the attribute is deleted or overwritten,
    /// or its object is freed. The object no longer has the attribute then. With an `Err` that call
    /// fails, and the object has the attribute again.
    pub fn on_delete(
        mut self,
        delete: impl Fn(&O, &T) -> std::result::Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.delete = Some(Box::new(move |object, value| delete(object, typed(value))));
        self
    }

    /// `MPI_Comm_create_keyval`, `MPI_Win_create_keyval` (MPI-4.1 §7.7.2, §7.7.3). Local; does
    /// not block.
    #[doc(alias("MPI_Comm_create_keyval", "MPI_Win_create_keyval"))]
    pub fn create(self) -> Keyval<O, T> {
        let key = KeyEntry { copy: self.copy, delete: self.delete, freed: Word32::default() };
        Keyval { key: Arc::new(key), values: PhantomData }
    }
}

impl<O, T: Any + Send + Sync> Default for KeyvalOptions<O, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O, T> Keyval<O, T> {
    /// `MPI_Comm_free_keyval`, `MPI_Win_free_keyval`: from now on no attribute can be set with this key
    /// or its clones. Existing attributes stay, can be read and deleted, and keep their callbacks.
    /// Local; does not block.
    #[doc(alias("MPI_Comm_free_keyval", "MPI_Win_free_keyval"))]
    pub fn free(self) {
        self.key.freed.store(1);
    }

    /// Whether an attribute, or another clone, holds the key.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.key) > 1
    }
}

impl<O, T> Clone for Keyval<O, T> {
    fn clone(&self) -> Self {
        Keyval { key: self.key.clone(), values: PhantomData }
    }
}

impl<O> Default for Attributes<O> {
    fn default() -> Self {
        Attributes { slots: Mutex::default() }
    }
}

/// No callback runs while the slots are locked, because it may read the attributes. An attribute is
/// removed before its delete callback is called, so that only one of two concurrent threads calls it,
/// and inserted again if the callback fails.
impl<O> Attributes<O> {
    fn slots(&self) -> MutexGuard<'_, Vec<AttributeSlot<O>>> {
        self.slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether there is no attribute.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots().is_empty()
    }

    /// Sets an attribute. An existing one is deleted first, and stays if its callback fails.
    ///
    /// # Errors
    /// [`Error::Keyval`] if the key was freed; [`Error::Attribute`] if the delete callback fails.
    pub fn set<T: Any + Send + Sync>(
        &self,
        at: Place,
        object: &O,
        keyval: &Keyval<O, T>,
        value: T,
    ) -> Result<()> {
        let key = &keyval.key;
        if key.freed.load() != 0 {
            return Err(Error::Keyval { at });
        }
        let value: Value = Arc::new(value);
        loop {
            let mut slots = self.slots();
            if position(&slots, key).is_none() {
                slots.push(AttributeSlot { key: key.clone(), value });
                return Ok(());
            }
            drop(slots);
            self.delete_at(&at, object, |slots| position(slots, key))?;
        }
    }

    /// The value of an attribute.
    pub fn get<T: Any + Send + Sync>(&self, keyval: &Keyval<O, T>) -> Option<Arc<T>> {
        let slots = self.slots();
        let value = slots[position(&slots, &keyval.key)?].value.clone();
        Some(value.downcast().expect("a key's values are set through the key, so have its type"))
    }

    /// Deletes an attribute; returns whether it existed.
    ///
    /// # Errors
    /// [`Error::Attribute`] if its delete callback fails; the attribute then stays.
    pub fn delete<T: Any + Send + Sync>(
        &self,
        at: Place,
        object: &O,
        keyval: &Keyval<O, T>,
    ) -> Result<bool> {
        self.delete_at(&at, object, |slots| position(slots, &keyval.key))
    }

    /// Deletes all attributes, the latest first, when the object is freed; stops if a callback fails.
    ///
    /// # Errors
    /// [`Error::Attribute`] if a delete callback fails; its attribute and the older ones stay.
    pub fn delete_all(&self, at: &Place, object: &O) -> Result<()> {
        while self.delete_at(at, object, |slots| slots.len().checked_sub(1))? {}
        Ok(())
    }

    /// Drops all attributes without their callbacks.
    pub(crate) fn clear(&self) {
        // Outside the lock, because destructors of the program's values may read the attributes.
        let slots = std::mem::take(&mut *self.slots());
        drop(slots);
    }

    /// Deletes the attribute that `choose` finds; returns whether it has found one.
    fn delete_at(
        &self,
        at: &Place,
        object: &O,
        choose: impl FnOnce(&[AttributeSlot<O>]) -> Option<usize>,
    ) -> Result<bool> {
        let mut slots = self.slots();
        let Some(k) = choose(&slots) else { return Ok(false) };
        let slot = slots.remove(k);
        drop(slots);
        let Some(Err(why)) = slot.key.delete.as_ref().map(|delete| delete(object, &slot.value))
        else {
            return Ok(true);
        };
        let mut slots = self.slots();
        // Unless it has been set again meanwhile.
        if position(&slots, &slot.key).is_none() {
            let k = k.min(slots.len());
            slots.insert(k, slot);
        }
        let problem = format!("the attribute's delete callback refuses: {why}");
        Err(Error::Attribute { at: at.clone(), problem })
    }

    /// The attributes of a duplicate of `object`, made by the copy callbacks. If one fails, the copies
    /// made so far are deleted again.
    ///
    /// # Errors
    /// [`Error::Attribute`] if a copy callback fails.
    pub fn copy(&self, at: &Place, object: &O) -> Result<Attributes<O>> {
        let slots: Vec<_> =
            self.slots().iter().map(|slot| (slot.key.clone(), slot.value.clone())).collect();
        let copies = Attributes::default();
        for (key, value) in slots {
            match key.copy.as_ref().map_or(Ok(None), |copy| copy(object, &value)) {
                Ok(None) => {}
                Ok(Some(value)) => copies.slots().push(AttributeSlot { key, value }),
                Err(why) => {
                    // The caller gets the error of the copy callback.
                    let _ = copies.delete_all(at, object);
                    let problem = format!("an attribute's copy callback refuses: {why}");
                    return Err(Error::Attribute { at: at.clone(), problem });
                }
            }
        }
        Ok(copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Call;

    fn place() -> Place {
        Place { call: Call::Attribute, window: None, rank: None }
    }

    /// A binding's object: the test checks the numbers that its callbacks saw.
    #[test]
    fn an_object_of_a_binding_has_attributes_too() {
        let seen: Arc<Mutex<Vec<(u8, u32)>>> = Arc::default();
        let key = |refused: u32| {
            let seen = seen.clone();
            KeyvalOptions::new()
                .on_copy(|object: &u8, value: &u32| match *object {
                    0 => Err("nothing of zero is copied".into()),
                    object => Ok(Some(value + u32::from(object))),
                })
                .on_delete(move |object: &u8, value: &u32| {
                    seen.lock().unwrap().push((*object, *value));
                    if *value == refused { Err("it stays".into()) } else { Ok(()) }
                })
                .create()
        };
        let (first, second) = (key(99), key(99));
        let attributes = Attributes::default();
        attributes.set(place(), &5, &first, 10).unwrap();
        attributes.set(place(), &5, &second, 20).unwrap();
        let copies = attributes.copy(&place(), &5).unwrap();
        assert_eq!(
            (copies.get(&first).as_deref(), copies.get(&second).as_deref()),
            (Some(&15), Some(&25))
        );
        assert!(attributes.copy(&place(), &0).is_err());

        copies.set(place(), &7, &first, 99).unwrap();
        assert_eq!(*seen.lock().unwrap(), [(7, 15)], "the value before");
        assert!(copies.delete_all(&place(), &7).is_err(), "99 is refused");
        assert_eq!(*seen.lock().unwrap(), [(7, 15), (7, 99)], "the latest first, and no further");
        assert_eq!(
            (copies.get(&first).as_deref(), copies.get(&second).as_deref()),
            (Some(&99), Some(&25))
        );
        assert!(copies.delete(place(), &7, &second).unwrap());
        assert!(!copies.delete(place(), &7, &second).unwrap(), "it is gone");

        first.clone().free();
        assert!(attributes.set(place(), &5, &first, 1).is_err(), "the key is freed");
        assert_eq!(attributes.get(&first).as_deref(), Some(&10));
        assert!(first.is_held(), "by its attribute");
        attributes.delete_all(&place(), &5).unwrap();
        assert!(first.is_held(), "by that of the copies");
        copies.delete(place(), &7, &first).unwrap_err();
        copies.clear();
        assert!(!first.is_held());
        assert_eq!(seen.lock().unwrap()[3..], [(5, 20), (5, 10), (7, 99)]);
    }
}
