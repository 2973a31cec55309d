//! What whoever looks at a replay can do, and what he cannot.

use std::time::Duration;

use rdmascope::app::action::{self, Context};
use rdmascope::app::screen::Panel;
use rdmascope::app::{Control, Edit, Effect, Message, Severity, update};
use rdmascope::fabric::Text;
use rdmascope::record::Player;

use crate::live::{self, Live, SECOND, drawn, same, session, start, text};

/// Goes all the way.
fn go(player: &mut Player, control: Control) {
    player.control(control);
    player.finish();
}

#[test]
fn the_viewers_keys_give_him_a_view_of_his_own_and_the_way_back() {
    let (mut player, moments) = session().replay();
    let following = |player: &Player| player.model().mode.replay().expect("a replay").following;
    player.take(Message::Resized { columns: 100, rows: 30 });
    let moment = &moments[moments.len() / 3];
    player.seek(moment.0);
    same(&player, moment);
    assert!(following(&player));
    assert_eq!(player.take(live::action("panel-events")), []);
    assert!(!following(&player));
    let screen = &player.model().screen;
    assert_eq!((screen.panel, screen.columns, screen.rows), (Panel::Events, 100, 30));
    // The recorded user goes on elsewhere; the viewer stays.
    for to in [moments.len() / 2, moments.len() - 1, 3] {
        player.seek(moments[to].0);
        assert_eq!(player.model().screen.panel, Panel::Events);
        assert_eq!(player.model().screen.columns, 100);
        assert!(!player.model().events.is_empty());
    }
    player.take(Message::Resized { columns: 90, rows: 20 });
    assert_eq!(player.model().screen.columns, 90);
    player.seek(moment.0);
    player.take(live::action("replay-follow"));
    assert!(following(&player));
    same(&player, moment);
    let buffer = drawn(player.model(), (90, 20));
    assert!(text(&buffer).starts_with(" rdmascope  REPLAY 00:"), "{}", text(&buffer));
    player.take(live::action("replay-follow"));
    assert!(text(&drawn(player.model(), (90, 20))).contains("own view"));
}

#[test]
fn nothing_is_asked_of_targets_and_leaving_works() {
    let (mut player, moments) = session().replay();
    player.seek(moments[40].0);
    let before = player.model().screen.clone();
    for name in ["reconnect", "read-now"] {
        assert_eq!(player.take(live::action(name)), [], "{name}");
        let replay = player.model().mode.replay().expect("a replay");
        assert!(
            replay.following && replay.notice.as_ref().is_some_and(|text| text.contains("this is a recording")),
            "{name}"
        );
        assert_eq!(player.model().screen.notice, before.notice);
    }
    assert_eq!(player.take(live::action("quit")), [Effect::Quit]);
    assert_eq!(player.take(live::action("suspend")), [Effect::Suspend]);
    assert_eq!(player.take(live::action("redraw")), [Effect::Redraw]);
    assert!(player.model().mode.replay().is_some_and(|replay| replay.following));
    // A question of the recording is not the viewer's to answer.
    let asked = moments.iter().position(|(at, _)| {
        player.seek(*at);
        !player.model().prompts.is_empty()
    });
    assert!(asked.is_some());
    assert_ne!(action::context(player.model()), Context::Prompt);
    player.take(live::action("accept-keys"));
    assert!(!player.model().prompts.is_empty());
}

