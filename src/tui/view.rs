//! The whole screen from the model: header, fabric tree, panel, footer, and what lies over them. Pure: the same model
//! at the same size gives the same cells.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::paint::{Paint, fit, skip_columns, width};
use super::pointer::Hit;
use super::{overlay, panel};
use crate::app::action;
use crate::app::condition;
use crate::app::format;
use crate::app::marks::Mark;
use crate::app::mode::Mode;
use crate::app::model::Model;
use crate::app::screen::{Focus, Overlay, Panel, Purpose};

/// Below this width the tree and the panel do not fit beside each other: the one with the focus is shown.
const NARROW: u16 = 60;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>) {
    let area = frame.area();
    if area.width == 0 || area.height == 0 {
        return;
    }
    // The ground of the theme, under everything; one without a ground leaves the terminal's own.
    frame.buffer_mut().set_style(area, paint.theme.text);
    if let Some(hits) = paint.hits {
        hits.clear();
    }
    let [header, body, footer] = rows(area);
    draw_header(frame, model, paint, header);
    draw_body(frame, model, paint, body);
    if !model.screen.overlays.is_empty() || !model.prompts.is_empty() {
        paint.hit(body, Hit::Nothing); // what is covered cannot be clicked
    }
    for layer in &model.screen.overlays {
        match layer {
            Overlay::Help { scroll } => overlay::help::draw(frame, model, paint, body, *scroll),
            Overlay::Evidence(evidence) => overlay::evidence::draw(frame, paint, body, evidence),
            Overlay::Settings(view) => overlay::settings::draw(frame, model, paint, body, *view),
            Overlay::Marks { selected } => overlay::marks::draw(frame, model, paint, body, *selected),
            Overlay::Change { scroll } => overlay::change::draw(frame, model, paint, body, *scroll),
            Overlay::Bench { scroll } => overlay::bench::draw(frame, model, paint, body, *scroll),
            Overlay::Healthy(view) => overlay::healthy::draw(frame, model, paint, body, *view),
            Overlay::Paste(view) => overlay::paste::draw(frame, paint, body, view),
            Overlay::Palette(_) => {}
        }
    }
    overlay::prompt::draw(frame, model, paint, body);
    // What is being typed is never hidden by a question that comes meanwhile.
    if let Some(Overlay::Palette(view)) = model.screen.overlays.last() {
        overlay::palette::draw(frame, model, paint, body, *view);
    }
    draw_footer(frame, model, paint, footer);
}

/// Header, body and footer of a screen.
fn rows(area: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(area)
}

/// The part of a screen in which overlays lie.
pub fn body(area: Rect) -> Rect {
    let [_, body, _] = rows(area);
    body
}

fn draw_body(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, body: Rect) {
    if body.width < NARROW {
        match model.screen.focus {
            Focus::Tree => draw_tree(frame, model, paint, body),
            Focus::Panel => draw_panel(frame, model, paint, body),
        }
        return;
    }
    let tree_width = match body.width {
        0..100 => 28,
        100..150 => 34,
        _ => 42,
    };
    let [tree, border, panel] =
        Layout::horizontal([Constraint::Length(tree_width), Constraint::Length(1), Constraint::Min(0)]).areas(body);
    draw_tree(frame, model, paint, tree);
    let rule: Vec<Line<'_>> =
        (0..border.height).map(|_| Line::styled(paint.glyphs.vertical, paint.theme.border)).collect();
    frame.render_widget(Paragraph::new(rule), border);
    draw_panel(frame, model, paint, panel);
}

fn draw_tree(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    if let Some(hits) = paint.hits {
        hits.set_tree(area);
    }
    panel::tree::draw(frame, model, paint, area);
}

/// The name of the action that shows a panel.
fn action_of(panel: Panel) -> &'static str {
    match panel {
        Panel::Path => "panel-path",
        Panel::Host => "panel-host",
        Panel::Vm => "panel-vm",
        Panel::GuestLink => "panel-guest",
        Panel::Live => "panel-live",
        Panel::Wizard => "panel-wizard",
        Panel::Tune => "panel-tune",
        Panel::Events => "panel-events",
        Panel::Gpu => "panel-gpu",
    }
}

