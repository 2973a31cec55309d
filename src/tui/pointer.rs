//! The mouse: where things stand on the screen, told by the view while it draws, and what a click or a turn of the wheel
//! there means. Keys can do all of it too.

use std::cell::RefCell;

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::app::Message;
use crate::app::pointer::Pointed;
use crate::fabric::Text;

/// Rows that one notch of the wheel moves.
const NOTCH: i8 = 3;

/// What stands in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// Nothing that can be clicked; it covers what is below it.
    Nothing,
    /// A word that does an action.
    Action(&'static str),
    /// A thing that can be selected.
    Thing(Pointed),
}

/// What stands where on one frame. Later places lie over earlier ones.
#[derive(Clone, Debug, Default)]
pub struct HitMap {
    places: RefCell<Vec<(Rect, Hit)>>,
    tree: RefCell<Rect>,
}

impl HitMap {
    /// Forgets all places: a new frame begins.
    pub fn clear(&self) {
        self.places.borrow_mut().clear();
        *self.tree.borrow_mut() = Rect::ZERO;
    }

    /// Tells that something stands in a place.
    pub fn add(&self, place: Rect, hit: Hit) {
        if !place.is_empty() {
            self.places.borrow_mut().push((place, hit));
        }
    }

    /// Tells where the fabric tree stands.
    pub fn set_tree(&self, place: Rect) {
        *self.tree.borrow_mut() = place;
    }

    /// What stands on top in a cell.
    pub fn at(&self, column: u16, row: u16) -> Hit {
        let cell = Position::new(column, row);
        let places = self.places.borrow();
        places.iter().rev().find(|(place, _)| place.contains(cell)).map_or(Hit::Nothing, |(_, hit)| *hit)
    }

    fn is_tree(&self, column: u16, row: u16) -> bool {
        self.tree.borrow().contains(Position::new(column, row))
    }
}

/// What an event of the mouse means; `None` if nothing.
pub fn message(hits: &HitMap, event: MouseEvent) -> Option<Message> {
    let wheel = |rows| {
        let tree = hits.is_tree(event.column, event.row);
        Some(Message::Pointed(Pointed::Wheel { tree, rows }))
    };
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => match hits.at(event.column, event.row) {
            Hit::Nothing => None,
            Hit::Action(name) => Some(Message::Action(Text::new(name))),
            Hit::Thing(pointed) => Some(Message::Pointed(pointed)),
        },
        MouseEventKind::ScrollUp => wheel(-NOTCH),
        MouseEventKind::ScrollDown => wheel(NOTCH),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    fn event(kind: MouseEventKind, column: u16, row: u16) -> MouseEvent {
        MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }
    }

    #[test]
    fn what_lies_on_top_is_what_a_click_means() {
        let hits = HitMap::default();
        hits.set_tree(Rect::new(0, 1, 10, 5));
        hits.add(Rect::new(0, 2, 10, 1), Hit::Thing(Pointed::Tree(1)));
        hits.add(Rect::new(5, 0, 3, 1), Hit::Action("panel-live"));
        hits.add(Rect::ZERO, Hit::Action("quit"));
        let click = |column, row| message(&hits, event(MouseEventKind::Down(MouseButton::Left), column, row));
        assert_eq!(click(3, 2), Some(Message::Pointed(Pointed::Tree(1))));
        assert_eq!(click(5, 0), Some(Message::Action(Text::new("panel-live"))));
        assert_eq!((click(0, 0), click(70, 20)), (None, None));
        hits.add(Rect::new(0, 0, 80, 24), Hit::Nothing);
        assert_eq!(click(3, 2), None, "covered");
        hits.clear();
        assert_eq!(click(5, 0), None);
    }

    #[test]
    fn the_wheel_turns_what_it_is_over_and_other_buttons_do_nothing() {
        let hits = HitMap::default();
        hits.set_tree(Rect::new(0, 1, 10, 5));
        let turned = |kind, column| message(&hits, event(kind, column, 2));
        let wheel = |tree, rows| Some(Message::Pointed(Pointed::Wheel { tree, rows }));
        assert_eq!(turned(MouseEventKind::ScrollDown, 3), wheel(true, NOTCH));
        assert_eq!(turned(MouseEventKind::ScrollUp, 30), wheel(false, -NOTCH));
        for kind in
            [MouseEventKind::Moved, MouseEventKind::Up(MouseButton::Left), MouseEventKind::Down(MouseButton::Right)]
        {
            assert_eq!(turned(kind, 3), None);
        }
    }
}
