//! The *Live* panel: graphs of one target on one time axis, each with its ceiling and what there is to say about it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, width, wrap};
use super::super::pointer::Hit;
use super::super::widget::graph::{self, Form, GraphSeries, TimeAxis};
use super::heading::target_lines;
use crate::app::format;
use crate::app::guest_link;
use crate::app::live::{self, Ceiling, Graph, GraphUnit, LinePoint};
use crate::app::marks::Mark;
use crate::app::model::Model;
use crate::app::pointer::Pointed;
use crate::app::screen::Focus;
use crate::fabric::{Attribute, Entity, Timestamp};

/// Cells for the numbers of the scale; the same in all graphs, so that their time axes lie under each other.
const GUTTER: u16 = 11;
/// The lowest graph, title line included.
const LOWEST: u16 = 5;
/// The highest graph: more says no more.
const HIGHEST: u16 = 14;
/// The lowest room below the heading in which the time axis has a row of its own.
const ROOM_FOR_AXIS: u16 = 8;
/// How many marks are listed at most below the graphs.
const MOST_MARKS: usize = 20;
/// Notes are not cut shorter than this, in cells; rather, the oldest marks are left out.
const SHORTEST_NOTE: usize = 16;
/// The lowest room in which marks have three lines.
const ROOM_FOR_MARKS: u16 = 30;

/// Draws the panel.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let Some(target) = model.selected_target() else {
        frame.render_widget(Paragraph::new(Line::styled(" no targets", paint.theme.dim)), area);
        return;
    };
    let room = usize::from(area.width).saturating_sub(1);
    let mut head = target_lines(model, paint, target, room);
    head.push(axis_line(model, paint));
    let head_height = u16::try_from(head.len()).unwrap_or(u16::MAX).min(area.height);
    let [top, body] = Layout::vertical([Constraint::Length(head_height), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(head), top);
    let graphs = live::graphs(model, target);
    let marks = marks_lines(model, paint, room, if body.height < ROOM_FOR_MARKS { 2 } else { 3 });
    let marks_height = if body.height < ROOM_FOR_AXIS { 0 } else { u16::try_from(marks.len()).unwrap_or(0) };
    let axis_height = u16::from(body.height >= ROOM_FOR_AXIS && graphs.iter().any(|graph| !graph.lines.is_empty()));
    let rows = [Constraint::Min(0), Constraint::Length(axis_height), Constraint::Length(marks_height)];
    let [body, _, below] = Layout::vertical(rows).areas(body);
    if graphs.is_empty() {
        frame.render_widget(Paragraph::new(nothing(model, paint, room)), body);
        frame.render_widget(Paragraph::new(marks), below);
        return;
    }
    let selected = model.screen.live.selected.min(graphs.len() - 1);
    let heights = heights(model, &graphs, selected, room, body.height);
    let mut y = body.y;
    for (graph, (index, height)) in heights.iter().map(|(index, height)| (&graphs[*index], (*index, *height))) {
        let place = Rect { y, height: height.min(body.bottom().saturating_sub(y)), ..body };
        paint.hit(place, Hit::Thing(Pointed::Graph(u32::try_from(index).unwrap_or(u32::MAX))));
        draw_graph(frame, model, paint, place, graph, model.screen.focus == Focus::Panel && index == selected);
        y = y.saturating_add(height);
    }
    let below = heights.last().map_or(0, |(last, _)| graphs.len() - last - 1);
    if below > 0 && y < body.bottom() {
        let text =
            format!(" {} {below} more {} below", paint.glyphs.ellipsis, if below == 1 { "graph" } else { "graphs" });
        frame.render_widget(Paragraph::new(Line::styled(text, paint.theme.dim)), Rect { y, height: 1, ..body });
        y += 1;
    }
    // Directly below the graphs, wherever they end.
    let y = y.min(body.bottom());
    draw_axis(frame, model, paint, Rect { y, height: axis_height, ..body });
    frame.render_widget(Paragraph::new(marks), Rect { y: y + axis_height, height: marks_height, ..body });
}

