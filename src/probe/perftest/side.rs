//! What the block of one side prints: lines of its own, which carry the nonce, between those of the tool.

use crate::fabric::Text;

/// No line of a tool is longer; the rest of such a line is left out.
const LONGEST: usize = 4096;

/// Counters of the port at one moment; a driver that does not count leaves `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Number of the tick that they answer.
    pub tick: u64,
    /// Uptime of the guest, in seconds.
    pub uptime: f64,
    /// Packets that the port sent.
    pub sent: Option<u64>,
    /// Packets that it received.
    pub received: Option<u64>,
    /// What it counts of data that it sent, in the driver's own unit.
    pub sent_data: Option<u64>,
    /// Likewise of data that it received.
    pub received_data: Option<u64>,
}

/// Something that a side told.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The tool is not installed there.
    Missing(Text),
    /// Somebody else listens at the port already.
    Busy(u16),
    /// The tool runs.
    Started {
        /// Its process.
        process: u32,
        /// When that started, in ticks of the kernel since boot: the two together name it for good.
        began: u64,
    },
    /// The other side may come; `seen` if it was really seen to listen.
    Listens {
        /// False where only time has passed.
        seen: bool,
    },
    /// The answer to a tick.
    Counted(Counters),
    /// A line of the tool.
    Said(String),
    /// The tool ended with this status; 128 and more is a signal.
    Ended(i32),
}

/// Takes the output of a side apart.
#[derive(Debug)]
pub struct Reader {
    nonce: String,
    /// Bytes of a line that has not ended.
    begun: Vec<u8>,
    /// The beginning of a line of the tool, cut by a line of the block.
    cut: String,
}

impl Reader {
    /// For a block with this nonce.
    pub fn new(nonce: &str) -> Self {
        Self { nonce: nonce.to_owned(), begun: Vec::new(), cut: String::new() }
    }

    /// Takes the next bytes; gives what they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                if self.begun.len() < LONGEST {
                    self.begun.push(byte);
                }
                continue;
            }
            let line = std::mem::take(&mut self.begun);
            self.line(&String::from_utf8_lossy(&line), &mut events);
        }
        events
    }

    fn line(&mut self, line: &str, events: &mut Vec<Event>) {
        let Some((before, own)) = line.split_once(self.nonce.as_str()) else {
            let whole = std::mem::take(&mut self.cut) + line;
            events.push(Event::Said(whole));
            return;
        };
        // The tool had not ended its line when the block printed one.
        if self.cut.len() < LONGEST {
            self.cut.push_str(before);
        }
        if let Some(event) = event(own.trim()) {
            if matches!(event, Event::Ended(_)) && !self.cut.is_empty() {
                events.push(Event::Said(std::mem::take(&mut self.cut)));
            }
            events.push(event);
        }
    }
}

fn event(own: &str) -> Option<Event> {
    let (letter, rest) = own.split_once(' ')?;
    let mut words = rest.split(' ');
    let first = words.next()?;
    Some(match letter {
        "M" => Event::Missing(Text::new(first)),
        "B" => Event::Busy(first.parse().ok()?),
        "P" => Event::Started { process: first.parse().ok()?, began: words.next()?.parse().ok()? },
        "L" => Event::Listens { seen: first == "y" },
        "E" => Event::Ended(first.parse().ok()?),
        "C" => Event::Counted(counters(rest)?),
        _ => return None,
    })
}

fn counters(rest: &str) -> Option<Counters> {
    let mut cells = rest.split('|');
    let (tick, uptime) = cells.next()?.split_once(' ')?;
    let values: Vec<Option<u64>> = cells.map(|cell| cell.trim().parse().ok()).collect();
    let of = |place: usize| values.get(place).copied().flatten();
    Some(Counters {
        tick: tick.parse().ok()?,
        uptime: uptime.parse().ok().filter(|uptime: &f64| uptime.is_finite())?,
        sent: of(0).or(of(2)),
        received: of(1).or(of(3)),
        sent_data: of(4),
        received_data: of(5),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "\n* Waiting *\nNONCE P 812 4711\nNONCE L y\nNONCE C 3 17.25|10|20||||\nhalf NONCE C 4 18.25||||||\na line\nrest NONCE E 143\n";

    #[test]
    fn lines_of_the_block_are_told_from_those_of_the_tool() {
        let mut reader = Reader::new("NONCE");
        // In whatever pieces it comes.
        let events: Vec<Event> = TOLD.as_bytes().chunks(3).flat_map(|piece| reader.push(piece)).collect();
        let none = Counters { tick: 4, uptime: 18.25, ..Counters::default() };
        let some = Counters { tick: 3, uptime: 17.25, sent: Some(10), received: Some(20), ..none };
        let said = |line: &str| Event::Said(line.to_owned());
        assert_eq!(
            events,
            [
                said(""),
                said("* Waiting *"),
                Event::Started { process: 812, began: 4711 },
                Event::Listens { seen: true },
                Event::Counted(some),
                Event::Counted(none),
                said("half a line"),
                said("rest "),
                Event::Ended(143),
            ]
        );
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(crate::probe::testing::CASES))]
        #[test]
        fn damaged_lines_do_no_harm(text in crate::probe::testing::mutated_texts(&[TOLD])) {
            let mut reader = Reader::new("NONCE");
            let _ = reader.push(text.as_bytes());
        }
    }
}