fn draw_panel(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let [tabs, content] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let focused = model.screen.focus == Focus::Panel;
    let mut spans = vec![Span::raw(" ")];
    let mut x = tabs.x.saturating_add(1);
    // Where room is short the number stands close to the first word of the name.
    let long = |panel: &Panel| format!("{} {}", panel.number(), panel.title());
    let short = |panel: &Panel| {
        let first = panel.title().split(' ').next().unwrap_or_default();
        format!("{}{first}", panel.number())
    };
    // At 80 columns even that is too long for all of them: a name that says the same in fewer letters stands in its place.
    let shortest = |panel: &Panel| match panel {
        Panel::GuestLink => format!("{}Link", panel.number()),
        Panel::Wizard => format!("{}Wiz", panel.number()),
        Panel::Events => format!("{}Event", panel.number()),
        _ => short(panel),
    };
    let taken = |name: &dyn Fn(&Panel) -> String, gap: usize| -> usize {
        Panel::ALL.iter().map(|panel| width(&name(panel)) + gap).sum()
    };
    let room = usize::from(tabs.width);
    let (name, gap): (&dyn Fn(&Panel) -> String, u16) = match () {
        () if taken(&long, 2) < room => (&long, 2),
        () if taken(&short, 1) <= room => (&short, 1),
        () => (&shortest, 1),
    };
    for panel in Panel::ALL {
        let label = name(&panel);
        let wide = u16::try_from(width(&label)).unwrap_or(u16::MAX);
        paint.hit(Rect { x, width: wide, ..tabs }.intersection(tabs), Hit::Action(action_of(panel)));
        x = x.saturating_add(wide).saturating_add(gap);
        let style = if panel != model.screen.panel {
            paint.theme.dim
        } else if focused {
            paint.theme.title.patch(paint.theme.selection)
        } else {
            paint.theme.title
        };
        spans.push(Span::styled(label, style));
        spans.push(Span::raw(" ".repeat(usize::from(gap))));
    }
    if !model.screen.filter.is_empty() {
        let place = match model.screen.filter_on {
            Focus::Tree => "tree filter",
            Focus::Panel => "filter",
        };
        spans.push(Span::styled(format!("{place}: {}", model.screen.filter.text()), paint.theme.warning));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), tabs);
    match model.screen.panel {
        panel if panel.has_rows() => panel::rows::draw(frame, model, paint, content),
        Panel::Live => panel::live::draw(frame, model, paint, content),
        _ => panel::events::draw(frame, model, paint, content),
    }
}

/// Words, not signs: inventory, mode, whether changes are allowed, how the targets stand, the time.
fn draw_header(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let base = paint.theme.header;
    let tally = condition::tally(model);
    let mut left = vec![Span::styled(" rdmascope", base.patch(paint.theme.title))];
    let inventory = &model.options.inventory;
    let inventory = (!inventory.is_empty()).then(|| Span::styled(format!("  {inventory}"), base));
    let frozen = model.screen.live.frozen.map(|at| format!("  graphs FROZEN {}", format::clock(at, paint.zone)));
    match &model.mode {
        Mode::Live { recording } => {
            left.extend(inventory);
            left.push(Span::styled(frozen.unwrap_or_else(|| "  LIVE".to_owned()), base.patch(paint.theme.title)));
            if *recording {
                left.push(Span::styled("  REC", base.patch(paint.theme.warning)));
            }
            left.push(Span::styled(
                if model.options.allow_changes { "  changes allowed" } else { "  read-only" },
                base,
            ));
        }
        Mode::Replay(replay) => {
            let (position, length) = (format::position(replay.position), format::position(replay.length));
            let pace = if replay.paused { "paused".to_owned() } else { replay.speed.to_string() };
            left.push(Span::styled(format!("  REPLAY {position}/{length} {pace}"), base.patch(paint.theme.title)));
            if !replay.following {
                left.push(Span::styled("  own view", base.patch(paint.theme.warning)));
            }
            // Of whom the recording is never changes: it comes last, and is what is cut where room is short.
            left.extend(frozen.map(|frozen| Span::styled(frozen, base)));
            left.extend(inventory);
        }
    }
    let mut counts = Vec::new();
    if tally.up > 0 {
        counts.push(format!("{} up", tally.up));
    }
    if tally.stale > 0 {
        counts.push(format!("{} STALE", tally.stale));
    }
    if tally.down > 0 {
        counts.push(format!("{} DOWN", tally.down));
    }
    if tally.pending > 0 {
        counts.push(format!("{} pending", tally.pending));
    }
    match tally.findings {
        0 => {}
        1 => counts.push("1 FINDING".to_owned()),
        more => counts.push(format!("{more} FINDINGS")),
    }
    match model.prompts.len() {
        0 => {}
        1 => counts.push("1 QUESTION".to_owned()),
        more => counts.push(format!("{more} QUESTIONS")),
    }
    // On a slow line a clock that moves each second is a packet each second.
    let step = if model.screen.look.low_bandwidth { 5 } else { 1 };
    let now = model.now - jiff::SignedDuration::from_secs(model.now.as_second().rem_euclid(step));
    let right = format!(" {}  {} ", counts.join("  "), format::clock(now, paint.zone));
    let right_width = width(&right).min(usize::from(area.width));
    let [left_area, right_area] =
        Layout::horizontal([Constraint::Min(0), Constraint::Length(u16::try_from(right_width).unwrap_or(u16::MAX))])
            .areas(area);
    frame.render_widget(Paragraph::new(Line::from(left)).style(base), left_area);
    frame.render_widget(Paragraph::new(Line::styled(right, base)).style(base), right_area);
}