/// Which graphs are shown and how high: as many as fit at their lowest height, the selected one among them; the others
/// share what is left. A graph of trouble that shows none is one line.
fn heights(model: &Model, graphs: &[Graph], selected: usize, room: usize, available: u16) -> Vec<(usize, u16)> {
    let edge = model.shown_time();
    let from = edge - jiff::SignedDuration::from_secs(i64::from(model.screen.live.window()));
    let needs: Vec<(u16, u16)> = graphs
        .iter()
        .map(|graph| {
            let below = u16::try_from(sentences(graph, room).len()).unwrap_or(0);
            if graph.lines.is_empty() || graph.is_quiet(model, from, edge) {
                (1 + below, 1 + below)
            } else {
                (LOWEST + below, HIGHEST + below)
            }
        })
        .collect();
    // One line is left for the word that more graphs lie below.
    let room_for = |count: usize, first: usize| {
        let needed: u16 = needs[first..first + count].iter().map(|(lowest, _)| *lowest).sum();
        needed + u16::from(first + count < graphs.len()) <= available
    };
    let count = (1..=graphs.len())
        .rev()
        .find(|count| room_for(*count, super::super::paint::offset(selected, graphs.len(), *count)))
        .unwrap_or(1);
    let first = super::super::paint::offset(selected, graphs.len(), count);
    let mut heights: Vec<(usize, u16)> = (first..first + count).map(|index| (index, needs[index].0)).collect();
    let used: u16 = heights.iter().map(|(_, height)| *height).sum();
    let mut left = available.saturating_sub(used + u16::from(first + count < graphs.len()));
    while left > 0 {
        let before = left;
        for (index, height) in &mut heights {
            if left > 0 && *height < needs[*index].1 {
                *height += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    heights
}

/// What is shown: the window, whether it stands still, where the cursor is.
fn axis_line<'a>(model: &Model, paint: Paint<'_>) -> Line<'a> {
    let live = &model.screen.live;
    let mut spans = vec![Span::styled(format!(" window {}", format::span(u64::from(live.window()))), paint.theme.dim)];
    if let Some(at) = live.frozen {
        spans.push(Span::styled(format!("  FROZEN at {}", format::clock(at, paint.zone)), paint.theme.warning));
    }
    if live.cursor.is_some() {
        let text = format!("  cursor {}", format::clock(model.cursor_time(), paint.zone));
        spans.push(Span::styled(text, paint.theme.title));
    }
    if model.screen.look.low_bandwidth {
        spans.push(Span::styled("  sweeps: the newest stands left of the gap", paint.theme.dim));
    }
    Line::from(spans)
}

fn nothing<'a>(model: &Model, paint: Paint<'_>, room: usize) -> Vec<Line<'a>> {
    let text = if model.screen.filter.is_empty() {
        let presence = model.selected_target().and_then(|target| {
            let guest = crate::fabric::EntityId::new(target, Entity::Guest);
            model.fabric.text(&guest, Attribute::RdmaPresence)
        });
        match presence {
            _ if model.selected_target().is_some_and(|target| live::is_saved(model, target)) => {
                "these values were saved earlier: there is nothing live to draw".to_owned()
            }
            _ if model.selected_target().is_some_and(|target| guest_link::is_switch(model, target)) => {
                "the counters of a switch are read once a minute and are not drawn: its ports stand in Guest (4)"
                    .to_owned()
            }
            Some(presence) => presence.to_owned(),
            None => "no counters were read yet".to_owned(),
        }
    } else {
        "nothing passes the filter".to_owned()
    };
    wrap(&text, room).into_iter().map(|line| Line::styled(format!(" {line}"), paint.theme.dim)).collect()
}

/// Times of day below the graphs, in the columns of their plots.
fn draw_axis(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let plain = |_: f64| String::new();
    let mut shape = graph::Graph::new(&plain, paint.theme, paint.glyphs);
    shape.gutter = GUTTER;
    let label = |moment: f64| {
        let at = Timestamp::UNIX_EPOCH.checked_add(jiff::SignedDuration::from_secs_f64(moment));
        at.map_or_else(|_| String::new(), |at| format::clock(at, paint.zone))
    };
    let axis = TimeAxis {
        window_seconds: f64::from(model.screen.live.window()),
        right_edge_seconds: seconds(model.shown_time()),
        label: &label,
        glyphs: paint.glyphs,
        style: paint.theme.dim,
        sweeps: model.screen.look.low_bandwidth,
    };
    frame.render_widget(axis, shape.plot_area(area));
}

/// Seconds since 1970.
fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

/// The marks in sight: seconds before the right edge, and their letters.
fn letters(model: &Model, edge: Timestamp, window: f64) -> Vec<(f64, String)> {
    let in_sight = model.marks.iter().filter(|mark| is_in_sight(model, mark));
    // One that is newer than the newest sample stands at the edge until that comes.
    in_sight.map(|mark| (edge.duration_since(mark.at).as_secs_f64().clamp(0.0, window), mark.letter())).collect()
}

