//! The table of unknown host keys. How many rows fit, and which, follows from the size of the screen alone, so that the
//! loop knows which rows could be read without asking what was drawn.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::super::super::paint::{Paint, offset, width, wrap};
use super::{room, show};
use crate::app::action::Context;
use crate::app::model::Model;
use crate::app::questions::{KeyRow, host_keys, selected};

/// The narrowest lines on which a fingerprint can be compared.
const NARROWEST: usize = 28;

/// The widest lines.
const WIDEST: u16 = 150;

/// The widest lines of rows that take more than one.
const COMFORTABLE: usize = 76;

/// Of so many rows each is shown before room is spent on words.
const ROWS_FIRST: usize = 3;

const INTRODUCTION: &str = "These hosts are not known yet. Nothing is sent to them before you trust their keys.";

/// Between two columns.
const GAP: &str = "  ";

/// How the table lies in its room.
struct Table<'m> {
    rows: Vec<KeyRow<'m>>,
    selected: usize,
    /// Cells of a line.
    columns: usize,
    /// Widths of target, host and algorithm, where a row is one line.
    one_line: Option<[usize; 3]>,
    /// Lines of one row.
    row_lines: usize,
    /// Whether the keys would be written to different files.
    files_differ: bool,
    first: usize,
    shown: usize,
    /// What stands around the rows.
    introduction: Vec<String>,
    recorded: Vec<String>,
    advice: Vec<String>,
    /// Whether an empty line stands between the parts.
    spaced: bool,
}

impl<'m> Table<'m> {
    /// `None` where a row does not fit.
    fn new(model: &'m Model, area: Rect) -> Option<Self> {
        let rows = host_keys(model);
        let selected = selected(model, &rows);
        let (most, height) = room(area, WIDEST);
        let file = rows.first()?.key.recorded_in.as_str();
        let files_differ = rows.iter().any(|row| row.key.recorded_in != file);
        let longest = |text: fn(&KeyRow<'m>) -> &'m str| rows.iter().map(|row| width(text(row))).max().unwrap_or(0);
        let widths = [
            longest(|row| row.target.as_str()),
            longest(|row| row.key.host.as_str()),
            longest(|row| row.key.algorithm.as_str()),
        ];
        let fingerprint = longest(|row| row.key.fingerprint.as_str());
        let files = if files_differ { longest(|row| row.key.recorded_in.as_str()) + GAP.len() } else { 0 };
        let needed = 2 + widths.iter().sum::<usize>() + 3 * GAP.len() + fingerprint + files;
        let one_line = (needed <= most).then_some(widths);
        let columns = if one_line.is_some() { needed.max(COMFORTABLE).min(most) } else { most.min(COMFORTABLE) };
        if columns < NARROWEST {
            return None;
        }
        let mut table = Self {
            selected,
            columns,
            one_line,
            row_lines: 1,
            files_differ,
            first: 0,
            shown: 0,
            introduction: Vec::new(),
            recorded: Vec::new(),
            advice: Vec::new(),
            spaced: false,
            rows,
        };
        if one_line.is_none() {
            table.row_lines = table.rows.iter().map(|row| table.lines(row).len()).max().unwrap_or(1);
        }
        table.fill(height)?;
        Some(table)
    }

    /// Decides what has room.
    fn fill(&mut self, height: usize) -> Option<()> {
        let count = self.rows.len();
        // Where not all are shown, a line says so.
        let least = self.row_lines + usize::from(count > 1);
        let mut left = height.checked_sub(least)?;
        let mut take = |lines: Vec<String>, reserve: usize| {
            if left >= lines.len() + reserve {
                left -= lines.len();
                lines
            } else {
                Vec::new()
            }
        };
        let advice = wrap(&advice(&self.rows[self.selected]), self.columns);
        self.advice = take(advice, 0);
        if !self.files_differ {
            let text = format!("What is trusted is written to {}.", self.rows[0].key.recorded_in);
            self.recorded = take(wrap(&text, self.columns), 0);
        }
        let reserve = (count.min(ROWS_FIRST) - 1) * self.row_lines;
        self.introduction = take(wrap(INTRODUCTION, self.columns), reserve);
        self.spaced = take(vec![String::new(); 2], reserve).len() == 2;
        let left = left + self.row_lines;
        let all = count * self.row_lines <= left + usize::from(count > 1);
        self.shown = if all { count } else { (left / self.row_lines).min(count) };
        self.first = offset(self.selected, count, self.shown);
        Some(())
    }

    fn visible(&self) -> &[KeyRow<'m>] {
        &self.rows[self.first..self.first + self.shown]
    }

    /// A row as lines: nothing of it is cut.
    fn lines(&self, row: &KeyRow<'_>) -> Vec<String> {
        let Some(widths) = self.one_line else {
            let room = self.columns - 2;
            let head = format!("{}{GAP}{}", row.target, row.key.host);
            let mut lines = if width(&head) <= room { vec![head] } else { wrap(&head, room) };
            lines.extend(wrap(&format!("{} {}", row.key.algorithm, row.key.fingerprint), room));
            if self.files_differ {
                lines.extend(wrap(&format!("would be written to {}", row.key.recorded_in), room));
            }
            return lines;
        };
        let mut line = String::new();
        for (text, room) in [row.target.as_str(), &row.key.host, &row.key.algorithm].into_iter().zip(widths) {
            line.push_str(text);
            line.push_str(&" ".repeat(room.saturating_sub(width(text)) + GAP.len()));
        }
        line.push_str(&row.key.fingerprint);
        if self.files_differ {
            line.push_str(GAP);
            line.push_str(&row.key.recorded_in);
        }
        vec![line]
    }
}

/// Rows that stand whole in `area` and were not seen yet.
pub(super) fn unseen(model: &Model, area: Rect) -> Option<Vec<u64>> {
    let view = &model.screen.questions;
    let visible =
        Table::new(model, area).map_or(Vec::new(), |table| table.visible().iter().map(|row| row.id).collect());
    let unseen: Vec<u64> = visible.into_iter().filter(|id| !view.seen.contains(id)).collect();
    (!unseen.is_empty() || !view.noticed).then_some(unseen)
}

/// Draws the table.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let Some(table) = Table::new(model, area) else {
        too_small(frame, model, paint, area);
        return;
    };
    let theme = paint.theme;
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut say = |texts: &[String], style: Style| {
        lines.extend(texts.iter().map(|text| Line::styled(text.clone(), style)));
    };
    let blank = [String::new()];
    say(&table.introduction, theme.text);
    if table.spaced {
        say(&blank, theme.text);
    }
    for row in table.visible() {
        let chosen = row.id == table.rows[table.selected].id;
        for (number, text) in table.lines(row).into_iter().enumerate() {
            let mark = if chosen && number == 0 { "> " } else { "  " };
            let style = if chosen { theme.title.patch(theme.selection) } else { theme.title };
            let style = if number == 0 { style } else { theme.title };
            say(&[format!("{mark}{text}")], style);
        }
    }
    if table.shown < table.rows.len() {
        say(&[hidden(model, paint, &table)], theme.warning);
    }
    if table.spaced {
        say(&blank, theme.text);
    }
    say(&table.recorded, theme.text);
    say(&table.advice, theme.text);
    let title = match table.rows.len() {
        1 => "Unknown host key".to_owned(),
        count => format!("{count} unknown host keys"),
    };
    show(frame, paint, area, table.columns, &title, lines);
}

