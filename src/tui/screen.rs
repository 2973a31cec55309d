//! The screen: what is drawn becomes the bytes of one frame, and those go to the terminal as fast as it takes them and no
//! faster. Nothing in here ever asks the terminal a question (an answer would race with the keys), and nothing waits: a
//! terminal that does not take its bytes costs frames, never an answer to a signal.

use std::io::{self, ErrorKind, Write};

use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::Color;
use ratatui::{Frame, Terminal};

/// Collects a frame as bytes. Its size is told to it, and the cursor is moved only when that changes something.
#[derive(Debug)]
pub struct FrameBackend {
    bytes: Vec<u8>,
    size: Size,
    colours: bool,
    cursor: Cursor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    Unknown,
    Hidden,
    At(Option<Position>),
}

impl FrameBackend {
    /// `colours`: false draws modifiers only.
    pub fn new(size: Size, colours: bool) -> Self {
        Self { bytes: Vec::new(), size, colours, cursor: Cursor::Unknown }
    }

    fn inner(&mut self) -> CrosstermBackend<&mut Vec<u8>> {
        CrosstermBackend::new(&mut self.bytes)
    }
}

impl Backend for FrameBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        if let Cursor::At(position) = &mut self.cursor {
            *position = None; // drawing moves it
        }
        if self.colours {
            return self.inner().draw(content);
        }
        // With NO_COLOR the terminal library writes an empty colour sequence, which resets all modifiers: the selection
        // would vanish. So colours are taken out before they get there.
        let plain: Vec<(u16, u16, Cell)> = content
            .map(|(x, y, cell)| {
                let mut cell = cell.clone();
                cell.fg = Color::Reset;
                cell.bg = Color::Reset;
                (x, y, cell)
            })
            .collect();
        self.inner().draw(plain.iter().map(|(x, y, cell)| (*x, *y, cell)))
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if self.cursor != Cursor::Hidden {
            self.cursor = Cursor::Hidden;
            self.inner().hide_cursor()?;
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if !matches!(self.cursor, Cursor::At(_)) {
            self.cursor = Cursor::At(None);
            self.inner().show_cursor()?;
        }
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN) // the terminal is never asked
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let position = position.into();
        if self.cursor == Cursor::At(Some(position)) {
            return Ok(());
        }
        if let Cursor::At(known) = &mut self.cursor {
            *known = Some(position);
        }
        self.inner().set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner().clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner().clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The screen of a given size.
pub struct Screen {
    terminal: Terminal<FrameBackend>,
    /// The part of the last frame that the terminal has not taken yet.
    pending: Vec<u8>,
    taken: usize,
}

impl Screen {
    /// An empty screen. `colours`: false draws modifiers only.
    pub fn new(size: Size, colours: bool) -> io::Result<Self> {
        let mut screen =
            Self { terminal: Terminal::new(FrameBackend::new(size, colours))?, pending: Vec::new(), taken: 0 };
        screen.start_over()?;
        Ok(screen)
    }

    /// The size in cells.
    pub fn size(&self) -> Size {
        self.terminal.backend().size
    }

    /// The terminal has another size now: the next frame is drawn whole.
    pub fn resize(&mut self, size: Size) -> io::Result<()> {
        self.terminal.backend_mut().size = size;
        self.start_over()
    }

    /// Nothing is known of what the terminal shows: what is on its way is dropped, and the next frame is drawn whole.
    pub fn start_over(&mut self) -> io::Result<()> {
        if !self.is_idle() {
            // The dropped frame may end in the middle of a sequence or of a synchronized update; the next one ends both.
            self.pending.clear();
            self.taken = 0;
        }
        let size = self.size();
        let backend = self.terminal.backend_mut();
        backend.bytes.clear();
        backend.cursor = Cursor::Unknown;
        self.terminal.resize(Rect::new(0, 0, size.width, size.height))
    }