/// True if a mark lies within what is shown.
fn is_in_sight(model: &Model, mark: &Mark) -> bool {
    let (edge, window) = (model.shown_time(), i64::from(model.screen.live.window()));
    let last = if model.screen.live.frozen.is_some() { edge } else { model.now };
    mark.at <= last && edge.duration_since(mark.at) <= jiff::SignedDuration::from_secs(window)
}

/// What the letters mean: `marks  A 14:02:30 "mtu 1500 -> 9000"`. Those in sight, or the newest ones if none is. Where not
/// all fit, their notes are cut, and at last the oldest marks are left out.
fn marks_lines<'a>(model: &Model, paint: Paint<'_>, room: usize, most: usize) -> Vec<Line<'a>> {
    let in_sight: Vec<&Mark> = model.marks.iter().filter(|mark| is_in_sight(model, mark)).collect();
    let (word, wanted) = if in_sight.is_empty() {
        ("marks out of sight", model.marks.iter().rev().take(2).rev().collect())
    } else {
        ("marks", in_sight)
    };
    let room = room.saturating_sub(width(word) + 3).max(1);
    let mut shown = &wanted[wanted.len().saturating_sub(MOST_MARKS)..];
    while shown.len() > 1 && flowed(shown, paint, room, SHORTEST_NOTE).len() > most {
        shown = &shown[1..];
    }
    let longest = [usize::MAX, 40, 24].into_iter().find(|longest| flowed(shown, paint, room, *longest).len() <= most);
    let mut lines = flowed(shown, paint, room, longest.unwrap_or(SHORTEST_NOTE));
    for (index, line) in lines.iter_mut().enumerate() {
        let head = if index == 0 { format!(" {word}  ") } else { " ".repeat(width(word) + 3) };
        line.spans.insert(0, Span::styled(head, paint.theme.dim));
    }
    lines
}

/// Marks with their notes, of at most `longest` cells each, in as many lines as they need.
fn flowed<'a>(marks: &[&Mark], paint: Paint<'_>, room: usize, longest: usize) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    let mut used = room;
    for mark in marks {
        let letter = mark.letter();
        let note = fit(&mark.note, longest, paint.glyphs);
        let note = if note.is_empty() { note } else { format!(" \"{note}\"") };
        let rest = format!(" {}{note}", format::clock(mark.at, paint.zone));
        let rest = fit(&rest, room.saturating_sub(width(&letter)), paint.glyphs);
        let needed = width(&letter) + width(&rest);
        if used + 2 + needed > room {
            lines.push(Line::default());
            used = 0;
        } else {
            used += 2;
        }
        used += needed;
        if let Some(line) = lines.last_mut() {
            if !line.spans.is_empty() {
                line.push_span(Span::raw("  "));
            }
            line.push_span(Span::styled(letter, paint.theme.mark));
            line.push_span(Span::styled(rest, paint.theme.dim));
        }
    }
    lines
}

/// What stands under a graph: who does not publish, and why there is no ceiling.
fn sentences(graph: &Graph, room: usize) -> Vec<String> {
    let mut parts: Vec<String> = graph.sentence.iter().cloned().collect();
    if let Ceiling::Unknown(why) = &graph.ceiling {
        parts.push(format!("ceiling unknown: {}", why.strip_prefix("not observable: ").unwrap_or(why)));
    }
    if parts.is_empty() { Vec::new() } else { wrap(&parts.join("; "), room.saturating_sub(1)) }
}

/// The newest value of each line, in as much room as there is. Where not all fit, those that tell of trouble come first,
/// and an ellipsis says that there are more.
fn values<'a>(graph: &Graph, model: &Model, at: Timestamp, paint: Paint<'_>, room: usize) -> Vec<Span<'a>> {
    let mut all: Vec<(bool, String, usize)> = graph
        .lines
        .iter()
        .enumerate()
        .map(|(index, line)| {
            let value = line.fresh_value(model, at);
            let calm = !(line.tells_of_trouble() && value.is_some_and(|value| value > 0.0));
            let value = value.map_or_else(|| "-".to_owned(), |value| graph.unit.format(value));
            (calm, format!("  {} {value}", line.label), index)
        })
        .collect();
    if all.iter().map(|(_, text, _)| width(text)).sum::<usize>() > room {
        all.sort_by_key(|(calm, ..)| *calm);
    }
    let more = format!(" {}", paint.glyphs.ellipsis);
    let mut spans = Vec::new();
    let mut used = 0;
    let count = all.len();
    for (number, (_, text, index)) in all.into_iter().enumerate() {
        let reserve = if number + 1 < count { width(&more) } else { 0 };
        if used + width(&text) + reserve > room {
            spans.push(Span::styled(more, paint.theme.dim));
            break;
        }
        used += width(&text);
        spans.push(Span::styled(text, paint.theme.series(index)));
    }
    spans
}

