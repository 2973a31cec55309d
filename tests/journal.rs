//! A recording shows again what was live, screen for screen; it survives a kill and a full disk; secrets never get into it.

#[path = "screens/guest.rs"]
#[allow(dead_code, reason = "shared with the tests of screens")]
mod guest;
mod support;

#[path = "journal/program.rs"]
mod program;

#[path = "journal/live.rs"]
mod live;
#[path = "journal/viewer.rs"]
mod viewer;

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use rdmascope::app::change::ChangeNews;
use rdmascope::app::screen::Panel;
use rdmascope::app::wizard::FIRST_READ;
use rdmascope::app::{Control, Edit, Message, Model, Prompt, PromptKind, SecretKind, SecretRequest, update};
use rdmascope::fabric::{Attribute, Entity, Observation, Report, SourceId, TargetId, Text};
use rdmascope::probe::esxi::statistics;
use rdmascope::record::format::Micros;
use rdmascope::record::{Player, Recorder, Recording};

use live::{Live, action, happening, host_key, same, session, start};

#[test]
fn a_replay_shows_what_live_showed_screen_for_screen_also_after_seeks() {
    let (mut player, moments) = session().replay();
    // From the start to the end, then all over the place.
    for moment in &moments {
        player.seek(moment.0);
        same(&player, moment);
    }
    let count = moments.len();
    for number in 0..60 {
        let moment = &moments[number * 7919 % count];
        player.seek(moment.0);
        same(&player, moment);
    }
    // Message by message.
    player.seek(moments[count / 2].0);
    let mut next = count / 2 + 1;
    while next < count / 2 + 6 {
        player.control(Control::StepMessage);
        let here = Micros::try_from(player.position().as_micros()).expect("short");
        if here == moments[next].0 {
            same(&player, &moments[next]);
            next += 1;
        }
    }
    assert_eq!(player.unknown(), 0);
}

#[test]
fn what_a_host_counts_is_replayed_as_it_was_live_also_from_a_keyframe() {
    let mut live = Live::new();
    let host = TargetId::new("softroce1");
    live.take(action("panel-live"));
    for read in 0..8u64 {
        let text = format!(
            "@item vmnic2\n@clock {}\n   Bytes sent: {}\n\n@status 0\n",
            1000 + 20 * read,
            read * read * 10_000_000
        );
        let mut observation = Observation::of_text(statistics::NICS.name, &text);
        (observation.target, observation.at) = (host.clone(), guest::at(live.second));
        let mut facts = (statistics::NICS.parse)(&[Arc::new(observation.clone())]);
        facts.push(observation.known(Entity::Uplink("vmnic2".into()), Attribute::OperationalState, "Up", 1));
        let probe = SourceId::new(statistics::NICS.name);
        let report = Report { target: host.clone(), probe, observations: vec![Arc::new(observation)], facts };
        live.take(Message::Report { at: guest::at(live.second), report });
        live.ticks(20, 0, 9);
        live.look();
    }
    let (mut player, moments) = live.replay();
    player.seek(moments[7].0);
    same(&player, &moments[7]);
    let shown = live::text(&moments[7].1);
    assert!(shown.contains("softroce1 vmnic2  tx 52 Mb/s") && shown.contains("all VMs of this uplink"), "{shown}");
    for place in [2, 6, 0, 5, 1, 7] {
        player.seek(moments[place].0);
        same(&player, &moments[place]);
    }
}

#[test]
fn a_walk_of_the_wizard_is_replayed_as_it_was_live_with_its_reads_and_answers() {
    let mut live = Live::new();
    live.ticks(40, 0, 9);
    for name in ["wizard-here", "down", "down", "wizard-open"] {
        live.take(action(name));
        live.look();
    }
    for number in 0..20 {
        let news = ChangeNews::ReadAgain(if number % 3 == 0 { Err(Text::new("no answer")) } else { Ok(()) });
        live.take(Message::Change { at: guest::at(live.second), number: FIRST_READ + number, news });
        live.ticks(7, 0, 9);
        live.look();
    }
    for name in ["answer-no", "answer-no", "skip-question", "paste-answer"] {
        live.take(action(name));
        live.look();
    }
    live.take(Message::Edit(Edit::Paste("what\nis this".to_owned())));
    for name in ["end-line", "close", "bottom", "wizard-open", "close", "close", "wizard-here"] {
        live.take(action(name));
        live.look();
    }
    let (mut player, moments) = live.replay();
    let count = moments.len();
    for place in (0..count).chain((0..count).rev()) {
        player.seek(moments[place].0);
        same(&player, &moments[place]);
    }
}

