//! The way to another moment. To get there, a keyframe is read and all messages behind it are taken in, which can take
//! seconds. The keys must work meanwhile: so this is done a little at a time, and the keyframe is read on a thread. Another
//! wish replaces the one before.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::super::format::Micros;
use super::super::position::written;
use super::feed::Feed;
use super::{Player, blank};
use crate::app::Model;

/// A way that is being gone.
#[derive(Debug)]
pub(super) struct Journey {
    to: Micros,
    /// The segment whose keyframe comes first.
    from: Option<usize>,
    /// What is to be said there.
    say: Option<String>,
    /// How many messages are to be taken in there, one by one.
    steps: u32,
    /// True once it was said where the way leads.
    told: bool,
}

/// A keyframe that a thread reads.
#[derive(Debug)]
pub(super) struct Loading {
    segment: usize,
    /// Brings the model, or nothing if it cannot be read.
    model: Receiver<Option<Box<Model>>>,
}

impl Player {
    /// True while the player is on its way to a moment.
    pub fn is_under_way(&self) -> bool {
        self.journey.is_some()
    }

    /// Goes on towards the moment that was asked for, as long as `more` says that there is time; true if it is reached.
    /// Each call gets at least a little further, and none waits.
    pub fn go_on(&mut self, more: &mut dyn FnMut() -> bool) -> bool {
        self.travel(false, more)
    }

    /// Goes all the way to the moment that was asked for.
    pub fn finish(&mut self) {
        while !self.travel(true, &mut || true) {}
    }

    /// Goes to a moment, all the way: the model and the recorded screen are then as they were when it was live.
    pub fn seek(&mut self, to: Micros) {
        self.set_out(to, None);
        self.finish();
    }

    /// Where the player is, or is on its way to.
    pub(super) fn destination(&self) -> Micros {
        self.journey.as_ref().map_or(self.position, |journey| journey.to)
    }

    /// Sets out for a moment; there, something is said.
    pub(super) fn set_out(&mut self, to: Micros, say: Option<String>) {
        self.revision += 1;
        self.behind = 0;
        let to = to.min(self.recording.end());
        let segment = self.recording.segment_at(to);
        let is_elsewhere = to < self.position || self.position < self.recording.begins(segment);
        self.journey = Some(Journey { to, from: is_elsewhere.then_some(segment), say, steps: 0, told: false });
    }

    /// Takes in one more message, once the player is where it goes.
    pub(super) fn step(&mut self) {
        if let Some(journey) = &mut self.journey {
            journey.steps += 1;
            return;
        }
        self.recorded(|player| {
            if let Some(at) = player.next_at() {
                player.take_next();
                player.position = at;
            }
        });
        self.moved();
    }

    /// Starts at the beginning of the recording, whatever stands there.
    pub(super) fn start(&mut self) {
        self.set_out(0, None);
        if let Some(journey) = &mut self.journey {
            journey.from = Some(self.recording.segment_at(0));
        }
        self.reach_keyframe(true, &mut || true);
        self.journey = None;
    }

    fn travel(&mut self, wait: bool, more: &mut dyn FnMut() -> bool) -> bool {
        let Some(to) = self.journey.as_ref().map(|journey| journey.to) else { return true };
        let before = self.position;
        let is_there = self.reach_keyframe(wait, more) && self.recorded(|player| player.fold_until(to, more)).1;
        self.moved();
        // To draw costs as much time as many messages: once for each second that is passed is enough.
        if self.position / 1_000_000 != before / 1_000_000 {
            self.revision += 1;
        }
        if !is_there {
            self.tell_where_to(to);
            return false;
        }
        self.position = to;
        self.moved();
        self.revision += 1;
        if std::mem::take(&mut self.going_is_told) {
            self.replay_mut().notice = None;
        }
        if let Some(journey) = self.journey.take() {
            (0..journey.steps).for_each(|_| self.step());
            if let Some(text) = journey.say {
                self.say(text);
            }
        }
        true
    }

    /// Says where the way leads, once, and again when nothing else is said.
    fn tell_where_to(&mut self, to: Micros) {
        let is_silent = self.replay().notice.is_none();
        if let Some(journey) = &mut self.journey
            && (is_silent || !journey.told)
        {
            journey.told = true;
            self.say(format!("going to {} ...", written(to)));
            self.going_is_told = true;
        }
    }

    /// Begins at the keyframe that is wanted, or at the nearest one before it that can be read, once it has come.
    fn reach_keyframe(&mut self, wait: bool, more: &mut dyn FnMut() -> bool) -> bool {
        loop {
            let Some(segment) = self.journey.as_ref().and_then(|journey| journey.from) else { return true };
            if segment == 0 {
                let blank = blank(&self.recording);
                self.begin_at(0, blank);
                return true;
            }
            let loading = match self.loading.take() {
                Some(loading) => loading,
                None => self.load(segment),
            };
            let come = if wait {
                loading.model.recv().ok()
            } else {
                match loading.model.try_recv() {
                    Ok(come) => Some(come),
                    Err(TryRecvError::Disconnected) => None,
                    Err(TryRecvError::Empty) => {
                        self.loading = Some(loading);
                        return false;
                    }
                }
            };
            // While it was read, another one may have been asked for.
            if loading.segment == segment {
                match (come.flatten(), &mut self.journey) {
                    (Some(model), _) => self.begin_at(segment, *model),
                    (None, Some(journey)) => journey.from = Some(segment - 1),
                    (None, None) => {}
                }
            }
            if !more() {
                return false;
            }
        }
    }

    fn load(&mut self, segment: usize) -> Loading {
        let (sends, model) = channel();
        if let Some(keyframe) = self.recording.keyframe(segment) {
            // Without a thread nothing comes, as if it could not be read: an earlier one, or the start, does as well.
            let _ = std::thread::Builder::new()
                .name("rdmascope-keyframe".to_owned())
                .spawn(move || sends.send(keyframe.model().map(Box::new)));
        }
        Loading { segment, model }
    }

    fn begin_at(&mut self, segment: usize, model: Model) {
        self.recorded(|player| player.adopt(model));
        self.feed = Feed::start(segment);
        self.position = self.recording.begins(segment);
        if let Some(journey) = &mut self.journey {
            journey.from = None;
        }
    }
}