fn draw_graph(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, graph: &Graph, selected: bool) {
    let room = usize::from(area.width).saturating_sub(1);
    let edge = model.shown_time();
    let window = model.screen.live.window();
    // A little more than the window, so that the line comes in from beyond the left edge.
    let from = edge - jiff::SignedDuration::from_secs(i64::from(window) + 5);
    let at = model.cursor_time();
    let mut title = vec![Span::styled(
        format!(" {}", graph.title),
        if selected { paint.theme.title.patch(paint.theme.selection) } else { paint.theme.title },
    )];
    title.extend(values(graph, model, at, paint, room.saturating_sub(width(&graph.title) + 1)));
    let below = sentences(graph, room);
    // Without a line there is no plot: the reason has all rows but that of the title.
    // Of trouble that shows none only the words are of use.
    let in_sight = edge - jiff::SignedDuration::from_secs(i64::from(window));
    let is_low = area.height < LOWEST;
    let is_plain = graph.lines.is_empty() || (is_low && graph.is_quiet(model, in_sight, edge));
    let taken = if is_plain { 1 } else { 2 };
    let below_height = u16::try_from(below.len()).unwrap_or(0).min(area.height.saturating_sub(taken));
    let [title_area, plot, text_area] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(below_height)]).areas(area);
    frame.render_widget(Paragraph::new(Line::from(title)), title_area);
    let lines: Vec<Line<'_>> = below
        .into_iter()
        .map(|line| Line::styled(format!(" {}", fit(&line, room, paint.glyphs)), paint.theme.unknown))
        .collect();
    frame.render_widget(Paragraph::new(lines), text_area);
    if is_plain || plot.height == 0 {
        return;
    }
    let points: Vec<Vec<(f64, Option<f64>)>> =
        graph.lines.iter().map(|line| seconds_ago(&line.points(model, from, edge), edge, graph.unit)).collect();
    let form = if graph.lines.len() == 1 { Form::Area } else { Form::Line };
    let series: Vec<GraphSeries<'_>> = graph
        .lines
        .iter()
        .zip(&points)
        .enumerate()
        .map(|(index, (line, points))| GraphSeries {
            points,
            style: paint.theme.series(index),
            label: line.label,
            form: if index == 0 { Form::Area } else { form },
        })
        .collect();
    let unit = graph.unit;
    let format = move |value: f64| unit.format(value);
    let mut widget = graph::Graph::new(&format, paint.theme, paint.glyphs);
    widget.series = &series;
    widget.window_seconds = f64::from(window);
    widget.right_edge_seconds = seconds(edge);
    let letters = letters(model, edge, f64::from(window));
    let marks: Vec<(f64, &str)> = letters.iter().map(|(ago, letter)| (*ago, letter.as_str())).collect();
    widget.marks = &marks;
    widget.gap_seconds = live::GAP_PERIODS * model.options.period.as_secs_f64() + longest_step(graph);
    widget.gutter = GUTTER;
    widget.sweeps = model.screen.look.low_bandwidth;
    widget.whole_numbers = unit == GraphUnit::Number;
    widget.cursor_seconds_ago = model.screen.live.cursor.map(f64::from);
    if let Ceiling::Known(value, name) = &graph.ceiling {
        widget.ceiling = Some(graph::Ceiling { value: *value, name });
    }
    frame.render_widget(widget, plot);
}

/// Queue pairs and rows of `esxtop` are read every few seconds, not each second. Steps say themselves where their gaps are.
fn longest_step(graph: &Graph) -> f64 {
    if graph.is_shared() {
        return f64::INFINITY;
    }
    let is_read_now_and_then = graph.attribute == Attribute::ForeignQueuePairs || graph.is_watched();
    if is_read_now_and_then { live::LONGEST_STEP_SECONDS } else { 0.0 }
}

fn seconds_ago(points: &[LinePoint], edge: Timestamp, unit: GraphUnit) -> Vec<(f64, Option<f64>)> {
    let mut drawn: Vec<(f64, Option<f64>)> = Vec::with_capacity(points.len());
    for (at, value) in points {
        let ago = edge.duration_since(*at).as_secs_f64();
        // What is read now and then holds until the next reading: a slope would claim values that nobody saw.
        if unit == GraphUnit::Number
            && let Some((_, before)) = drawn.last().copied()
        {
            drawn.push((ago + 0.001, before));
        }
        drawn.push((ago, *value));
    }
    drawn
}