#[test]
fn a_replay_that_runs_by_itself_shows_the_same_and_stands_still_at_the_end() {
    let mut live = session();
    let last = live.now;
    live.look();
    let (mut player, moments) = live.replay();
    player.control(Control::Pause);
    for _ in 0..6 {
        player.control(Control::Faster);
    }
    let replay = |player: &Player| player.model().mode.replay().expect("a replay").clone();
    let mut moments = moments.iter().peekable();
    let (mut steps, mut compared) = (0, 0);
    while !replay(&player).paused {
        player.advance(Duration::from_millis(100), &mut || true);
        let here = Micros::try_from(player.position().as_micros()).expect("short");
        // What was shown at the last look before the next message that is still to come.
        while moments.peek().is_some_and(|(at, _)| *at < here) {
            moments.next();
        }
        if let Some(moment) = moments.peek().filter(|(at, _)| *at == here) {
            same(&player, moment);
            compared += 1;
        }
        steps += 1;
        assert!(steps < 1000);
    }
    assert!(compared > 0, "the end at least");
    assert_eq!(player.position(), Duration::from_micros(last));
    assert!(steps > 100, "6.4 s at a time: {steps}");
    assert_eq!(replay(&player).notice.as_deref(), Some("this is the end of the recording"));
    player.control(Control::Pause);
    player.finish();
    assert!(!replay(&player).paused);
    assert_eq!(player.position(), Duration::ZERO, "it begins anew");
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 100, ..ProptestConfig::with_cases(12) })]
    #[test]
    fn any_session_comes_out_as_it_went_in(
        happenings in prop::collection::vec(happening(), 20..120),
        seeks in prop::collection::vec(any::<prop::sample::Index>(), 30),
    ) {
        let mut live = Live::new();
        for happening in happenings {
            live.happen(happening);
        }
        let (mut player, moments) = live.replay();
        for index in seeks {
            let moment = index.get(&moments);
            player.seek(moment.0);
            same(&player, moment);
        }
    }
}

/// A recorder on a file of its own, and the model that it looks at.
fn recorder(folder: &tempfile::TempDir) -> (Recorder, Model) {
    let model = start();
    (Recorder::begin(&folder.path().join("x.rec"), &model, (80, 24)).expect("a recorder"), model)
}

fn record(recorder: &mut Recorder, model: &mut Model, message: Message) {
    let note = recorder.note(model, &message);
    update(model, message);
    recorder.take(note, model);
}

#[test]
fn questions_for_secrets_are_not_recorded_and_the_rest_replays_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut recorder, mut model) = recorder(&folder);
    let secret = Prompt {
        id: 1,
        target: TargetId::new("softroce2"),
        kind: PromptKind::Secret(SecretRequest {
            what: SecretKind::Interactive,
            asked_by: Text::new("root@10.0.0.2:22"),
            instruction: Text::new("INSTRUCTION-7f3a"),
            question: Text::new("QUESTION-91bc"),
            echo: true,
            may_reuse: true,
        }),
    };
    record(&mut recorder, &mut model, Message::Asked { at: guest::at(1), prompt: secret });
    record(&mut recorder, &mut model, host_key(2, 2));
    for name in ["help", "panel-events", "refuse-secret", "panel-live"] {
        record(&mut recorder, &mut model, action(name));
    }
    record(&mut recorder, &mut model, Message::Answered { id: 1 });
    record(&mut recorder, &mut model, Message::Withdrawn { id: 9 });
    record(&mut recorder, &mut model, Message::Clock(guest::at(3)));
    assert!(recorder.is_running() && recorder.problem().is_none());
    drop(recorder);
    let file = folder.path().join("x.rec");
    let mut player = Player::new(Recording::open(&file).expect("a recording"), TimeZone::UTC);
    player.control(Control::End);
    player.finish();
    assert_eq!(player.model().events, model.events, "who was asked stands among the events");
    assert_eq!(player.model().prompts.iter().map(|prompt| prompt.id).collect::<Vec<_>>(), [2]);
    assert_eq!(player.model().screen.panel, Panel::Live);
    assert!(player.model().screen.overlays.is_empty());
    // Packed text can hide what it holds: look at the messages themselves.
    let all = format!("{:?}", player.model());
    assert!(!all.contains("INSTRUCTION-7f3a") && !all.contains("QUESTION-91bc"));
    let bytes = std::fs::read(&file).expect("a file");
    for words in ["INSTRUCTION-7f3a", "QUESTION-91bc"] {
        assert!(!bytes.windows(words.len()).any(|window| window == words.as_bytes()));
    }
}

#[test]
fn a_file_that_is_there_is_left_alone_and_links_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let model = start();
    let begin = |name: &str| Recorder::begin(&folder.path().join(name), &model, (80, 24));
    drop(begin("new.rec").expect("a recorder"));
    let mode = std::fs::metadata(folder.path().join("new.rec")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(folder.path().join("old"), "precious").expect("a file");
    symlink(folder.path().join("old"), folder.path().join("link")).expect("a link");
    symlink(folder.path().join("nothing"), folder.path().join("dangling")).expect("a link");
    for name in ["old", "link", "dangling", "new.rec"] {
        let error = begin(name).expect_err(name).to_string();
        assert!(error.contains("is there already and is left as it is; give --record another name"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("old")).expect("a file"), "precious");
    assert!(!folder.path().join("nothing").exists());
    let error = begin("no/such.rec").expect_err("no folder").to_string();
    assert!(error.contains("its folder does not exist"), "{error}");
}
