//! Who may have a channel. As long as a target allows several, batches and stream do not hinder each other; once it
//! refused one they take turns: the stream stops for each batch.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, MutexGuard, Notify};

/// The turns of one connection.
#[derive(Debug, Default)]
pub struct Turns {
    serial: AtomicBool,
    turn: Mutex<()>,
    wanted: Notify,
}

impl Turns {
    /// One channel at a time from now on. True if that is new.
    pub fn serialise(&self) -> bool {
        !self.serial.swap(true, Ordering::SeqCst)
    }

    /// True if one channel at a time is allowed.
    pub fn is_serial(&self) -> bool {
        self.serial.load(Ordering::SeqCst)
    }

    /// The stream's turn: waits for a batch that asked first.
    pub async fn for_stream(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// A batch's turn; `None` where no turns are taken. The stream is asked to stop.
    pub async fn for_batch(&self) -> Option<MutexGuard<'_, ()>> {
        if !self.is_serial() {
            return None;
        }
        if let Ok(turn) = self.turn.try_lock() {
            return Some(turn);
        }
        // The request is kept if the stream is not listening just now.
        self.wanted.notify_one();
        Some(self.turn.lock().await)
    }

    /// Waits until a batch wants the stream's turn.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_batch_gets_the_turn_of_the_stream_and_the_stream_gets_it_back() {
        let turns = Turns::default();
        let stream = turns.for_stream().await;
        assert!(turns.for_batch().await.is_none(), "side by side as long as the target allows it");
        assert!(turns.serialise());
        assert!(!turns.serialise(), "said once");
        let order = std::cell::RefCell::new(Vec::new());
        tokio::join!(
            async {
                let turn = turns.for_batch().await;
                order.borrow_mut().push("batch");
                tokio::task::yield_now().await;
                order.borrow_mut().push("batch ends");
                drop(turn);
            },
            async {
                turns.wanted().await;
                drop(stream);
                let _turn = turns.for_stream().await;
                order.borrow_mut().push("stream");
            },
        );
        assert_eq!(*order.borrow(), ["batch", "batch ends", "stream"]);
    }
}