/// The line being edited, else a sentence about the last key, else the keys that work now.
fn draw_footer(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let base = paint.theme.footer;
    let replay = model.mode.replay();
    let entry = replay.and_then(|replay| replay.entry.as_ref());
    let about_replay = replay.and_then(|replay| replay.notice.as_ref());
    // What the replay has to say goes before a line that somebody else once typed.
    let is_others = replay.is_some_and(|replay| replay.following) && about_replay.is_some();
    let typed = model.screen.editing.as_ref().filter(|editing| editing.purpose != Purpose::Palette && !is_others);
    if let Some(editing) = entry.or(typed) {
        let prefix = match editing.purpose {
            Purpose::Filter | Purpose::Palette => " filter: ".to_owned(),
            Purpose::Search => " search: ".to_owned(),
            Purpose::Position => " to time: ".to_owned(),
            Purpose::Confirm => " name of the target, to apply it: ".to_owned(),
            Purpose::Note { mark, .. } => {
                format!(" note of mark {}: ", model.marks.get(mark).map(Mark::letter).unwrap_or_default())
            }
        };
        let room = usize::from(area.width).saturating_sub(width(&prefix) + 1);
        let scroll = editing.input.visual_scroll(room);
        let shown: String = skip_columns(editing.input.value(), scroll);
        let cursor = editing.input.visual_cursor().saturating_sub(scroll);
        let column = area.x.saturating_add(u16::try_from(width(&prefix) + cursor).unwrap_or(u16::MAX));
        let mut spans = vec![Span::styled(prefix, paint.theme.title), Span::styled(shown, paint.theme.text)];
        if editing.purpose == Purpose::Position && editing.input.value().is_empty() {
            let forms = " 12:41 from the start, +30 or -1:30 from here, @14:03 of the day";
            spans.push(Span::styled(fit(forms, room, paint.glyphs), paint.theme.dim));
        }
        let line = Line::from(spans);
        frame.render_widget(Paragraph::new(line).style(base), area);
        if column < area.right() {
            frame.set_cursor_position(Position::new(column, area.y));
        }
        return;
    }
    if let Some(text) = about_replay.or(model.screen.notice.as_ref().map(|(text, _)| text)) {
        let line = fit(&format!(" {text}"), usize::from(area.width), paint.glyphs);
        frame.render_widget(Paragraph::new(Line::styled(line, paint.theme.warning)).style(base), area);
        return;
    }
    let context = action::context(model);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for action in action::hints(model) {
        let panel = model.screen.panel.context();
        let Some(key) = paint.keymap.hint_beside(context, panel, action.name) else { continue };
        let hint = match replay {
            Some(replay) if replay.paused && action.name == "replay-pause" => "go on",
            _ => action.hint,
        };
        let needed = width(&key) + 1 + width(hint) + 2;
        if used + needed > usize::from(area.width) {
            break;
        }
        if model.prompts.is_empty() {
            // A question is answered by a key that was meant, not by a click that slipped.
            let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
            let place = Rect { x: area.x.saturating_add(cells(used)), width: cells(needed - 2), ..area };
            paint.hit(place.intersection(area), Hit::Action(action.name));
        }
        used += needed;
        spans.push(Span::styled(key, paint.theme.footer_key));
        spans.push(Span::styled(format!(" {hint}  "), paint.theme.footer));
    }
    if model.prompts.is_empty() && model.screen.overlays.is_empty() {
        let panels: String = Panel::ALL.map(|panel| panel.number().to_string()).join("/");
        let needed = width(&panels) + width(" panels  ");
        if used + needed <= usize::from(area.width) {
            spans.push(Span::styled(panels, paint.theme.footer_key));
            spans.push(Span::styled(" panels  ", paint.theme.footer));
        }
    }
    frame.render_widget(Paragraph::new(Line::from(spans)).style(base), area);
}
