//! The way of messages from a poller to whoever consumes them. Events and facts are never dropped: their sender waits.
//! Samples pass through a short queue of their own; what does not fit is dropped, and the loss is told.

use tokio::sync::mpsc;

use crate::app::{Connection, Message, Severity};
use crate::fabric::{Measured, Report, Sample, TargetId, Text, Timestamp};

/// How many samples of a target may wait.
pub const WAITING_SAMPLES: usize = 8;

/// Where the messages of one target go.
#[derive(Clone, Debug)]
pub struct Outlet {
    target: TargetId,
    messages: mpsc::Sender<Message>,
}

impl Outlet {
    /// Messages about `target` into `messages`.
    pub fn new(target: TargetId, messages: mpsc::Sender<Message>) -> Self {
        Self { target, messages }
    }

    /// Which target.
    pub fn target(&self) -> &TargetId {
        &self.target
    }

    /// The connection changed.
    pub async fn connection(&self, connection: Connection) {
        self.send(Message::Connection { target: self.target.clone(), at: Timestamp::now(), connection }).await;
    }

    /// A probe was read.
    pub async fn report(&self, report: Report) {
        self.send(Message::Report { at: Timestamp::now(), report }).await;
    }

    /// A row of a stream beside the ticks.
    pub async fn measured(&self, row: Measured) {
        self.send(Message::Measured(Box::new(row))).await;
    }

    /// Something worth telling.
    pub async fn notice(&self, severity: Severity, text: &str) {
        let text = Text::new(text);
        self.send(Message::Notice { target: Some(self.target.clone()), at: Timestamp::now(), severity, text }).await;
    }

    async fn gap(&self, dropped: u64) {
        self.send(Message::Gap { target: self.target.clone(), at: Timestamp::now(), dropped }).await;
    }

    async fn send(&self, message: Message) {
        // Nobody listens any more only while everything ends.
        let _ = self.messages.send(message).await;
    }
}

#[derive(Debug)]
enum Queued {
    Sample {
        sample: Box<Sample>,
        /// How many before it did not fit.
        dropped: u64,
    },
    Gap {
        dropped: u64,
    },
}

/// Where the samples of one target go.
#[derive(Debug)]
pub struct Samples {
    queue: mpsc::Sender<Queued>,
    dropped: u64,
}

impl Samples {
    /// The queue, and the task that empties it into `outlet`; the task ends after the queue.
    pub fn new(outlet: Outlet) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, mut waiting) = mpsc::channel(WAITING_SAMPLES);
        let forward = async move {
            while let Some(queued) = waiting.recv().await {
                match queued {
                    Queued::Gap { dropped } => outlet.gap(dropped).await,
                    Queued::Sample { sample, dropped } => {
                        if dropped > 0 {
                            outlet.gap(dropped).await;
                        }
                        outlet.send(Message::Sample(*sample)).await;
                    }
                }
            }
        };
        (Self { queue, dropped: 0 }, forward)
    }

    /// Queues a sample if there is room; else it is dropped and counted.
    pub fn offer(&mut self, sample: Sample) {
        match self.queue.try_send(Queued::Sample { sample: Box::new(sample), dropped: self.dropped }) {
            Ok(()) => self.dropped = 0,
            Err(_) => self.dropped += 1,
        }
    }

    /// The stream ended: rates start anew after it. Waits for room.
    pub async fn gap(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        let _ = self.queue.send(Queued::Gap { dropped }).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample(number: u64) -> Sample {
        Sample {
            target: TargetId::new("t"),
            at: Timestamp::UNIX_EPOCH,
            round_trip: Duration::ZERO,
            uptime_centiseconds: number,
            boot_id: None,
            counters: vec![],
            gauges: vec![],
            facts: vec![],
            observation: None,
            clock_offset_ms: None,
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_is_counted_and_told_in_its_place() {
        let (messages, mut consumer) = mpsc::channel(1);
        let (mut samples, forward) = Samples::new(Outlet::new(TargetId::new("t"), messages));
        for number in 0..20 {
            samples.offer(sample(number));
        }
        let task = tokio::spawn(forward);
        let mut seen = Vec::new();
        let mut note = |message| match message {
            Some(Message::Sample(sample)) => seen.push(format!("{}", sample.uptime_centiseconds)),
            Some(Message::Gap { dropped, .. }) => seen.push(format!("lost {dropped}")),
            other => panic!("{other:?}"),
        };
        for _ in 0..WAITING_SAMPLES {
            note(consumer.recv().await);
        }
        samples.offer(sample(20));
        samples.gap().await;
        drop(samples);
        for _ in 0..3 {
            note(consumer.recv().await);
        }
        assert_eq!(seen, ["0", "1", "2", "3", "4", "5", "6", "7", "lost 12", "20", "lost 0"]);
        task.await.expect("it ends with its queue");
        assert!(consumer.recv().await.is_none());
    }
}
