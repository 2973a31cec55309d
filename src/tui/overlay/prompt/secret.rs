//! The line for a secret: who asks, by our own name for it; what the server says, as the server's words; and whether
//! anything was typed, never what or how much.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::super::super::paint::{Paint, fit, width, wrap};
use super::{room, show};
use crate::app::action::Context;
use crate::app::model::Model;
use crate::app::prompt::{Prompt, SecretKind, SecretRequest};
use crate::fabric::text::clean_line;

/// The widest lines.
const WIDEST: u16 = 76;

/// With fewer lines than this only what matters most is said, in a line each.
const COMFORTABLE: usize = 6;

/// The most lines of what a server says: it cannot push the rest from the screen.
const MOST_OF_SERVER: usize = 4;

/// Lines with how much they are needed where room is short: 0 first.
struct Part {
    need: u8,
    style: Style,
    lines: Vec<String>,
}

/// Draws the question.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    model: &Model,
    paint: Paint<'_>,
    area: Rect,
    prompt: &Prompt,
    request: &SecretRequest,
) {
    let (columns, height) = room(area, WIDEST);
    if height < COMFORTABLE {
        let lines = few(paint, columns, height, prompt, request);
        show(frame, paint, area, columns, prompt.target.as_str(), lines);
        return;
    }
    let parts = parts(paint, columns, prompt, request);
    let mut left = height;
    let mut taken: Vec<bool> = vec![false; parts.len()];
    for need in 0..=5 {
        for (part, taken) in parts.iter().zip(&mut taken).filter(|(part, _)| part.need == need) {
            if part.lines.len() <= left {
                left -= part.lines.len();
                *taken = true;
            }
        }
    }
    let lines: Vec<Line<'_>> = parts
        .iter()
        .zip(taken)
        .filter(|(_, taken)| *taken)
        .flat_map(|(part, _)| part.lines.iter().map(|line| Line::styled(line.clone(), part.style)))
        .collect();
    let title = match model.prompts.len() {
        1 => format!("{} asks", prompt.target),
        more => format!("{} asks (1 of {more} questions)", prompt.target),
    };
    show(frame, paint, area, columns, &title, lines);
}

/// What matters most, in at most `height` lines: what was typed, who asks, for what.
fn few<'a>(paint: Paint<'_>, columns: usize, height: usize, prompt: &Prompt, request: &SecretRequest) -> Vec<Line<'a>> {
    let what = match &request.what {
        SecretKind::Passphrase(key) => format!("passphrase of {key}"),
        SecretKind::Password => format!("password of {}", request.asked_by),
        SecretKind::Interactive => format!("server: {}", request.question),
    };
    let who = format!("{} asks", prompt.target);
    let (line, style) = feedback(paint, columns);
    let note = paint.typed.note.map(|note| (note.to_owned(), paint.theme.warning));
    let mut all = vec![(line, style), (who, paint.theme.title)];
    all.extend(note);
    all.push((what, paint.theme.text));
    all.truncate(height);
    if !all.is_empty() {
        all.rotate_left(1);
    }
    all.into_iter().map(|(text, style)| Line::styled(fit(&text, columns, paint.glyphs), style)).collect()
}

/// The line that says whether anything is typed.
fn feedback(paint: Paint<'_>, columns: usize) -> (String, Style) {
    let typed = paint.typed;
    let style = if typed.any { paint.theme.title } else { paint.theme.dim };
    let line = match typed.echo {
        Some(text) => format!("> {}{}", tail(text, columns.saturating_sub(3)), paint.glyphs.vertical),
        None if typed.any => "> something is typed; it is not shown".to_owned(),
        None => "> nothing is typed yet".to_owned(),
    };
    if width(&line) <= columns || typed.echo.is_some() {
        return (line, style);
    }
    (if typed.any { "> typed" } else { "> nothing yet" }.to_owned(), style)
}

fn parts(paint: Paint<'_>, columns: usize, prompt: &Prompt, request: &SecretRequest) -> Vec<Part> {
    let theme = paint.theme;
    let typed = paint.typed;
    let part = |need, style, text: &str| Part { need, style, lines: wrap(text, columns) };
    let cut = |mut part: Part| {
        if part.lines.len() > MOST_OF_SERVER {
            part.lines.truncate(MOST_OF_SERVER);
            part.lines[MOST_OF_SERVER - 1] = format!("{} (the server says more)", paint.glyphs.ellipsis);
        }
        part
    };
    let blank = || Part { need: 5, style: theme.text, lines: vec![String::new()] };
    let mut parts = Vec::new();
    // Where there is no frame its title is missing.
    let who = match &request.what {
        SecretKind::Passphrase(key) => {
            format!(
                "{}: the passphrase of the key {key}, for {}. It stays on this machine.",
                prompt.target, request.asked_by
            )
        }
        SecretKind::Password => format!("{}: the password of {}", prompt.target, request.asked_by),
        SecretKind::Interactive => format!("{}: {} asks a question to log in", prompt.target, request.asked_by),
    };
    parts.push(part(1, theme.title, &who));
    parts.push(blank());
    if !request.instruction.is_empty() {
        parts.push(cut(part(3, theme.dim, &format!("the server says: {}", request.instruction))));
    }
    let question = match &request.what {
        SecretKind::Interactive if request.question.is_empty() => {
            Some(part(2, theme.dim, "the server asks without a word"))
        }
        SecretKind::Interactive => Some(part(2, theme.dim, &format!("the server asks: {}", request.question))),
        SecretKind::Passphrase(_) | SecretKind::Password if request.question.is_empty() => None,
        SecretKind::Passphrase(_) | SecretKind::Password => Some(part(2, theme.text, &request.question)),
    };
    let is_more = question.is_some() || !request.instruction.is_empty();
    parts.extend(question.map(cut));
    parts.extend(is_more.then(blank));
    let (line, style) = feedback(paint, columns);
    parts.push(Part { need: 0, style, lines: vec![line] });
    if let Some(note) = typed.note {
        parts.push(part(2, theme.warning, note));
    }
    if request.may_reuse {
        let key = paint.keymap.hint(Context::Secret, "reuse-secret").unwrap_or_default();
        let mark = if typed.reuse { "[x]" } else { "[ ]" };
        parts.push(blank());
        parts.push(part(3, theme.text, &format!("{mark} also for the other targets that ask for the same ({key})")));
    }
    parts
}

/// The end of a text that is too long for its line.
fn tail(text: &str, room: usize) -> String {
    let text = clean_line(text);
    let mut cells = 0;
    let kept = text.chars().rev().take_while(|character| {
        cells += unicode_width::UnicodeWidthChar::width(*character).unwrap_or(0);
        cells <= room
    });
    let mut kept: Vec<char> = kept.collect();
    kept.reverse();
    kept.into_iter().collect()
}
