//! What the loop waits for; each of these never comes once its source is gone or handed over.

use std::future::poll_fn;
use std::task::Poll;

use futures::{Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Reloaded;

/// The next event; waits for ever while the terminal is handed over.
pub(super) async fn next<S: Stream + Unpin>(events: &mut Option<S>) -> Option<S::Item> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// The next event if one is there already. The stream is asked in the name of this task: the reader of the terminal keeps
/// the first waker that it is given, and one of nobody's would lose the next key.
pub(super) async fn arrived<S: Stream + Unpin>(events: &mut Option<S>) -> Option<Option<S::Item>> {
    let events = events.as_mut()?;
    poll_fn(|task| match events.poll_next_unpin(task) {
        Poll::Ready(event) => Poll::Ready(Some(event)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// What was read again; waits for ever once nobody can read anything again.
pub(super) async fn reloaded(reloads: &mut Option<mpsc::Receiver<Reloaded>>) -> Option<Reloaded> {
    match reloads {
        Some(reloads) => reloads.recv().await,
        None => std::future::pending().await,
    }
}

/// Waits for a moment; for ever if there is none.
pub(super) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
