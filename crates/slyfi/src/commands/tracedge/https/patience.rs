use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// What a message may take at least.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The slowest that a message's bytes may come or go: 256 kb/s.
const BYTES_PER_S: u64 = 32_768;

/// How long a message of `bytes` may take.
pub fn time_for(bytes: usize) -> Duration {
    PATIENCE + Duration::from_secs(bytes as u64 / BYTES_PER_S)
}

#[derive(Clone, Copy)]
enum State {
    /// The peer has until then.
    Until(Instant),
    /// It waits for us.
    Waits,
    /// Whatever it does now, the connection ends.
    Over,
}

/// How long a connection's peer may still take for what it is doing, however small the pieces are
/// that it does it in. Slow heads, slow bodies and windows that are never opened all end here.
pub struct Patience(watch::Sender<State>);

impl Patience {
    /// Gives the peer `first`.
    pub fn new(first: Duration) -> Self {
        Patience(watch::Sender::new(State::Until(Instant::now() + first)))
    }

    fn set(&self, state: State) {
        self.0.send_if_modified(|now| {
            let may = !matches!(now, State::Over);
            if may {
                *now = state;
            }
            may
        });
    }

    /// From now on the peer has the time that a message of `bytes` may take.
    pub fn allow(&self, bytes: usize) {
        self.set(State::Until(Instant::now() + time_for(bytes)));
    }

    /// Stops the clock: until what comes back is dropped it is not the peer who is slow.
    pub fn suspend(self: &Arc<Self>) -> Suspended {
        self.set(State::Waits);
        Suspended(Arc::clone(self))
    }

    /// Whether the peer waits for us.
    pub fn is_suspended(&self) -> bool {
        matches!(*self.0.borrow(), State::Waits)
    }

    /// Ends the connection.
    pub fn end(&self) {
        self.set(State::Over);
    }

    /// Comes back when there is no patience left.
    pub async fn over(&self) {
        let mut state = self.0.subscribe();
        loop {
            let now = *state.borrow_and_update();
            let goes_on = match now {
                State::Until(at) => timeout_at(at, state.changed()).await.is_ok(),
                State::Waits => state.changed().await.is_ok(),
                State::Over => false,
            };
            if !goes_on {
                return;
            }
        }
    }
}

/// See [`Patience::suspend`]. Afterwards the peer has the time of a short message.
pub struct Suspended(Arc<Patience>);

impl Drop for Suspended {
    fn drop(&mut self) {
        self.0.allow(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(test);
    }

    async fn ends(patience: &Patience) -> bool {
        tokio::time::timeout(Duration::from_millis(50), patience.over()).await.is_ok()
    }

    #[test]
    fn a_peer_that_takes_too_long_is_given_up() {
        run(async {
            assert!(ends(&Patience::new(Duration::ZERO)).await);
            let patience = Patience::new(Duration::ZERO);
            patience.allow(0);
            assert!(!ends(&patience).await);
            patience.end();
            assert!(ends(&patience).await);
            // Too late.
            patience.allow(1 << 20);
            assert!(ends(&patience).await);
        });
    }

    #[test]
    fn a_peer_that_waits_for_us_is_not() {
        run(async {
            let patience = Arc::new(Patience::new(Duration::ZERO));
            let suspended = patience.suspend();
            assert!(patience.is_suspended() && !ends(&patience).await);
            drop(suspended);
            assert!(!patience.is_suspended() && !ends(&patience).await);
            patience.suspend();
            patience.end();
            assert!(ends(&patience).await);
        });
    }

    #[test]
    fn long_messages_have_longer() {
        assert_eq!(time_for(0), PATIENCE);
        assert_eq!(time_for(1 << 20), PATIENCE + Duration::from_secs(32));
    }
}
