//! One version on all nodes of a job: the odd one out is named.

use std::collections::BTreeMap;

use super::jobs::{groups, system};
use crate::diagnose::check::{Judged, Scene};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId, Text};

/// What is compared.
pub struct Same {
    /// Id of the check.
    pub check: &'static str,
    /// What it is: `Open MPI`.
    pub what: &'static str,
    /// Where its version stands.
    pub attribute: Attribute,
    /// Packages that have it, where no program of it tells its version.
    pub packages: &'static [&'static str],
    /// The command that tells it.
    pub command: &'static str,
    /// How grave it is that two versions differ, and what follows.
    pub verdict: fn(&str, &str) -> (Status, &'static str),
    /// What follows where it is not there at all; `None` where that is no trouble.
    pub absent: Option<&'static str>,
}

/// The first `count` numbers of a version: `4.1` of `4.1.4`.
pub fn numbers(version: &str, count: usize) -> Vec<u64> {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    version.split('.').take(count).map_while(digits).collect()
}

/// Judges each guest of each group in which at least one has it.
pub fn judge(scene: &Scene<'_>, same: &Same) -> Vec<Judged> {
    groups(scene).into_iter().flat_map(|group| of_group(scene, same, &group)).collect()
}

/// A version, and where it stands.
struct Version {
    id: EntityId,
    attribute: Attribute,
    text: String,
}

fn version(scene: &Scene<'_>, same: &Same, guest: &TargetId) -> Option<Version> {
    if let Some(text) = scene.text(&system(guest), same.attribute) {
        return Some(Version { id: system(guest), attribute: same.attribute, text: text.to_owned() });
    }
    same.packages.iter().find_map(|name| {
        let id = EntityId::new(guest, Entity::Package(Text::new(name)));
        let packed = scene.text(&id, Attribute::Version)?;
        // Before a colon stands the epoch, behind the last hyphen the packager's own number.
        let upstream = packed.split_once(':').map_or(packed, |(_, rest)| rest);
        let text = upstream.rsplit_once('-').map_or(upstream, |(version, _)| version).to_owned();
        Some(Version { id, attribute: Attribute::Version, text })
    })
}

fn of_group(scene: &Scene<'_>, same: &Same, group: &[&TargetId]) -> Vec<Judged> {
    let versions: Vec<(&TargetId, Option<Version>)> =
        group.iter().map(|guest| (*guest, version(scene, same, guest))).collect();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for known in versions.iter().filter_map(|(_, known)| known.as_ref()) {
        *count.entry(&known.text).or_default() += 1;
    }
    // What most have; of equals what the first one has.
    let most = count.values().copied().max().unwrap_or_default();
    let leads = |known: &Version| count.get(known.text.as_str()) == Some(&most);
    let leader =
        versions.iter().find_map(|(guest, known)| Some((*guest, known.as_ref().filter(|known| leads(known))?)));
    let Some((leader, wanted)) = leader else { return Vec::new() };
    let against = |guest| Against { same, guest, leader, wanted };
    versions.iter().filter_map(|(guest, known)| against(guest).judged(scene, known.as_ref())).collect()
}

/// One guest against the one that has what most have.
struct Against<'a> {
    same: &'a Same,
    guest: &'a TargetId,
    leader: &'a TargetId,
    wanted: &'a Version,
}

impl Against<'_> {
    fn judged(&self, scene: &Scene<'_>, known: Option<&Version>) -> Option<Judged> {
        let (guest, leader, what) = (self.guest, self.leader, self.same.what);
        let (id, wanted) = (system(guest), &self.wanted.text);
        let Some(known) = known else { return self.missing(scene) };
        let version = &known.text;
        if version == wanted {
            return Some(Judged::pass(&id, format!("{guest}: {what} {version}, as on the other nodes")));
        }
        let (status, follows) = (self.same.verdict)(version, wanted);
        let title = format!("{guest}: {what} {version}, but {leader} has {wanted}");
        let judged = match status {
            Status::Pass => return Some(Judged::pass(&id, title)),
            Status::Info => Judged::info(&id, title, follows),
            Status::Fail => Judged::fail(&id, Confidence::Likely, title, follows),
            Status::Warn | Status::Unknown => Judged::warn(&id, Confidence::Likely, title, follows),
        };
        let judged = judged.shown(&known.id, known.attribute, format!("{what} {version} on {guest}")).shown(
            &self.wanted.id,
            self.wanted.attribute,
            format!("{what} {wanted} on {leader}"),
        );
        if judged.status == Status::Info {
            return Some(judged);
        }
        let decide = format!("on every node, in the environment of the job: {}", self.same.command);
        Some(judged.decided_by(decide).cured_by(self.install(Some(known))))
    }

    /// What is said where no version is known.
    fn missing(&self, scene: &Scene<'_>) -> Option<Judged> {
        let Self { same, guest, leader, wanted } = self;
        let (id, what) = (system(guest), same.what);
        let state = scene.fabric.reading(&id, same.attribute).map(|reading| &reading.state);
        if matches!(state, Some(State::NotInstalled(_))) {
            let title = format!("{guest}: no {what} in the search path, but {leader} has {}", wanted.text);
            return Some(
                Judged::warn(&id, Confidence::Likely, title, same.absent?)
                    .shown(&wanted.id, wanted.attribute, format!("{what} {} on {leader}", wanted.text))
                    .decided_by(format!("on {guest}, in the environment of the job: {}", same.command))
                    .cured_by(self.install(None)),
            );
        }
        let (lack, why) = scene.lack(&id, same.attribute)?;
        let title = format!("{what} of {guest} is not known: {why}");
        Some(Judged::unknown(&id, lack, title, format!("on {guest}: {}", same.command)))
    }

    fn install(&self, old: Option<&Version>) -> Cure {
        let Self { same, guest, wanted, .. } = self;
        let step = |version: &str| Step::ByHand(format!("{guest}: install {} {version}", same.what));
        let remove = || Step::ByHand(format!("{guest}: remove {}", same.what));
        let undo = old.map_or_else(remove, |old| step(&old.text));
        let rests_on = old.map(|old| (old.id.clone(), old.attribute)).into_iter().collect();
        let title = format!("Install {} {} on {guest}", same.what, wanted.text);
        Cure::by_hand(&title, vec![step(&wanted.text)])
            .undone_by(vec![undo], rests_on)
            .verified_by(&[same.check])
            .noting("or load the module file of the same version on every node")
    }
}
