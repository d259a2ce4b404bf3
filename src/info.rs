//! Info objects: hints as ordered pairs of strings (MPI-4.1 chapter 10).

use crate::call::Call;
use crate::error::{Error, Place, Result};

/// Pairs of keys and values, each key at most once, in the order in which the keys were first set.
///
/// All its functions are local and do not block.
///
/// ```
/// use onesided::Info;
/// let mut info = Info::new();
/// info.set("no_locks", "true")?;
/// assert_eq!((info.get("no_locks"), info.nkeys()), (Some("true"), 1));
/// info.delete("no_locks")?;
/// # onesided::Result::Ok(())
/// ```
///
/// ```
/// use onesided::{Info, WindowOptions};
///
/// let mut info = Info::new();
/// info.set("no_locks", "true")?;
/// assert_eq!(info.get("no_locks"), Some("true"));
/// let options = WindowOptions::new().info(&info);
/// # Ok::<(), onesided::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pairs: Vec<(String, String)>,
}

impl Info {
    /// `MPI_MAX_INFO_KEY`: the longest key, in bytes.
    pub const MAX_KEY: usize = 255;
    /// `MPI_MAX_INFO_VAL`: the longest value, in bytes.
    pub const MAX_VALUE: usize = 1024;

    /// `MPI_Info_create`: no pairs. `MPI_Info_dup` is `clone`, `MPI_Info_free` is dropping.
    #[doc(alias = "MPI_Info_create")]
    pub fn new() -> Info {
        Info::default()
    }

    /// `MPI_Info_set`: sets `key` to `value`, in the place of an older value.
    ///
    /// # Errors
    /// [`Error::InfoKey`] for a key that is empty, longer than [`Info::MAX_KEY`] or with a null
    /// character, [`Error::InfoValue`] for a value longer than [`Info::MAX_VALUE`] or with one.
    #[doc(alias = "MPI_Info_set")]
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        check_key(key)?;
        if value.len() > Info::MAX_VALUE || value.contains('\0') {
            let problem = match value.len() {
                0..=Info::MAX_VALUE => format!("the value of '{key}' has a null character"),
                bytes => format!("the value of '{key}' has {bytes} bytes, more than 1024"),
            };
            return Err(Error::InfoValue { at: place(), problem });
        }
        self.put(key, value);
        Ok(())
    }

    /// [`Info::set`] for a binding that has checked key and value.
    #[doc(hidden)]
    pub fn put(&mut self, key: &str, value: &str) {
        match self.pairs.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.to_owned(),
            None => self.pairs.push((key.to_owned(), value.to_owned())),
        }
    }

    /// `MPI_Info_get_string`: the value of `key`, if it is set.
    #[doc(alias = "MPI_Info_get_string")]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// `MPI_Info_delete`
    ///
    /// # Errors
    /// [`Error::InfoNokey`] if the key is not set; [`Error::InfoKey`] if it is not valid.
    #[doc(alias = "MPI_Info_delete")]
    pub fn delete(&mut self, key: &str) -> Result<()> {
        check_key(key)?;
        match self.take(key) {
            Some(_) => Ok(()),
            None => Err(Error::InfoNokey { at: place(), key: key.to_owned() }),
        }
    }

    /// [`Info::delete`] for a binding that has checked the key; returns the value, if it was set.
    #[doc(hidden)]
    pub fn take(&mut self, key: &str) -> Option<String> {
        let n = self.pairs.iter().position(|(known, _)| known == key)?;
        Some(self.pairs.remove(n).1)
    }

    /// `MPI_Info_get_nkeys`
    #[doc(alias = "MPI_Info_get_nkeys")]
    pub fn nkeys(&self) -> usize {
        self.pairs.len()
    }

    /// `MPI_Info_get_nthkey`: key `n`, counted from zero.
    #[doc(alias = "MPI_Info_get_nthkey")]
    pub fn nthkey(&self, n: usize) -> Option<&str> {
        self.pairs.get(n).map(|(key, _)| key.as_str())
    }

    /// All pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

fn place() -> Place {
    Place { call: Call::Info, window: None, rank: None }
}

fn check_key(key: &str) -> Result<()> {
    let problem = match key.len() {
        0 => "an info key must not be empty".to_owned(),
        1..=Info::MAX_KEY if key.contains('\0') => "an info key has a null character".to_owned(),
        1..=Info::MAX_KEY => return Ok(()),
        bytes => format!("an info key has {bytes} bytes, more than 255"),
    };
    Err(Error::InfoKey { at: place(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn pairs_keep_the_order_in_which_keys_were_first_set() {
        let mut info = Info::new();
        for (key, value) in [("b", "1"), ("a", "2"), ("c", ""), ("b", "3")] {
            info.set(key, value).unwrap();
        }
        assert_eq!(info.iter().collect::<Vec<_>>(), [("b", "3"), ("a", "2"), ("c", "")]);
        assert_eq!((info.nkeys(), info.nthkey(1), info.nthkey(3)), (3, Some("a"), None));
        let copy = info.clone();
        info.delete("a").unwrap();
        assert_eq!((info.get("a"), copy.get("a"), info.nthkey(1)), (None, Some("2"), Some("c")));
    }

    #[test]
    fn what_c_could_not_hold_is_refused_and_changes_nothing() {
        let mut info = Info::new();
        let (key, value) = ("k".repeat(Info::MAX_KEY), "v".repeat(Info::MAX_VALUE));
        info.set(&key, &value).unwrap();
        let class = |result: Result<()>| result.unwrap_err().class();
        for bad in [String::new(), key.clone() + "k", "a\0b".into()] {
            assert_eq!(class(info.set(&bad, "x")), ErrorClass::InfoKey);
            assert_eq!(class(info.delete(&bad)), ErrorClass::InfoKey);
        }
        for bad in [value.clone() + "v", "a\0b".into()] {
            assert_eq!(class(info.set("k", &bad)), ErrorClass::InfoValue);
        }
        assert_eq!(class(info.delete("k")), ErrorClass::InfoNokey);
        assert_eq!((info.nkeys(), info.get(&key)), (1, Some(value.as_str())));
    }
}
