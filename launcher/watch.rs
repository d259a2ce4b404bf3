//! Waiting for the first of many events.

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A signal can be read.
    Signal,
    /// The relay of a stream has ended.
    Relay(usize),
    /// A rank's process has ended, or its pipe is readable.
    Rank(u32),
    /// The thread that writes the trace has ended.
    Trace,
    /// The job is over.
    Over,
}

const SIGNAL: u64 = u64::MAX;
const OVER: u64 = u64::MAX - 1;
const TRACE: u64 = u64::MAX - 2;
const RELAY: u64 = 1 << 32;

impl Event {
    fn token(self) -> u64 {
        match self {
            Event::Signal => SIGNAL,
            Event::Over => OVER,
            Event::Trace => TRACE,
            Event::Relay(stream) => RELAY + stream as u64,
            Event::Rank(rank) => rank.into(),
        }
    }

    fn from_token(token: u64) -> Event {
        match token {
            SIGNAL => Event::Signal,
            OVER => Event::Over,
            TRACE => Event::Trace,
            RELAY.. => Event::Relay((token - RELAY) as usize),
            rank => Event::Rank(rank as u32),
        }
    }
}

/// An epoll instance. It lists events in their order, so the first of several deaths is known.
pub struct Watch(Epoll);

impl Watch {
    pub fn new() -> io::Result<Watch> {
        Ok(Watch(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?))
    }

    pub fn add(&self, source: impl AsFd, event: Event) -> io::Result<()> {
        Ok(self.0.add(source, EpollEvent::new(EpollFlags::EPOLLIN, event.token()))?)
    }

    pub fn remove(&self, source: impl AsFd) -> io::Result<()> {
        Ok(self.0.delete(source)?)
    }

    /// The events in their order; none after `timeout`.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<Vec<Event>> {
        let timeout = match timeout {
            // Rounded up, so that the last millisecond is not spent in a busy loop.
            Some(time) => {
                EpollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(EpollTimeout::MAX)
            }
            None => EpollTimeout::NONE,
        };
        let mut events = [EpollEvent::empty(); 64];
        match self.0.wait(&mut events, timeout) {
            Ok(n) => Ok(events[..n].iter().map(|e| Event::from_token(e.data())).collect()),
            Err(nix::Error::EINTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Event;

    #[test]
    fn every_event_has_its_own_token() {
        for event in [
            Event::Signal,
            Event::Over,
            Event::Trace,
            Event::Relay(0),
            Event::Relay(1),
            Event::Rank(0),
            Event::Rank(4095),
        ] {
            assert_eq!(Event::from_token(event.token()), event);
        }
    }
}
