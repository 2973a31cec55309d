//! A configuration that was read again while the console runs: what of it is new to the model, and what is to be done about
//! it. A choice that was made on the screen stays, unless the file now says something else than before.

use serde::{Deserialize, Serialize};

use super::effect::Effect;
use super::events::Event;
use super::look::{LookChoice, Offered, Started};
use super::message::Severity;
use super::model::{Model, Target, TargetKind};
use super::tree::Node;
use crate::config::AlertNotice;
use crate::diagnose::check::SiteSays;
use crate::fabric::{TargetId, Text, Timestamp};

/// What a configuration says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reconfigured {
    /// When it was read.
    pub at: Timestamp,
    /// How the console is to look.
    pub look: LookChoice,
    /// Which looks there are.
    pub offered: Offered,
    /// All settings with where they came from.
    pub settings: Vec<Started>,
    /// What it says for the checks.
    #[serde(default)]
    pub site: SiteSays,
    /// How the terminal tells of an alert.
    #[serde(default)]
    pub alert_notice: AlertNotice,
    /// True if it names a hook for alerts.
    #[serde(default)]
    pub alert_hook: bool,
    /// All targets, in order.
    pub order: Vec<TargetId>,
    /// The targets that are new or reached in another way than before.
    pub opened: Vec<OpenedTarget>,
    /// The targets that are gone.
    pub closed: Vec<TargetId>,
}

/// A target that is new or reached in another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedTarget {
    /// Which.
    pub id: TargetId,
    /// What it is.
    pub kind: TargetKind,
    /// Its tags.
    pub tags: Vec<Text>,
}

/// Takes it in.
pub fn apply(model: &mut Model, new: Reconfigured) -> Vec<Effect> {
    model.now = model.now.max(new.at);
    change_look(model, &new.look, &new.offered);
    model.options.look = new.look;
    model.options.offered = new.offered;
    model.options.settings = new.settings;
    model.options.site = new.site;
    (model.options.alert_notice, model.options.alert_hook) = (new.alert_notice, new.alert_hook);
    model.fabric_changed();
    model.unjudged = true;
    let mut effects = Vec::new();
    let mut told = Vec::new();
    for id in new.closed {
        if model.targets.contains_key(&id) {
            model.forget(&id);
            tell(model, new.at, &id, "is no longer in the configuration: its connection is closed");
            told.push(format!("-{id}"));
            effects.push(Effect::Close(id));
        }
    }
    for OpenedTarget { id, kind, tags } in new.opened {
        let known = model.targets.contains_key(&id);
        if known {
            model.forget(&id);
            effects.push(Effect::Close(id.clone()));
        }
        model.targets.insert(id.clone(), Target { tags, ..Target::new(kind) });
        let text =
            if known { "has changed in the configuration: it is opened anew" } else { "is new in the configuration" };
        tell(model, new.at, &id, text);
        told.push(format!("{}{id}", if known { "~" } else { "+" }));
        effects.push(Effect::Open(id));
    }
    model.order = new.order.into_iter().filter(|id| model.targets.contains_key(id)).collect();
    if model.selected_target().is_none_or(|selected| !model.targets.contains_key(selected)) {
        model.screen.tree.selected = model.order.first().cloned().map(Node::Target);
        super::table::reset(&mut model.screen);
    }
    let what = if told.is_empty() { String::new() } else { format!("; targets: {}", told.join(" ")) };
    model.screen.notice = Some((format!("read the configuration again{what}"), model.now));
    effects
}

/// Where the configuration says something else than before, that holds; a choice whose name is gone falls back too.
fn change_look(model: &mut Model, new: &LookChoice, offered: &Offered) {
    let (before, now) = (&model.options.look, &mut model.screen.look);
    if new.theme != before.theme || !offered.themes.contains(&now.theme) {
        now.theme = new.theme.clone();
    }
    if new.keymap != before.keymap || !offered.keymaps.contains(&now.keymap) {
        now.keymap = new.keymap.clone();
    }
    if new.glyphs != before.glyphs {
        now.glyphs = new.glyphs;
    }
    if new.low_bandwidth != before.low_bandwidth {
        now.low_bandwidth = new.low_bandwidth;
    }
    if new.mouse != before.mouse {
        now.mouse = new.mouse;
    }
}

