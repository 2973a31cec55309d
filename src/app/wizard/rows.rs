//! The rows of the wizard: what can be asked of it, the steps of a walk with what each found, the questions with what would
//! tell them, the causes so far, and what is not excluded yet.

use super::super::condition::Gravity;
use super::super::diagnosis::{self, shown};
use super::super::format;
use super::super::model::Model;
use super::super::table::{self, Cell, Origin, RowKey};
use super::about;
use super::asked::{self, Open, Said};
use super::pasted;
use super::preparing;
use super::walking::{self, StepState, Walking};
use super::{BY_ITSELF, PREPARE, Shows};
use crate::diagnose::cause::{Cause, Found};
use crate::diagnose::check::Lack;
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::wizard::{SYMPTOMS, Standing, Walk, Walked};
use crate::fabric::{Entity, EntityId};
use crate::probe::switch::SwitchSystem;

/// So wide a screen has room for the targets of each step.
const WIDE: u16 = 110;

/// What a row of the wizard stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// Something that can be begun, by its name.
    Begin(String),
    /// A step of the walk, from 0.
    Step(usize),
    /// A question; with the system whose command the row shows.
    Question(Open, Option<SwitchSystem>),
    /// An answer, by its place.
    Answer(usize),
    /// The port that an uplink may be plugged into.
    Port(EntityId, String),
    /// A cause, by the name of its rows.
    Cause(String),
    /// Something else.
    Other,
}

pub(super) fn row(word: String, label: &str, cells: Vec<Cell>) -> table::Row {
    table::Row { key: RowKey::Entity(Entity::Guest, word.into()), label: label.to_owned(), cells }
}

pub(super) fn said(text: impl Into<String>) -> Cell {
    Cell::said(text, Gravity::Neutral)
}

/// How a label of the wizard stands, where it is the word for a state.
pub fn mark(label: &str) -> Option<Gravity> {
    Some(match label {
        "in order" | "yes" => Gravity::Good,
        "FOUND" | "TO DO" | "NO" => Gravity::Bad,
        "open" | "skipped" => Gravity::Unknown,
        "running" => Gravity::Stale,
        "asked" => Gravity::Warning,
        "waits" | "not needed" | "not here" | "excluded" | "pasted" => Gravity::Neutral,
        _ => return None,
    })
}

/// All of it.
pub fn rows(model: &Model) -> Vec<(String, Vec<table::Row>)> {
    match model.screen.wizard.shows {
        Shows::Causes => diagnosis::cause_rows(model),
        Shows::List => list(model),
        Shows::Walk => match &model.screen.wizard.walk {
            Some(walking) => walk_rows(model, walking),
            None => list(model),
        },
        Shows::Preparing => preparing::rows(model),
    }
}

/// The key of the first row.
pub(super) fn first(model: &Model) -> Option<RowKey> {
    let all = rows(model);
    let first = all.into_iter().flat_map(|(_, rows)| rows).next()?;
    Some(first.key)
}

/// What stands above the rows: lines of a title and what is said beside it.
pub fn heading(model: &Model) -> Vec<(String, String)> {
    let view = &model.screen.wizard;
    match (view.shows, &view.walk) {
        (Shows::Causes, _) => {
            // While something is not read nobody shall take what was found for all that there is.
            let unread = diagnosis::unread(model);
            let causes = model.diagnosed().diagnosis.causes.len();
            let rest = format!("; {} of {} targets unread", unread.len(), model.targets.len());
            let said = match (causes, unread.is_empty()) {
                (0, true) => "no cause was found at any target".to_owned(),
                (0, false) => format!("no cause so far{rest}"),
                (1, true) => "1 cause".to_owned(),
                (1, false) => format!("1 cause so far{rest}"),
                (more, true) => format!("{more} causes, the surest first"),
                (more, false) => format!("{more} causes so far{rest}"),
            };
            vec![("Wizard".to_owned(), said)]
        }
        (Shows::Walk, Some(walking)) => {
            let Some(symptom) = walking.symptom() else { return Vec::new() };
            let all = symptom.steps.len();
            let place = if walking.stopped && !walking.alone {
                format!("{} of {all} steps looked at", walking.looked.len())
            } else {
                format!("step {} of at most {all}", (walking.at + 1).min(all))
            };
            vec![(symptom.title.to_owned(), String::new()), (walking.about.words(model), place)]
        }
        (Shows::Preparing, _) => {
            vec![(format!("PVRDMA between {}", view.about.words(model)), preparing::summary(model))]
        }
        (Shows::List | Shows::Walk, _) => {
            vec![("Wizard".to_owned(), format!("what is wrong with {}?", view.about.words(model)))]
        }
    }
}

