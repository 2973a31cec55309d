//! What stands above the panels of one target: who answers and how well, and the problem, if there is one.

use std::time::Duration;

use ratatui::text::{Line, Span};

use super::super::paint::{Paint, fit, width, wrap};
use crate::app::condition;
use crate::app::connection::Connection;
use crate::app::format;
use crate::app::model::{Model, Target, TargetKind};
use crate::fabric::TargetId;

/// The target's name, how it is reached and how well it answers; and the problem, if there is one.
pub fn target_lines<'a>(model: &Model, paint: Paint<'_>, id: &TargetId, room: usize) -> Vec<Line<'a>> {
    let Some(target) = model.targets.get(id) else { return Vec::new() };
    let condition = condition::of_target(model, id);
    let mut spans = vec![
        Span::styled(format!(" {id}"), paint.theme.title),
        Span::raw("  "),
        Span::styled(condition.word, paint.gravity(condition.gravity)),
    ];
    let used: usize = spans.iter().map(|span| width(&span.content)).sum();
    let facts = connection_facts(target);
    spans.push(Span::styled(fit(&format!("  {facts}"), room.saturating_sub(used), paint.glyphs), paint.theme.dim));
    let mut lines = vec![Line::from(spans)];
    if let Connection::BackingOff { problem, .. } | Connection::Failed { problem } = &target.connection {
        let sentences = [
            (&problem.what, paint.theme.error),
            (&problem.cause, paint.theme.text),
            (&problem.next_step, paint.theme.title),
        ];
        for (sentence, style) in sentences {
            if !sentence.is_empty() {
                lines.extend(
                    wrap(sentence, room.saturating_sub(2))
                        .into_iter()
                        .map(|line| Line::styled(format!(" {line}"), style)),
                );
            }
        }
    }
    let last = target.last_report.max(target.last_sample);
    if condition::is_stale(model, id)
        && let Some(last) = last
    {
        let text = match target.last_sample.filter(|sample| *sample < last) {
            Some(sample) => format!(
                " samples are {} old, the last other values {}",
                format::age(sample, model.now),
                format::age(last, model.now)
            ),
            None => format!(" the values below are {} old", format::age(last, model.now)),
        };
        lines.push(Line::styled(text, paint.theme.stale));
    }
    lines
}

fn connection_facts(target: &Target) -> String {
    let mut facts = Vec::new();
    if target.connection.is_up() {
        if let Some(round_trip) = target.round_trip {
            facts.push(format!("RTT {}", format::duration(round_trip)));
        }
        // This machine's clock is the one that others are compared with.
        if let Some(offset) = target.clock_offset_ms
            && target.kind != TargetKind::Local
        {
            facts.push(clock(offset, target.clock_within));
        }
    }
    if target.dropped > 0 {
        facts.push(format!("{} samples dropped", target.dropped));
    }
    // The way there is the longest by far and never changes: it comes last, and is what is cut where room is short.
    if let Connection::Connected { via, .. } = &target.connection {
        facts.push(via.to_string());
    }
    facts.join("  ")
}

/// How far a clock is from ours, in words: a sign would leave open which of the two is ahead.
/// It is told with what the way there leaves open, unless that is less than a digit of it.
fn clock(offset_ms: i64, within: Option<Duration>) -> String {
    let milliseconds = offset_ms.unsigned_abs();
    let room = within.map_or(0, |within| within.as_micros().div_ceil(1000));
    let open =
        if room > 0 && u128::from(milliseconds) < room * 1000 { format!(" +/-{room} ms") } else { String::new() };
    let distance = match milliseconds {
        0 => return format!("clock as here{open}"),
        // Where much is open the middle of it is no distance that was measured.
        _ if room >= 100 && u128::from(milliseconds) <= room => return format!("clock as here{open}"),
        1..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format::duration(Duration::from_millis(milliseconds)),
        _ => format::span(milliseconds / 1000),
    };
    format!("clock {distance} {}{open}", if offset_ms > 0 { "ahead" } else { "behind" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_told_with_what_the_way_leaves_open() {
        let within = |milliseconds| Some(Duration::from_millis(milliseconds));
        assert_eq!(clock(0, within(2)), "clock as here +/-2 ms");
        assert_eq!(clock(-3, Some(Duration::from_micros(1150))), "clock 3 ms behind +/-2 ms");
        assert_eq!(clock(7_200_000, within(2)), "clock 2 h 00 min ahead", "that is nothing beside it");
        assert_eq!(clock(-240, within(700)), "clock as here +/-700 ms");
        assert_eq!(clock(4100, within(700)), "clock 4.10 s ahead +/-700 ms");
        assert_eq!(clock(4, None), "clock 4 ms ahead", "an older recording does not say");
    }
}