#[test]
fn the_viewer_goes_to_times_and_to_what_broke() {
    let (mut player, moments) = session().replay();
    let end = moments.last().expect("a moment").0;
    let notice =
        |player: &Player| player.model().mode.replay().and_then(|replay| replay.notice.clone()).unwrap_or_default();
    let type_time = |player: &mut Player, text: &str, end: &str| {
        player.take(live::action("replay-go-to"));
        assert_eq!(action::context(player.model()), Context::Filter);
        let line = live::text(&drawn(player.model(), (80, 24)));
        assert!(line.ends_with("12:41 from the start, +30 or -1:30 from here, @14:03 of the day"), "{line}");
        for character in text.chars() {
            player.take(Message::Edit(Edit::Insert(character)));
        }
        let line = live::text(&drawn(player.model(), (80, 24)));
        assert!(line.ends_with(&format!("to time: {text}")), "{line}");
        player.take(live::action(end));
        player.finish();
        assert_ne!(action::context(player.model()), Context::Filter);
    };
    type_time(&mut player, "3:20", "accept");
    assert_eq!(player.position(), Duration::from_secs(200));
    type_time(&mut player, "-20", "accept");
    assert_eq!(player.position(), Duration::from_mins(3));
    type_time(&mut player, "1:00", "cancel");
    assert_eq!(player.position(), Duration::from_mins(3));
    type_time(&mut player, "9:00:00", "accept");
    assert_eq!(player.position(), Duration::from_micros(end));
    assert!(notice(&player).contains("09:00:00 is beyond the end"), "{}", notice(&player));
    assert!(player.model().mode.replay().is_some_and(|replay| replay.paused));
    type_time(&mut player, "3:00", "accept");
    type_time(&mut player, "@09:02", "accept");
    assert!(notice(&player).contains("does not reach 09:02:00"), "{}", notice(&player));
    type_time(&mut player, "@08:02", "accept");
    assert_eq!(player.position(), Duration::from_mins(2), "{}", notice(&player));
    assert!(player.model().mode.replay().is_some_and(|replay| replay.following), "nothing was done to the screen");

    go(&mut player, Control::Start);
    let mut found = Vec::new();
    for _ in 0..4 {
        go(&mut player, Control::Landmark { forward: true });
        found.push((player.position(), notice(&player)));
        let newest = player.model().events.iter().rev().find(|event| event.severity == Severity::Error);
        assert!(newest.is_some_and(|event| found[found.len() - 1].1.ends_with(&event.text)), "{found:?}");
    }
    assert!(found.is_sorted_by(|one, other| one.0 < other.0), "{found:?}");
    go(&mut player, Control::Landmark { forward: false });
    assert_eq!(player.position(), found[2].0);
    go(&mut player, Control::End);
    assert_eq!(player.position(), Duration::from_micros(end));
    go(&mut player, Control::Landmark { forward: true });
    assert_eq!(notice(&player), "nothing broke after this moment");
    go(&mut player, Control::Seek(-60));
    go(&mut player, Control::Seek(10));
    assert_eq!(player.position(), Duration::from_micros(end - 50 * SECOND));
    go(&mut player, Control::StepSecond);
    assert_eq!(player.position(), Duration::from_micros(end - 49 * SECOND));
}

#[test]
fn a_time_without_anything_is_passed_over() {
    let mut live = Live::new();
    live.ticks(5, 10, 9);
    live.second += 3600;
    live.ticks(5, 10, 9);
    let (mut player, _) = live.replay();
    player.control(Control::Pause);
    player.seek(4 * SECOND);
    for _ in 0..20 {
        player.advance(Duration::from_millis(100), &mut || true);
    }
    let position = player.position();
    assert!(position > Duration::from_secs(3604) && position < Duration::from_secs(3608), "{position:?}");
    let notice = player.model().mode.replay().and_then(|replay| replay.notice.clone());
    assert_eq!(notice.as_deref(), Some("59 min without anything were passed over"));
}

#[test]
fn live_keys_for_replays_say_what_they_are_for() {
    let mut model = start();
    for action in action::ALL.iter().filter(|action| action.name.starts_with("replay-")) {
        assert_eq!(update(&mut model, Message::Action(Text::new(action.name))), []);
    }
    assert!(model.screen.notice.is_some_and(|(text, _)| text.contains("this is live")));
}

#[test]
fn the_footer_tells_what_the_key_does_now() {
    let (mut player, _) = session().replay();
    let line = |player: &Player| live::text(&drawn(player.model(), (80, 24)));
    assert!(line(&player).contains("Space pause"), "{}", line(&player));
    player.control(Control::Pause);
    assert!(line(&player).contains("Space go on") && !line(&player).contains("Space pause"), "{}", line(&player));
}
