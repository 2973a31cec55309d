//! The panels of rows: *Host binding*, *VM devices*, *Guest link*. Who answers and how, what is wrong with the connection,
//! then all that is known, what is wrong first.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, part, width, wrap};
use super::super::pointer::Hit;
use super::heading::target_lines;
use crate::app::condition;
use crate::app::model::{Model, TargetKind};
use crate::app::path::FIRST_BROKEN;
use crate::app::pointer::Pointed;
use crate::app::screen::{Focus, HostMode, Panel};
use crate::app::table::{self, Row};
use crate::app::{gpu, guest_link, host_binding, path, tune, vm_devices, wizard};
use crate::diagnose::finding::Status;
use crate::fabric::TargetId;

/// Draws the panel that is shown.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let Some(target) = model.selected_target() else {
        frame.render_widget(Paragraph::new(Line::styled(" no targets", paint.theme.dim)), area);
        return;
    };
    let (Some(rows), Some(view)) = (table::rows(model), table::view(&model.screen)) else { return };
    let room = usize::from(area.width).saturating_sub(1);
    let mut lines = heading(model, paint, target, room);
    if model.screen.panel == Panel::Wizard {
        // On a low screen the rows go first.
        lines.truncate(usize::from(area.height / 3));
    }
    let subject = subject(model, target);
    let stale = subject.is_some_and(|target| condition::is_stale(model, target)) && !rows.is_empty();
    let focused = model.screen.focus == Focus::Panel;
    // Names of settings and devices of VMs are longer than those in a guest.
    let most = if model.screen.panel == Panel::GuestLink { room / 3 } else { room * 2 / 5 };
    let label_room = label_room(&rows, most);
    let names = if model.screen.panel == Panel::Host { host_binding::columns(model) } else { Vec::new() };
    let columns = Columns::new(&names, room, label_room);
    if let Some(columns) = &columns {
        lines.push(columns.heading(&names, paint));
    }
    let tables = Tables::of(model, &rows, room);
    let said = explanation(model, paint, &rows, room, usize::from(area.height).saturating_sub(lines.len()));
    let height = usize::from(area.height).saturating_sub(lines.len() + said.len());
    let mut body: Vec<Line<'_>> = Vec::new();
    let mut position = 0;
    let mut row_of_line: Vec<u32> = Vec::new();
    let mut section = "";
    for (number, row) in (0u32..).zip(&rows) {
        let chosen = focused && Some(&row.key) == view.selected.as_ref();
        if chosen {
            position = body.len();
        }
        if row.is_section() {
            section = &row.label;
        }
        let cell = chosen.then_some(view.cell);
        let table = tables.under(section);
        match (&columns, table) {
            (Some(columns), _) if !row.is_section() && row.cells.len() == names.len() => {
                body.extend(columns.row(row, paint, cell));
            }
            (_, Some(table)) if row.is_section() => {
                body.extend(row_lines(row, paint, room, label_room, None, stale));
                body.extend(table.columns.as_ref().map(|columns| columns.heading(&table.shown, paint)));
            }
            (_, Some(Table { columns: Some(columns), .. })) => body.extend(columns.row(row, paint, cell)),
            (_, Some(table)) => {
                body.extend(row_lines(&named(row, &table.names), paint, room, label_room, cell, stale));
            }
            _ => {
                let mut lines = row_lines(&named(row, &names), paint, room, label_room, cell, stale);
                if model.screen.panel == Panel::Wizard {
                    super::wizard::mark(row, &mut lines, paint, chosen);
                }
                body.extend(lines);
            }
        }
        row_of_line.resize(body.len(), number);
    }
    if rows.is_empty() {
        body.extend(
            wrap(&nothing(model, target), room.saturating_sub(2))
                .into_iter()
                .map(|line| Line::styled(format!(" {line}"), paint.theme.dim)),
        );
    }
    let (first, mut shown) = part(body, if focused { position } else { 0 }, height, "lines", paint);
    let top = area.y.saturating_add(u16::try_from(lines.len()).unwrap_or(u16::MAX));
    for (y, row) in (top..area.bottom()).zip(row_of_line.into_iter().skip(first).take(height)) {
        paint.hit(Rect { y, height: 1, ..area }, Hit::Thing(Pointed::Guest(row)));
    }
    lines.append(&mut shown);
    if !said.is_empty() {
        lines.resize(usize::from(area.height).saturating_sub(said.len()), Line::default());
        lines.extend(said);
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// What is behind the selected word of a matrix, at the foot of the panel; while nothing is selected, what is behind the
/// gravest. It takes a third of the room at most.
fn explanation<'a>(model: &Model, paint: Paint<'_>, rows: &[Row], room: usize, height: usize) -> Vec<Line<'a>> {
    let most = (height / 3).min(8);
    if !host_binding::shows_qualification(model) || most < 2 {
        return Vec::new();
    }
    let view = &model.screen.host.rows;
    let is_focused = model.screen.focus == Focus::Panel;
    let chosen = rows.iter().find(|row| is_focused && Some(&row.key) == view.selected.as_ref());
    let Some((row, cell)) = chosen.map(|row| (row, view.cell)).or_else(|| host_binding::gravest(rows)) else {
        return Vec::new();
    };
    let Some(sentence) = host_binding::sentence(model, &row.key, cell) else { return Vec::new() };
    let style = row.cells.get(cell).map(|cell| paint.gravity(cell.gravity)).unwrap_or_default();
    let mut pieces = wrap(&sentence, room.saturating_sub(2));
    let is_cut = pieces.len() > most - 1;
    pieces.truncate(most - 1);
    if is_cut && let Some(last) = pieces.last_mut() {
        *last = fit(&format!("{last} {}", paint.glyphs.ellipsis.repeat(2)), room.saturating_sub(2), paint.glyphs);
    }
    let rule = Line::styled(format!(" {}", paint.glyphs.horizontal.repeat(room.saturating_sub(2))), paint.theme.border);
    std::iter::once(rule).chain(pieces.into_iter().map(|piece| Line::styled(format!(" {piece}"), style))).collect()
}

