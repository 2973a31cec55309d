//! x
use super::super::view::Look;
use crate::app::model::Model;
use ratatui::Frame;
use ratatui::layout::Rect;
/// x
pub fn draw(_frame: &mut Frame<'_>, _model: &Model, _look: Look<'_>, _area: Rect) {}
