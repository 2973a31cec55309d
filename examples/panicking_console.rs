//! A console that panics when it is told to, for the tests of what a panic leaves behind: `?` panics on the thread that
//! draws, `e` on another one.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Size;
use rdmascope::app::action::{self, Context};
use rdmascope::app::{Effect, LookChoice, Message};
use rdmascope::tui::{self, Look, Looks, Program, SecretPrompt, Surroundings, Tty, Typed};
use tokio::sync::mpsc;

#[derive(Default)]
struct Panics {
    on_screen: bool,
    said: String,
    revision: u64,
}

impl Program for Panics {
    fn context(&self) -> Context {
        Context::Tree
    }

    fn update(&mut self, message: Message) -> Vec<Effect> {
        self.revision += 1;
        match message {
            Message::Action(name) if name == "help" => self.on_screen = true,
            Message::Action(name) if name == "evidence" => {
                // Nobody waits for it: the screen hears of it in its own time.
                std::thread::spawn(|| panic!("a part of the console broke"));
            }
            Message::Action(name) if name == "quit" => return vec![Effect::Quit],
            Message::Notice { text, .. } => self.said = text.to_string(),
            _ => {}
        }
        Vec::new()
    }

    fn draw(&self, frame: &mut Frame<'_>, _: &Look, _: Typed<'_>) {
        assert!(!self.on_screen, "the screen broke");
        frame.render_widget(format!("ready to panic {}", self.said), frame.area());
    }

    fn secret_prompt(&self) -> Option<SecretPrompt> {
        None
    }

    fn unseen(&self, _: Size) -> Option<Vec<u64>> {
        None
    }

    fn revision(&self) -> u64 {
        self.revision
    }
}

fn main() -> color_eyre::Result<()> {
    color_eyre::config::HookBuilder::default().display_env_section(false).install()?;
    let terminal = Tty::open()?;
    tui::install_panic_hook();
    let names: Vec<&str> = action::ALL.iter().map(|action| action.name).collect();
    let (look, _) = Look::new(Arc::new(Looks::embedded(&names)?), &LookChoice::default(), true);
    let (_messages, received) = mpsc::channel(1);
    tui::show(Panics::default(), look, terminal, received, |_| {}, Surroundings::none("nothing to edit"))?;
    Ok(())
}