/// The target that the panel tells of; `None` where it tells of several.
fn subject<'a>(model: &'a Model, selected: &'a TargetId) -> Option<&'a TargetId> {
    match (model.screen.panel, model.screen.host.mode) {
        (Panel::Host, HostMode::One) => host_binding::selected_host(model),
        (Panel::Host | Panel::Path | Panel::Wizard | Panel::Tune, _) => None,
        (Panel::Vm, _) => host_binding::selected_host(model),
        _ => Some(selected),
    }
}

/// What stands above the rows.
fn heading<'a>(model: &Model, paint: Paint<'_>, selected: &TargetId, room: usize) -> Vec<Line<'a>> {
    let title = |text: String, rest: &str| {
        let room = room.saturating_sub(width(&text) + 1);
        Line::from(vec![
            Span::styled(format!(" {text}"), paint.theme.title),
            Span::styled(fit(&format!("  {rest}"), room, paint.glyphs), paint.theme.dim),
        ])
    };
    match model.screen.panel {
        Panel::Path | Panel::Tune => match path::ends(model) {
            Some((one, other)) => {
                let link = paint.glyphs.link;
                vec![title(format!("{one} {link} {other}"), &path::hosts(model, &one, &other))]
            }
            None => target_lines(model, paint, selected, room),
        },
        Panel::Wizard => wizard::heading(model).into_iter().map(|(text, rest)| title(text, &rest)).collect(),
        Panel::Host => match model.screen.host.mode {
            HostMode::Compare if model.screen.host.all => vec![title("Hosts side by side".to_owned(), "all values")],
            HostMode::Compare => vec![title("Hosts side by side".to_owned(), "only what differs")],
            HostMode::Versions => vec![title("Versions".to_owned(), "of all targets, odd ones first")],
            HostMode::Qualify => {
                let rows = &model.diagnosed().qualification.rows;
                let fit = rows.iter().filter(|row| row.status() == Status::Pass).count();
                let said = match rows.len() {
                    0 => "requirement by requirement".to_owned(),
                    all => format!("{fit} of {all} hosts qualify"),
                };
                vec![title("Qualification for PVRDMA".to_owned(), &said)]
            }
            HostMode::One => match host_binding::selected_host(model) {
                Some(host) => target_lines(model, paint, host, room),
                None => target_lines(model, paint, selected, room),
            },
        },
        Panel::Vm => {
            let vms = vm_devices::shown_vms(model);
            let Some(first) = vms.first() else { return target_lines(model, paint, selected, room) };
            let mut lines = target_lines(model, paint, &first.target, room);
            let text = match &vms[..] {
                [vm] => format!("VM {}", vm_devices::name(model, vm)),
                several => format!("{} VMs", several.len()),
            };
            let rest = match model.joined().guest_of(first).filter(|_| vms.len() == 1) {
                Some(guest) => format!("guest {guest}"),
                None => String::new(),
            };
            lines.insert(0, title(text, &rest));
            lines
        }
        _ => target_lines(model, paint, selected, room),
    }
}

