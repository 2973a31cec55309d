//! The question overlay.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, wrap};
use crate::app::action::Context;
use crate::app::model::Model;
use crate::app::prompt::{Prompt, PromptKind};

/// Draws the oldest open question.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, prompt: &Prompt) {
    let columns = area.width.saturating_sub(8).min(76);
    let room = usize::from(columns).max(1);
    let PromptKind::UnknownHostKey(key) = &prompt.kind else { return };
    let yes = paint.keymap.hint(Context::Prompt, "answer-yes").unwrap_or_default();
    let no = paint.keymap.hint(Context::Prompt, "answer-no").unwrap_or_default();
    let paragraphs = [
        (format!("The host key of {} ({}) is not known.", key.host, prompt.target), paint.theme.title),
        (format!("{} {}", key.algorithm, key.fingerprint), paint.theme.title),
        (
            "Compare the fingerprint with what the machine says on its own console: \
             ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub (or the file of the algorithm above). If it differs, \
             someone may stand between you and it."
                .to_owned(),
            paint.theme.text,
        ),
        (format!("{yes}  trust it, write it to {} and connect", key.recorded_in), paint.theme.text),
        (format!("{no}  refuse it; nothing is sent to this host"), paint.theme.text),
    ];
    let mut lines = Vec::new();
    for (text, style) in paragraphs {
        lines.extend(wrap(&text, room).into_iter().map(|line| Line::styled(line, style)));
        lines.push(Line::raw(""));
    }
    lines.pop();
    let title = match model.prompts.len() {
        1 => format!(" {} asks ", prompt.target),
        more => format!(" {} asks (1 of {more}) ", prompt.target),
    };
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let inner = super::open(frame, paint, area, columns, rows, title);
    frame.render_widget(Paragraph::new(lines), inner);
}
