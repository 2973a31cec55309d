//! Moving in a replay. In front of live targets there is no time to move in: these actions say so and do nothing.

use super::Action;
use crate::app::effect::Effect;
use crate::app::mode::Control;
use crate::app::model::Model;

pub(super) const PAUSE: Action = Action {
    name: "replay-pause",
    hint: "pause",
    description: "Let the replay stand still, or go on; at its end: begin anew",
    run: |model| control(model, Control::Pause),
};

pub(super) const FASTER: Action = Action {
    name: "replay-faster",
    hint: "faster",
    description: "Replay twice as fast, up to 64 times",
    run: |model| control(model, Control::Faster),
};

pub(super) const SLOWER: Action = Action {
    name: "replay-slower",
    hint: "slower",
    description: "Replay half as fast, down to a quarter",
    run: |model| control(model, Control::Slower),
};

pub(super) const BACK: Action = Action {
    name: "replay-back",
    hint: "-10 s",
    description: "Ten seconds back in the recording",
    run: |model| control(model, Control::Seek(-10)),
};

pub(super) const FORWARD: Action = Action {
    name: "replay-forward",
    hint: "+10 s",
    description: "Ten seconds forward in the recording",
    run: |model| control(model, Control::Seek(10)),
};

pub(super) const FAR_BACK: Action = Action {
    name: "replay-far-back",
    hint: "-1 min",
    description: "A minute back in the recording",
    run: |model| control(model, Control::Seek(-60)),
};

pub(super) const FAR_FORWARD: Action = Action {
    name: "replay-far-forward",
    hint: "+1 min",
    description: "A minute forward in the recording",
    run: |model| control(model, Control::Seek(60)),
};

pub(super) const START: Action = Action {
    name: "replay-start",
    hint: "start",
    description: "To the start of the recording",
    run: |model| control(model, Control::Start),
};

pub(super) const END: Action = Action {
    name: "replay-end",
    hint: "end",
    description: "To the end of the recording",
    run: |model| control(model, Control::End),
};

pub(super) const GO_TO: Action = Action {
    name: "replay-go-to",
    hint: "go to time",
    description: "To a time that is typed: 12:41 from the start, +30 or -1:30 from here, @14:03 of the day",
    run: |model| control(model, Control::Enter),
};

pub(super) const NEXT: Action = Action {
    name: "replay-next-landmark",
    hint: "next mark or error",
    description: "To the next mark, or moment at which something broke",
    run: |model| control(model, Control::Landmark { forward: true }),
};

pub(super) const PREVIOUS: Action = Action {
    name: "replay-previous-landmark",
    hint: "previous mark or error",
    description: "To the previous mark, or moment at which something broke",
    run: |model| control(model, Control::Landmark { forward: false }),
};

pub(super) const STEP_MESSAGE: Action = Action {
    name: "replay-step-message",
    hint: "one message",
    description: "Let the replay stand still and take in one message of the recording",
    run: |model| control(model, Control::StepMessage),
};

pub(super) const STEP_SECOND: Action = Action {
    name: "replay-step-second",
    hint: "one second",
    description: "Let the replay stand still and go one second forward",
    run: |model| control(model, Control::StepSecond),
};

pub(super) const FOLLOW: Action = Action {
    name: "replay-follow",
    hint: "follow",
    description: "Show the screen as it was recorded, after keys of your own left it; or leave it",
    run: |model| control(model, Control::Follow),
};

fn control(model: &mut Model, control: Control) -> Vec<Effect> {
    if model.mode.replay().is_none() {
        model.screen.notice = Some(("this key moves in a recording; this is live".to_owned(), model.now));
        return Vec::new();
    }
    vec![Effect::Replay(control)]
}