    /// Draws a frame. Its bytes replace nothing: call it only when [`Screen::is_idle`]. A frame that changes nothing has no bytes.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.terminal.draw(view)?;
        let frame = std::mem::take(&mut self.terminal.backend_mut().bytes);
        if frame.is_empty() {
            return Ok(());
        }
        self.pending.clear();
        self.taken = 0;
        queue!(self.pending, BeginSynchronizedUpdate)?;
        self.pending.extend_from_slice(&frame);
        queue!(self.pending, EndSynchronizedUpdate)?;
        Ok(())
    }

    /// Sends bytes that draw nothing, after what is on its way.
    pub fn append(&mut self, bytes: &[u8]) {
        if self.is_idle() {
            self.pending.clear();
            self.taken = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// True if the terminal has taken all that was drawn.
    pub fn is_idle(&self) -> bool {
        self.taken == self.pending.len()
    }

    /// Hands over as much as the terminal takes without waiting (its writer gives [`ErrorKind::WouldBlock`] when full).
    pub fn write_to(&mut self, terminal: &mut impl Write) -> io::Result<()> {
        while !self.is_idle() {
            match terminal.write(&self.pending[self.taken..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use ratatui::style::{Modifier, Style};
    use ratatui::text::Span;

    use super::*;

    fn written(screen: &mut Screen) -> Vec<u8> {
        let mut bytes = Vec::new();
        screen.write_to(&mut bytes).expect("a vector takes all");
        bytes
    }

    fn draw(screen: &mut Screen, text: &str) -> Vec<u8> {
        screen.draw(|frame| frame.render_widget(text, frame.area())).expect("drawn");
        written(screen)
    }

    fn shown(bytes: &[u8]) -> vt100::Parser {
        let size = |cells| NonZeroU16::new(cells).expect("not zero");
        let mut parser = vt100::Parser::new(size(5), size(20), 0);
        parser.process(bytes);
        parser
    }

    #[test]
    fn a_frame_is_one_synchronized_update_and_asks_nothing() {
        let mut screen = Screen::new(Size::new(20, 5), true).expect("made");
        let bytes = draw(&mut screen, "hello");
        assert!(bytes.starts_with(b"\x1b[?2026h") && bytes.ends_with(b"\x1b[?2026l"), "{}", bytes.escape_ascii());
        assert!(!bytes.windows(4).any(|part| part == b"\x1b[6n"));
        let parser = shown(&bytes);
        assert_eq!(parser.screen().contents().trim_end(), "hello");
        assert!(parser.screen().hide_cursor());
    }

    #[test]
    fn a_frame_that_changes_nothing_has_no_bytes() {
        let mut screen = Screen::new(Size::new(20, 5), true).expect("made");
        draw(&mut screen, "hello");
        assert_eq!(draw(&mut screen, "hello"), b"");
        let change = draw(&mut screen, "hallo");
        assert!(!change.is_empty() && change.len() < 60, "{}", change.escape_ascii());
    }

    #[test]
    fn a_shown_cursor_costs_nothing_while_it_stays() {
        let mut screen = Screen::new(Size::new(20, 5), true).expect("made");
        let mut at = |x| {
            screen.draw(|frame| frame.set_cursor_position((x, 2))).expect("drawn");
            written(&mut screen)
        };
        let parser = shown(&at(3));
        assert_eq!((parser.screen().cursor_position(), parser.screen().hide_cursor()), ((2, 3), false));
        assert_eq!(at(3), b"");
        assert!(!at(4).is_empty());
    }

    #[test]
    fn after_a_resize_or_a_start_over_the_frame_is_whole() {
        let mut screen = Screen::new(Size::new(20, 5), true).expect("made");
        draw(&mut screen, "hello");
        screen.start_over().expect("cleared");
        assert_eq!(shown(&draw(&mut screen, "hello")).screen().contents().trim_end(), "hello");
        screen.resize(Size::new(3, 1)).expect("resized");
        assert_eq!(shown(&draw(&mut screen, "hello")).screen().contents().trim_end(), "hel");
        screen.resize(Size::ZERO).expect("resized");
        draw(&mut screen, "hello");
    }

    #[test]
    fn without_colours_the_modifiers_stay() {
        let mut screen = Screen::new(Size::new(20, 5), false).expect("made");
        let style = Style::new().fg(Color::Red).bg(Color::Blue).add_modifier(Modifier::REVERSED | Modifier::BOLD);
        screen.draw(|frame| frame.render_widget(Span::styled("x", style), frame.area())).expect("drawn");
        let parser = shown(&written(&mut screen));
        let cell = parser.screen().cell(0, 0).expect("a cell");
        assert!(cell.inverse() && cell.bold());
        assert_eq!((cell.fgcolor(), cell.bgcolor()), (vt100::Color::Default, vt100::Color::Default));
    }

    /// Takes a few bytes a call, then none until it is asked again.
    struct Slow(Vec<u8>, bool);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if !self.1 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let count = bytes.len().min(7);
            self.0.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_slow_terminal_gets_the_whole_frame_bit_by_bit() {
        let mut screen = Screen::new(Size::new(20, 5), true).expect("made");
        screen.draw(|frame| frame.render_widget("hello", frame.area())).expect("drawn");
        let mut slow = Slow(Vec::new(), false);
        let mut calls = 0;
        while !screen.is_idle() {
            screen.write_to(&mut slow).expect("no error");
            calls += 1;
        }
        assert!(calls > 3);
        assert_eq!(shown(&slow.0).screen().contents().trim_end(), "hello");
    }
}