/// Why there are no rows.
fn nothing(model: &Model, selected: &TargetId) -> String {
    if !model.screen.filter.is_empty() {
        return "nothing passes the filter".to_owned();
    }
    let is_host = host_binding::is_host(model, selected);
    let is_switch = guest_link::is_switch(model, selected);
    match model.screen.panel {
        Panel::Host | Panel::Vm if is_switch => "this is a switch: its ports stand in Guest (4)".to_owned(),
        Panel::Gpu => gpu::why_none(model, selected),
        Panel::Tune => tune::why_none(model),
        Panel::GuestLink if is_host => {
            "this is an ESXi host: what it binds stands in Host (2), its VMs in VM (3)".to_owned()
        }
        Panel::Host if host_binding::selected_host(model).is_some() => "nothing of this host was read yet".to_owned(),
        Panel::Host if host_binding::hosts(model).is_empty() => "no ESXi host was read yet".to_owned(),
        Panel::Host => format!("{selected}: its host is not known: {}", why_no_vm(model, selected)),
        Panel::Vm if is_host => vm_devices::why_none(model, selected),
        Panel::Vm if host_binding::hosts(model).is_empty() => {
            "no ESXi host was read: which VM this is, is not observable from the guest".to_owned()
        }
        Panel::Vm => format!("its VM is not known: {}", why_no_vm(model, selected)),
        Panel::Path if is_host => "no guest on this host is a target: a way has two guests as its ends".to_owned(),
        Panel::Path if model.targets.values().filter(|target| target.kind == TargetKind::Linux).count() > 1 => {
            "a way has two guests as its ends: select one of them in the tree".to_owned()
        }
        Panel::Path => "a way has two guests as its ends: there is no other one in the inventory".to_owned(),
        _ => "nothing was read yet".to_owned(),
    }
}

/// Why it is not known in which VM a guest runs.
fn why_no_vm(model: &Model, guest: &TargetId) -> String {
    let gap = model.joined().gaps.iter().find(|gap| gap.about.target == *guest && gap.missing == "VM");
    gap.map_or_else(|| "it is no VM of a host that was read".to_owned(), |gap| gap.why.clone())
}

/// Without columns each cell says of which thing it is.
fn named(row: &Row, names: &[String]) -> Row {
    let mut row = row.clone();
    if !names.is_empty() && row.cells.len() == names.len() {
        for (cell, name) in row.cells.iter_mut().zip(names) {
            cell.text = format!("{name} {}", cell.text);
        }
    }
    row
}

/// Sections whose cells stand below each other, each with its own columns.
struct Tables(Vec<Table>);

