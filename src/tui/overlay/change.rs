//! A remedy before, while and after it is applied: what it is against, the exact commands, what they can break, the way
//! back, and how far it is.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, wrap};
use crate::app::change::{self, Change, Stage};
use crate::app::model::Model;
use crate::diagnose::remedy::Step;
use crate::fabric::TargetId;

/// Draws the overlay.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, scroll: usize) {
    let Some(change) = &model.change else { return };
    let columns = area.width.saturating_sub(6).min(110);
    let lines = lines(model, change, paint, usize::from(columns).max(20));
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let title = match (change.undo, change.cures.len()) {
        (true, _) => " The way back ".to_owned(),
        (false, 1) => " Remedy ".to_owned(),
        (false, all) => format!(" Remedy {} of {all} ", change.chosen + 1),
    };
    let inner = super::open(frame, paint, area, columns, rows, title);
    let shown = super::scrolled(lines, scroll, usize::from(inner.height), paint);
    frame.render_widget(Paragraph::new(shown), inner);
}

fn lines<'a>(model: &Model, change: &Change, paint: Paint<'_>, room: usize) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    let mut say = |text: &str, style: Style| {
        lines.extend(wrap(text, room).into_iter().map(|line| Line::styled(line, style)));
    };
    let theme = paint.theme;
    say(&change.matter, theme.warning);
    let Some(cure) = change.cure() else { return lines };
    say(&cure.title, theme.title);
    if !cure.note.is_empty() {
        say(&format!("mind: {}", cure.note), theme.text);
    }
    say(&format!("on     {}", cure.on.as_ref().map_or("no target: by hand", TargetId::as_str)), theme.text);
    say(&format!("risk   {}", cure.risk.words()), theme.text);
    for step in change.steps() {
        match step {
            Step::ByHand(what) => say(&format!("hand   {what}"), theme.text),
            Step::Configure(line) => say(&format!("type   {line}"), theme.text),
            Step::Run(_) => say(&format!("run    {}", step.shown()), theme.text),
        }
    }
    if !change.undo {
        if cure.undo.is_empty() {
            say(&format!("undo   none: {}", cure.no_undo()), theme.dim);
        }
        for step in &cure.undo {
            say(&format!("undo   {}", step.shown()), theme.dim);
        }
        let checks: Vec<&str> = cure.verify.iter().map(AsRef::as_ref).collect();
        if !checks.is_empty() {
            say(&format!("verify {}", checks.join(", ")), theme.dim);
        }
    }
    for ran in &change.ran {
        let ended = if ran.is_well() { "done" } else { "FAILED" };
        say(&format!("{ended:6} {}", ran.command), theme.text);
        if !ran.said.is_empty() {
            say(&format!("       {}", ran.said), theme.dim);
        }
    }
    say("", theme.text);
    match &change.stage {
        Stage::Asking => match change::obstacle(model) {
            Some(why) => say(why, theme.warning),
            None => say("Enter applies it, once the name of the target is typed", theme.title),
        },
        Stage::ReadingAgain => say("the state is read again before anything runs ...", theme.title),
        Stage::Applying => say("it is applied ...", theme.title),
        Stage::Verifying => say("it was applied; the check runs again ...", theme.title),
        Stage::Over { verdict, good } => say(verdict, if *good { theme.ok } else { theme.error }),
    }
    lines
}
