//! The question in front: the table of unknown host keys, or the line for a secret.

mod host_keys;
mod secret;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph};

use super::super::paint::Paint;
use super::super::secret::SecretPrompt;
use crate::app::SecretKind;
use crate::app::action::{self, Context};
use crate::app::model::Model;
use crate::app::questions::{Front, front};

/// Below this size a frame costs more than it gives.
const FRAMED: (u16, u16) = (34, 9);

/// Draws the question in front, if one is open.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    match front(model) {
        Some(Front::HostKeys) => host_keys::draw(frame, model, paint, area),
        Some(Front::Secret(prompt, request)) => secret::draw(frame, model, paint, area, prompt, request),
        None => {}
    }
}

/// The secret that is typed now, if keys go there.
pub fn secret(model: &Model) -> Option<SecretPrompt> {
    if action::context(model) != Context::Secret {
        return None;
    }
    let Some(Front::Secret(prompt, request)) = front(model) else { return None };
    Some(SecretPrompt {
        id: prompt.id,
        echo: request.echo,
        may_reuse: request.may_reuse,
        may_be_empty: request.what == SecretKind::Interactive,
    })
}

/// Numbers of the host keys that stand whole in `area` (the body of the screen) and were not seen yet; `None` if there is
/// nothing to see.
pub fn unseen(model: &Model, area: Rect) -> Option<Vec<u64>> {
    (front(model) == Some(Front::HostKeys)).then(|| host_keys::unseen(model, area)).flatten()
}

/// The room for lines in `area`: `columns` at most.
fn room(area: Rect, columns: u16) -> (usize, usize) {
    let (width, height) = if is_framed(area) {
        (area.width.saturating_sub(4), area.height.saturating_sub(2))
    } else {
        (area.width, area.height)
    };
    (usize::from(width.min(columns)), usize::from(height))
}

fn is_framed(area: Rect) -> bool {
    area.width >= FRAMED.0 && area.height >= FRAMED.1
}

/// Draws lines in the middle of `area`, in a frame where there is room for one.
fn show(frame: &mut Frame<'_>, paint: Paint<'_>, area: Rect, columns: usize, title: &str, lines: Vec<Line<'_>>) {
    let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let inner = if is_framed(area) {
        super::open(frame, paint, area, cells(columns), cells(lines.len()), format!(" {title} "))
    } else {
        frame.render_widget(Clear, area);
        area
    };
    frame.render_widget(Paragraph::new(lines).style(paint.theme.text), inner);
}