/// One of them.
struct Table {
    section: String,
    /// The names of its columns in full.
    names: Vec<String>,
    /// The same as they are drawn.
    shown: Vec<String>,
    /// None where they do not fit: then each cell says of which thing it is.
    columns: Option<Columns>,
}

impl Tables {
    fn of(model: &Model, rows: &[Row], room: usize) -> Self {
        let below = |title: &str| -> Vec<&Row> {
            let from = rows.iter().skip_while(|row| !row.is_section() || row.label != title).skip(1);
            from.take_while(|row| !row.is_section()).collect()
        };
        let of = |heading: table::Heading| {
            let (columns, shown) = Columns::fitting(&heading.names, &below(&heading.section), room);
            let names = heading.names.into_iter().map(|[name, _]| name).collect();
            Table { section: heading.section, names, shown, columns }
        };
        Self(table::headings(model).into_iter().map(of).collect())
    }

    fn under(&self, section: &str) -> Option<&Table> {
        self.0.iter().find(|table| table.section == section)
    }
}

/// Cells below each other, one column for each of some things.
struct Columns {
    label: usize,
    widths: Vec<usize>,
    gap: usize,
}

impl Columns {
    /// Blanks between two columns.
    const GAP: usize = 2;
    /// The narrowest column that can be read.
    const NARROWEST: usize = 12;
    /// The narrowest room for the names of rows.
    const NARROWEST_LABEL: usize = 5;

    fn new(names: &[String], room: usize, label: usize) -> Option<Self> {
        let each = room.saturating_sub(label + 3).checked_div(names.len())?.saturating_sub(Self::GAP);
        let widths = vec![each.min(48); names.len()];
        (each >= Self::NARROWEST && names.len() > 1).then_some(Self { label, widths, gap: Self::GAP })
    }

    /// Columns just as wide as what stands in them, under their names in full, else in short.
    fn fitting(names: &[[String; 2]], rows: &[&Row], room: usize) -> (Option<Self>, Vec<String>) {
        let widest = |place: usize| {
            rows.iter().filter_map(|row| row.cells.get(place)).map(|cell| width(&cell.text)).max().unwrap_or(0)
        };
        let longest = rows.iter().map(|row| width(&row.label)).max().unwrap_or(0).max(Self::NARROWEST_LABEL);
        for (form, gap) in [(0, Self::GAP), (1, Self::GAP), (1, 1)] {
            let shown: Vec<String> = names.iter().map(|forms| forms[form].clone()).collect();
            let widths: Vec<usize> =
                shown.iter().enumerate().map(|(place, name)| width(name).max(widest(place))).collect();
            let all = widths.iter().map(|width| width + gap).sum::<usize>();
            let left = (room + gap).saturating_sub(all + 3);
            // Long names of rows go on in further lines before the names of columns are cut.
            let least = if form == 0 { longest } else { Self::NARROWEST_LABEL };
            if left >= least.max(Self::NARROWEST_LABEL) && !names.is_empty() {
                return (Some(Self { label: longest.min(left), widths, gap }), shown);
            }
        }
        (None, Vec::new())
    }