/// That there are more rows, and what the key for all of them does with those.
fn hidden(model: &Model, paint: Paint<'_>, table: &Table<'_>) -> String {
    let key = paint.keymap.hint(Context::Prompt, "accept-keys").unwrap_or_default();
    let seen = table.rows.iter().filter(|row| model.screen.questions.seen.contains(&row.id)).count();
    let count = table.rows.len();
    let (from, to) = (table.first + 1, table.first + table.shown);
    let range = format!("{from}-{to} of {count}");
    let texts = [
        format!("{range}: scroll to see all; {key} trusts the {seen} shown so far"),
        format!("{range}: scroll; {key} trusts {seen}"),
        range,
    ];
    let [.., shortest] = &texts;
    texts.iter().find(|text| width(text) <= table.columns).unwrap_or(shortest).clone()
}

fn too_small(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let count = host_keys(model).len();
    let what = if count == 1 { "1 unknown host key".to_owned() } else { format!("{count} unknown host keys") };
    let refuse = paint.keymap.hint(Context::Prompt, "refuse-keys").unwrap_or_default();
    let text = format!("{what}: enlarge to 40x10; {refuse} refuses");
    let lines = wrap(&text, usize::from(area.width)).into_iter().map(|line| Line::styled(line, paint.theme.warning));
    show(frame, paint, area, usize::from(area.width), "Unknown host keys", lines.collect());
}

/// How a fingerprint is compared.
fn advice(row: &KeyRow<'_>) -> String {
    let algorithm = row.key.algorithm.as_str();
    let kind = ["ed25519", "ecdsa", "rsa"].into_iter().find(|kind| algorithm.contains(kind)).unwrap_or("*");
    format!(
        "Compare each fingerprint with what the machine says on its own console: \
         ssh-keygen -lf /etc/ssh/ssh_host_{kind}_key.pub. If it differs, someone may stand between you and it."
    )
}