fn tell(model: &mut Model, at: Timestamp, target: &TargetId, text: &str) {
    model.events.push(Event {
        number: 0,
        at,
        target: Some(target.clone()),
        severity: Severity::Info,
        text: text.to_owned(),
        entity: None,
        evidence: None,
        line: 0,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::Options;
    use crate::app::{Connection, Message, update};
    use crate::config::GlyphSet;

    fn id(name: &str) -> TargetId {
        TargetId::new(name)
    }

    fn model(names: &[&str]) -> Model {
        let targets = names.iter().map(|name| (id(name), Target::new(TargetKind::Linux))).collect();
        Model::new(targets, Options::default(), Timestamp::UNIX_EPOCH)
    }

    fn read(order: &[&str], opened: &[&str], closed: &[&str]) -> Reconfigured {
        let opened = opened.iter().map(|name| OpenedTarget { id: id(name), kind: TargetKind::Linux, tags: vec![] });
        Reconfigured {
            at: Timestamp::UNIX_EPOCH,
            look: LookChoice::default(),
            offered: Offered {
                themes: ["default", "dark", "light"].map(Text::new).to_vec(),
                keymaps: vec![Text::new("default")],
            },
            settings: Vec::new(),
            site: SiteSays::default(),
            alert_notice: AlertNotice::default(),
            alert_hook: false,
            order: order.iter().map(|name| id(name)).collect(),
            opened: opened.collect(),
            closed: closed.iter().map(|name| id(name)).collect(),
        }
    }

    #[test]
    fn targets_come_go_and_change_and_what_was_selected_stays_where_it_can() {
        let mut model = model(&["a", "b", "c"]);
        let via = Text::new("somewhere");
        for name in ["a", "b", "c"] {
            let connection = Connection::Connected { since: Timestamp::UNIX_EPOCH, via: via.clone() };
            update(&mut model, Message::Connection { target: id(name), at: Timestamp::UNIX_EPOCH, connection });
        }
        model.screen.tree.selected = Some(Node::Target(id("b")));
        let effects = update(&mut model, Message::Reconfigured(Box::new(read(&["d", "b", "c"], &["d", "c"], &["a"]))));
        let expected = [Effect::Close(id("a")), Effect::Open(id("d")), Effect::Close(id("c")), Effect::Open(id("c"))];
        assert_eq!(effects, expected);
        assert_eq!(model.order, [id("d"), id("b"), id("c")]);
        assert!(model.targets[&id("b")].connection.is_up() && !model.targets[&id("c")].connection.is_up());
        assert_eq!(model.selected_target(), Some(&id("b")));
        let notice = model.screen.notice.clone().map(|(text, _)| text);
        assert_eq!(notice.as_deref(), Some("read the configuration again; targets: -a +d ~c"));
        update(&mut model, Message::Reconfigured(Box::new(read(&["c"], &[], &["b", "d"]))));
        assert_eq!(model.selected_target(), Some(&id("c")));
        update(&mut model, Message::Reconfigured(Box::new(read(&[], &[], &["c"]))));
        assert_eq!((model.selected_target(), model.targets.len()), (None, 0));
    }

    #[test]
    fn a_choice_of_the_screen_stays_until_the_file_says_something_new() {
        let mut model = model(&[]);
        model.screen.look.theme = Text::new("dark");
        model.screen.look.glyphs = GlyphSet::Ascii;
        update(&mut model, Message::Reconfigured(Box::new(read(&[], &[], &[]))));
        assert_eq!(model.screen.look.theme, "dark");
        let mut new = read(&[], &[], &[]);
        new.look.theme = Text::new("light");
        new.look.mouse = true;
        update(&mut model, Message::Reconfigured(Box::new(new.clone())));
        assert_eq!((&model.screen.look.theme, model.screen.look.mouse), (&Text::new("light"), true));
        assert_eq!(model.screen.look.glyphs, GlyphSet::Ascii);
        assert_eq!(model.options.look, new.look);
        model.screen.look.theme = Text::new("dark");
        new.offered.themes.retain(|name| *name != "dark");
        update(&mut model, Message::Reconfigured(Box::new(new)));
        assert_eq!(model.screen.look.theme, "light", "what is gone cannot stay");
    }
}
