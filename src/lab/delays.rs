//! How long things take in the lab. Tests want none of it, a demonstration wants what a person would see.

use std::time::Duration;

/// A command that hangs for ever on a real machine hangs no longer than this here.
const LONGEST_COMMAND: Duration = Duration::from_secs(8);

/// What one call of `esxcli` takes on a real host.
const BY_AGENT: Duration = Duration::from_millis(700);

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    commands: bool,
    boot: Duration,
    by_agent: Duration,
}

impl Delays {
    /// Commands take no time, and a boot takes just long enough to be noticed.
    pub fn none() -> Self {
        Self { commands: false, boot: Duration::from_millis(500), by_agent: Duration::ZERO }
    }

    /// Commands take as long as their machine says, and a boot some seconds.
    pub fn like_real() -> Self {
        Self { commands: true, boot: Duration::from_secs(6), by_agent: BY_AGENT }
    }

    /// The same with another cost of what asks the management agent of an ESXi host.
    #[must_use]
    pub fn with_agent(self, cost: Duration) -> Self {
        Self { by_agent: cost, ..self }
    }

    /// How long a row of a stream that has this period takes to come.
    pub fn between_rows(self, period: Duration) -> Duration {
        if self.commands { period } else { Duration::from_millis(20) }
    }

    /// How long so many questions to the management agent of an ESXi host take.
    pub fn by_agent(self, count: u32) -> Duration {
        self.by_agent.saturating_mul(count)
    }

    /// How long a command takes that takes `took` on its machine.
    pub fn of(self, took: Duration) -> Duration {
        if self.commands { took.min(LONGEST_COMMAND) } else { Duration::ZERO }
    }

    /// How long a machine is away when it boots.
    pub fn boot(self) -> Duration {
        self.boot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_wait_for_nothing_and_nobody_waits_for_ever() {
        let hour = Duration::from_hours(1);
        assert_eq!(Delays::none().of(hour), Duration::ZERO);
        assert_eq!(Delays::like_real().of(Duration::from_millis(7)), Duration::from_millis(7));
        assert!(Delays::like_real().of(hour) < Duration::from_secs(10));
    }
}