fn list(model: &Model) -> Vec<(String, Vec<table::Row>)> {
    let begin = |name: &str, label: &str, title: &str| row(format!("begin {name}"), label, vec![said(title)]);
    // No numbers: digits open panels.
    let symptoms = SYMPTOMS.iter().map(|one| begin(one.name, "symptom", one.title));
    let mut all = vec![("What do you see?".to_owned(), symptoms.collect())];
    let mut others = vec![begin(BY_ITSELF, "all", "I do not know: look by itself at everything")];
    let pair = about::pair(model, &model.screen.wizard.about);
    let title = match &pair {
        Some((one, other)) => format!("prepare {one} and {other} for PVRDMA, step by step"),
        None => "prepare this pair for PVRDMA, step by step".to_owned(),
    };
    others.push(begin(PREPARE, "new", &title));
    all.push(("Or".to_owned(), others));
    if let Some(symptom) = model.screen.wizard.walk.as_ref().and_then(Walking::symptom) {
        let about = model.screen.wizard.walk.as_ref().map(|walking| walking.about.words(model)).unwrap_or_default();
        let cells = vec![said(format!("{}: {about}", symptom.title))];
        all.push(("Begun".to_owned(), vec![row("begin again".to_owned(), "go on", cells)]));
    }
    all
}

fn walk_rows(model: &Model, walking: &Walking) -> Vec<(String, Vec<table::Row>)> {
    let all = walking::see(model, walking, |walk| {
        let open = asked::open(model, walking);
        vec![
            ("So far".to_owned(), vec![verdict(model, walking, walk, &open)]),
            ("Causes so far".to_owned(), causes(model, walking, walk)),
            (asked_title(&open), questions(model, &open)),
            ("Which port is it plugged into?".to_owned(), ports(model)),
            ("Steps".to_owned(), steps(model, walking, walk)),
            ("Not excluded yet".to_owned(), not_excluded(model, walking, walk)),
            ("You said (y, n, s change it)".to_owned(), answers(model)),
        ]
    });
    all.unwrap_or_default()
}

fn verdict(model: &Model, walking: &Walking, walk: &Walk<'_>, open: &[Open]) -> table::Row {
    let mut key = "verdict".to_owned();
    let cell = if let Some(gone) = walking.about.gone(model) {
        Cell::said(format!("{gone} is no longer in the inventory: Esc, then w on what is there"), Gravity::Warning)
    } else if let Some(cause) = walking::proof(walk, walking) {
        let judged = &cause.found.judged;
        let source = judged.evidence.first().and_then(|first| shown(model, first, Gravity::Bad).source);
        // What helps against it is asked for on this row, too.
        key = format!("{}-99", diagnosis::name(cause));
        let text = format!(
            "PROVED, and it explains this: {}. x shows what helps; Enter on a step that was not needed looks at it all the same",
            judged.title
        );
        Cell { source, ..Cell::said(text, Gravity::Bad) }
    } else if !walking.stopped {
        let step = walking.symptom().and_then(|symptom| symptom.steps.get(walking.at));
        Cell::said(format!("looking whether {}", step.map_or("", |step| step.title)), Gravity::Stale)
    } else if !walk.causes.is_empty() {
        Cell::said(
            "nothing is proved yet: the likeliest cause stands first, with what would settle it",
            Gravity::Warning,
        )
    } else if !asked::denied(model, walking).is_empty() {
        Cell::said("by your answers; no reading shows it", Gravity::Warning)
    } else if let Some(besides) = besides(model, walk) {
        Cell::said(besides, Gravity::Warning)
    } else if !open.is_empty() {
        Cell::said("nothing wrong was found in what can be read; what cannot be read is asked below", Gravity::Unknown)
    } else if walking.looked.iter().any(|looked| !looked.unread.is_empty()) {
        Cell::said(
            "nothing wrong was found in what could be read; not all of it could: see the steps",
            Gravity::Unknown,
        )
    } else {
        Cell::said(
            format!(
                "no step finds anything wrong on {}: this symptom comes from elsewhere",
                walking.about.words(model)
            ),
            Gravity::Good,
        )
    };
    row(key, "verdict", vec![cell])
}