    fn heading<'a>(&self, names: &[String], paint: Paint<'_>) -> Line<'a> {
        let mut spans = vec![Span::raw(" ".repeat(self.label + 3))];
        for (name, each) in names.iter().zip(&self.widths) {
            let text = fit(name, *each, paint.glyphs);
            let gap = " ".repeat(each.saturating_sub(width(&text)) + self.gap);
            spans.push(Span::styled(text + &gap, paint.theme.title));
        }
        Line::from(spans)
    }

    /// As many lines as the longest cell takes: nothing is hidden.
    fn row<'a>(&self, row: &Row, paint: Paint<'_>, selected: Option<usize>) -> Vec<Line<'a>> {
        let cells = || row.cells.iter().zip(&self.widths);
        let pieces: Vec<Vec<String>> = cells().map(|(cell, each)| wrap(&cell.text, *each)).collect();
        let labels = wrap(&row.label, self.label);
        let count = pieces.iter().map(Vec::len).chain([labels.len()]).max().unwrap_or(1);
        let label_style = if selected.is_some() { paint.theme.selection } else { paint.theme.dim };
        (0..count)
            .map(|line| {
                let label = labels.get(line).cloned().unwrap_or_default();
                let gap = " ".repeat(self.label.saturating_sub(width(&label)) + 1);
                let mut spans = vec![Span::raw("  "), Span::styled(label, label_style), Span::raw(gap)];
                for (index, ((cell, each), pieces)) in cells().zip(&pieces).enumerate() {
                    let text = pieces.get(line).cloned().unwrap_or_default();
                    let rest = " ".repeat(each.saturating_sub(width(&text)) + self.gap);
                    let style = paint.gravity(cell.gravity);
                    let style = if selected == Some(index) { style.patch(paint.theme.selection) } else { style };
                    spans.extend([Span::styled(text, style), Span::raw(rest)]);
                }
                Line::from(spans)
            })
            .collect()
    }
}

/// Width of the labels: that of the longest one, but no more than so many cells.
fn label_room(rows: &[Row], most: usize) -> usize {
    let longest = rows.iter().filter(|row| !row.is_section()).map(|row| width(&row.label)).max().unwrap_or(0);
    longest.min(most).max(8)
}

/// One row as lines: values that do not fit go on below, so that nothing is hidden.
fn row_lines<'a>(
    row: &Row,
    paint: Paint<'_>,
    room: usize,
    label_room: usize,
    selected_cell: Option<usize>,
    stale: bool,
) -> Vec<Line<'a>> {
    if row.is_section() {
        // A long heading goes on below, as values do.
        let titles = wrap(&row.label, room.saturating_sub(2));
        let rule = |title: &str| paint.glyphs.horizontal.repeat(room.saturating_sub(width(title) + 3).min(12));
        let last = titles.len() - 1;
        let lines = titles.into_iter().enumerate().map(|(place, title)| {
            let rule = if place == last { rule(&title) } else { String::new() };
            Line::from(vec![
                Span::styled(format!(" {title} "), paint.theme.title),
                Span::styled(rule, paint.theme.border),
            ])
        });
        return lines.collect();
    }
    let indent = label_room + 3;
    // The first broken hop of a way is marked in the margin.
    let (margin, label) = match row.label.strip_prefix(FIRST_BROKEN) {
        Some(label) => (format!("{} ", paint.glyphs.broken), label),
        None => ("  ".to_owned(), row.label.as_str()),
    };
    let label = fit(label, label_room, paint.glyphs);
    let gap = " ".repeat(label_room.saturating_sub(width(&label)) + 1);
    let label_style = if selected_cell.is_some() { paint.theme.selection } else { paint.theme.dim };
    let mut spans = vec![Span::styled(margin, paint.theme.error), Span::styled(label, label_style), Span::raw(gap)];
    let mut lines = Vec::new();
    let mut used = indent;
    for (index, cell) in row.cells.iter().enumerate() {
        let style: Style = if stale { paint.theme.stale } else { paint.gravity(cell.gravity) };
        let style = if selected_cell == Some(index) { style.patch(paint.theme.selection) } else { style };
        let pieces = if width(&cell.text) <= room.saturating_sub(indent) {
            vec![cell.text.clone()]
        } else {
            wrap(&cell.text, room.saturating_sub(indent))
        };
        for piece in pieces {
            if used > indent && used + 2 + width(&piece) > room {
                lines.push(Line::from(std::mem::take(&mut spans)));
                spans.push(Span::raw(" ".repeat(indent)));
                used = indent;
            }
            if used > indent {
                spans.push(Span::raw("  "));
                used += 2;
            }
            used += width(&piece);
            spans.push(Span::styled(piece, style));
        }
    }
    lines.push(Line::from(spans));
    lines
}