/// What is known to be broken though no step of this symptom shows it: an all-clear beside it would be false.
fn besides(model: &Model, walk: &Walk<'_>) -> Option<String> {
    let diagnosed = model.diagnosed();
    let seen: Vec<String> = walk.causes.iter().map(|cause| diagnosis::name(cause)).collect();
    let broken: Vec<&Cause> = diagnosed
        .diagnosis
        .causes
        .iter()
        .filter(|cause| cause.found.judged.status == Status::Fail && !seen.contains(&diagnosis::name(cause)))
        .collect();
    let first = broken.first()?;
    let more = match broken.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(format!(
        "these steps find nothing wrong, but this is known besides: {}{more} (Esc, then 6: it comes first there)",
        first.found.judged.title
    ))
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Proved => "proved",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

fn causes(model: &Model, walking: &Walking, walk: &Walk<'_>) -> Vec<table::Row> {
    let mut rows = Vec::new();
    for (place, cause) in walk.causes.iter().enumerate() {
        let name = diagnosis::name(cause);
        rows.push(cause_row(model, cause, &name, place));
        if model.screen.wizard.opened.as_ref() == Some(&name) {
            rows.extend(diagnosis::cause_detail(model, cause, place + 1));
        }
    }
    for (place, answer) in asked::denied(model, walking).into_iter().enumerate() {
        let cells = vec![
            Cell::said(format!("you said no to: {}", answer.text), Gravity::Warning),
            said("for 1 (your word), against 0"),
        ];
        rows.push(row(format!("denied-{place}"), confidence(Confidence::Likely), cells));
    }
    rows
}

fn cause_row(model: &Model, cause: &Cause, name: &str, place: usize) -> table::Row {
    let judged = &cause.found.judged;
    let source = judged.evidence.first().and_then(|first| shown(model, first, Gravity::Bad).source);
    let mut cells = vec![
        Cell { source, ..Cell::said(&judged.title, diagnosis::gravity(judged.status)) },
        said(format!("for {}, against {}", judged.evidence.len() + cause.symptoms.len(), judged.against.len())),
    ];
    if !judged.decide.is_empty() && judged.confidence != Confidence::Proved {
        cells.push(said(format!("settled by: {}", judged.decide)));
    }
    row(format!("{name}-{place}"), confidence(judged.confidence), cells)
}

/// The name of the cause that a finding is, or belongs to.
pub(super) fn cause_of(model: &Model, found: &Found) -> Option<String> {
    let is_same = |one: &Found| one.check.id == found.check.id && one.judged.subject == found.judged.subject;
    let diagnosed = model.diagnosed();
    let mut causes = diagnosed.diagnosis.causes.iter();
    causes.find(|cause| is_same(&cause.found) || cause.symptoms.iter().any(is_same)).map(diagnosis::name)
}

fn asked_title(open: &[Open]) -> String {
    match open.len() {
        1 => "Question (y yes, n no, p paste, s skip)".to_owned(),
        more => format!("Questions, {more} (y yes, n no, p paste, s skip)"),
    }
}

/// The beginning of the keys of the rows of a question.
fn question_name(open: &Open) -> String {
    format!("ask {} {}", open.check, open.subject)
}

fn questions(model: &Model, open: &[Open]) -> Vec<table::Row> {
    let mut rows = Vec::new();
    let selected = match &model.screen.wizard.rows.selected {
        Some(RowKey::Entity(_, word)) => word.rsplit_once('-').map_or("", |(name, _)| name),
        _ => "",
    };
    let names: Vec<String> = open.iter().map(question_name).collect();
    let shown = names.iter().find(|name| *name == selected).or(names.first()).cloned().unwrap_or_default();
    for one in open {
        let name = question_name(one);
        let mut cells = vec![Cell::said(&one.text, Gravity::Warning)];
        if !one.why.is_empty() {
            cells.push(said(&one.why));
        }
        rows.push(row(format!("{name}-0"), "asked", cells));
        // One question at a time has its commands: the selected one, else the first.
        if name != shown {
            continue;
        }
        let commands = pasted::commands(model, one.check, &one.subject);
        for (system, command) in &commands {
            rows.push(row(format!("{name}-{}", system.name()), pasted::maker(*system), vec![said(command)]));
        }
        if commands.is_empty() && !one.decide.is_empty() {
            rows.push(row(format!("{name}-1"), "would tell", vec![said(&one.decide)]));
        }
    }
    rows
}

fn ports(model: &Model) -> Vec<table::Row> {
    let mut rows = Vec::new();
    for (uplink, ports) in pasted::unplugged(model) {
        let text = format!(
            "what was pasted shows {} ports: on which of them is {} of {}? (Enter on it)",
            ports.len(),
            uplink.entity.name(),
            uplink.target
        );
        rows.push(row(format!("plug {uplink}"), "asked", vec![Cell::said(text, Gravity::Warning)]));
        rows.extend(ports.iter().map(|port| row(format!("port {uplink} {port}"), "port", vec![said(port)])));
    }
    rows
}

/// How a step stands.
fn state_of(model: &Model, walking: &Walking, walked: &Walked<'_>, place: usize) -> StepState {
    if walking.is_reading(place) {
        return StepState::Running;
    }
    if walking.looked_at(place).is_none() {
        return if walking.stopped || walking.alone { StepState::NotNeeded } else { StepState::Waits };
    }
    if walked.standing != Standing::Found && walking::excluded(model, walking, walked.step).is_some() {
        return StepState::Excluded;
    }
    // What is answered is open no longer; the user's word alone finds, and it excludes.
    if walked.standing == Standing::Open {
        let unknown = || walked.found.iter().filter(|found| found.judged.status == Status::Unknown);
        let answer =
            |found: &Found| asked::answer_to(model, found.check.id, &found.judged.subject).map(|answer| answer.said);
        if unknown().any(|found| answer(found) == Some(Said::No)) {
            return StepState::Seen(Standing::Found);
        }
        if unknown().all(|found| answer(found) == Some(Said::Yes)) {
            return StepState::Seen(Standing::Excluded);
        }
    }
    // What was read before a target was lost is no proof of now.
    let is_lost = walking.looked_at(place).is_some_and(|looked| !looked.unread.is_empty());
    if walked.standing == Standing::Excluded && is_lost {
        return StepState::Seen(Standing::Partly);
    }
    StepState::Seen(walked.standing)
}

fn gravity_of(state: StepState) -> Gravity {
    match state {
        StepState::Seen(Standing::Found) => Gravity::Bad,
        StepState::Seen(Standing::Excluded) => Gravity::Good,
        StepState::Seen(Standing::Open | Standing::Partly) => Gravity::Unknown,
        StepState::Running | StepState::Seen(Standing::Running) => Gravity::Stale,
        StepState::Seen(Standing::Skipped) | StepState::Waits | StepState::NotNeeded | StepState::Excluded => {
            Gravity::Neutral
        }
    }
}

/// Where what a step rests on was read: what shows it, else the newest output that its checks look at.
fn source_of(model: &Model, walking: &Walking, walked: &Walked<'_>) -> Option<Origin> {
    let by_evidence = walked
        .found
        .iter()
        .filter_map(|found| found.judged.evidence.first())
        .find_map(|exhibit| shown(model, exhibit, Gravity::Neutral).source);
    by_evidence.or_else(|| {
        let targets = about::targets(model, &walking.about);
        targets.iter().find_map(|target| {
            walking::probes(model, target, walked.step).iter().find_map(|probe| {
                let read = model
                    .raw
                    .all_newest()
                    .find(|read| read.target == *target && read.source.as_str().starts_with(probe.as_str()))?;
                Some(Origin::Line(read.reference(), 0))
            })
        })
    })
}

fn steps(model: &Model, walking: &Walking, walk: &Walk<'_>) -> Vec<table::Row> {
    let mut rows = Vec::new();
    for (place, walked) in walk.steps.iter().enumerate() {
        let state = state_of(model, walking, walked, place);
        rows.push(step_row(model, walking, walked, place, state));
        let is_trouble =
            |status: Status| matches!(status, Status::Fail | Status::Warn) && state == StepState::Seen(Standing::Found);
        for (number, found) in walked.found.iter().filter(|found| is_trouble(found.judged.status)).enumerate() {
            let source = found.judged.evidence.first().and_then(|first| shown(model, first, Gravity::Neutral).source);
            let cell = Cell { source, ..Cell::said(&found.judged.title, diagnosis::gravity(found.judged.status)) };
            let name = cause_of(model, found).unwrap_or_else(|| "found".to_owned());
            rows.push(row(format!("{name}-{}", 1000 + place * 100 + number), "shows", vec![cell]));
        }
    }
    rows
}

fn step_row(model: &Model, walking: &Walking, walked: &Walked<'_>, place: usize, state: StepState) -> table::Row {
    let source = match state {
        StepState::Seen(_) | StepState::Running => source_of(model, walking, walked),
        StepState::Waits | StepState::NotNeeded | StepState::Excluded => None,
    };
    let title = format!("{}. {}", place + 1, walked.step.title);
    let mut cells = vec![Cell { source, ..Cell::said(title, gravity_of(state)) }];
    let count = |wanted: &[Status]| walked.found.iter().filter(|found| wanted.contains(&found.judged.status)).count();
    match state {
        StepState::Running => {
            let names: Vec<&str> = walking.reading.iter().map(|reading| reading.target.as_str()).collect();
            cells.push(Cell::said(format!("reading {}", names.join(", ")), Gravity::Stale));
        }
        StepState::Excluded => {
            cells.push(said(walking::excluded(model, walking, walked.step).unwrap_or_default()));
        }
        StepState::NotNeeded | StepState::Waits => match count(&[Status::Fail, Status::Warn]) {
            0 => {}
            1 => cells.push(Cell::said("1 finding there", Gravity::Warning)),
            more => cells.push(Cell::said(format!("{more} findings there"), Gravity::Warning)),
        },
        StepState::Seen(Standing::Skipped) => cells.push(said("nothing here that it applies to")),
        StepState::Seen(standing) => {
            let by_word = walked.standing == Standing::Open && standing != Standing::Open;
            if by_word {
                cells.push(said("as you said"));
            }
            let targets: std::collections::BTreeSet<_> =
                walked.found.iter().map(|found| found.judged.subject.target.clone()).collect();
            if standing == Standing::Partly && !walked.unseen().is_empty() {
                cells.push(said(format!("nothing was seen of: {}", walked.unseen().join(", "))));
            }
            if standing != Standing::Excluded || model.screen.columns >= WIDE {
                cells.push(said(about::listed(model, &targets)));
            }
            if model.screen.columns >= WIDE && standing == Standing::Excluded && !by_word {
                let passed = count(&[Status::Pass, Status::Info]);
                cells.push(said(if passed == 1 { "1 passes".to_owned() } else { format!("{passed} pass") }));
            }
            if let Some(took) = walking::took(model, walking, walked.step) {
                cells.push(said(format::duration(took)));
            }
        }
    }
    for (target, why) in walking.looked_at(place).map_or(&[][..], |looked| &looked.unread) {
        cells.push(Cell::said(format!("{target} was not read: {why}"), Gravity::Unknown));
    }
    row(format!("step-{place}"), state.words(), cells)
}

fn not_excluded(model: &Model, walking: &Walking, walk: &Walk<'_>) -> Vec<table::Row> {
    let mut rows = Vec::new();
    for (place, walked) in walk.steps.iter().enumerate() {
        let state = state_of(model, walking, walked, place);
        if state != StepState::Seen(Standing::Open) {
            continue;
        }
        // What is asked stands among the questions.
        let is_told = |one: &&&Found| {
            one.judged.status == Status::Unknown
                && (one.judged.lack != Some(Lack::NotObservable)
                    || asked::answer_to(model, one.check.id, &one.judged.subject).is_some())
        };
        for (number, found) in walked.found.iter().filter(is_told).enumerate() {
            let cells = vec![
                Cell::said(&found.judged.title, Gravity::Unknown),
                said(format!("would tell: {}", found.judged.decide)),
            ];
            rows.push(row(format!("lacks-{place}-{number}"), &format!("step {}", place + 1), cells));
        }
    }
    rows
}

fn answers(model: &Model) -> Vec<table::Row> {
    let all = model.screen.wizard.answers.iter().enumerate();
    all.map(|(place, answer)| {
        let mut cells =
            vec![said(&answer.text), said(format!("said by you at {}", answer.at.strftime("%H:%M:%S UTC")))];
        if let Some(words) = asked::contradiction(model, answer) {
            cells.push(Cell::said(words, Gravity::Warning));
        }
        row(format!("answer-{place}"), answer.said.word(), cells)
    })
    .collect()
}

/// What the selected row stands for.
pub fn chosen(model: &Model) -> Row {
    let Some((row, _)) = table::selected(model) else { return Row::Other };
    let RowKey::Entity(_, word) = &row.key else { return Row::Other };
    if let Some(name) = word.strip_prefix("begin ") {
        return Row::Begin(name.to_owned());
    }
    let number = |prefix: &str| word.strip_prefix(prefix)?.parse::<usize>().ok();
    if let Some(step) = number("step-") {
        return Row::Step(step);
    }
    if let Some(place) = number("answer-") {
        return Row::Answer(place);
    }
    if word.starts_with("port ") {
        let all = pasted::unplugged(model).into_iter();
        let mut all = all.flat_map(|(uplink, ports)| ports.into_iter().map(move |port| (uplink.clone(), port)));
        let found = all.find(|(uplink, port)| **word == format!("port {uplink} {port}"));
        return found.map_or(Row::Other, |(uplink, port)| Row::Port(uplink, port));
    }
    let Some((name, last)) = word.rsplit_once('-') else { return Row::Other };
    if name.starts_with("ask ") {
        let open = model.screen.wizard.walk.as_ref().map(|walking| asked::open(model, walking)).unwrap_or_default();
        let system = SwitchSystem::ALL.into_iter().find(|system| system.name() == last);
        let found = open.into_iter().find(|one| question_name(one) == name);
        return found.map_or(Row::Other, |open| Row::Question(open, system));
    }
    // The first row of a cause; those of what shows it lead to where that was read.
    let is_cause = last.parse::<usize>().is_ok_and(|place| place < 100);
    let diagnosed = model.diagnosed();
    if is_cause && diagnosed.diagnosis.causes.iter().any(|cause| diagnosis::name(cause) == name) {
        return Row::Cause(name.to_owned());
    }
    Row::Other
}

/// The key of the first row of the first open question.
pub fn first_question(model: &Model) -> Option<RowKey> {
    let walking = model.screen.wizard.walk.as_ref()?;
    let open = asked::open(model, walking);
    let first = open.first()?;
    Some(RowKey::Entity(Entity::Guest, format!("{}-0", question_name(first)).into()))
}
