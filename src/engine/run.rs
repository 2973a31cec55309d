//! The engine at work: one poller a target, the clock, and the questions, on a small runtime of their own.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::plan::{Options, TargetPlan, Way};
use super::questions::Questions;
use super::{bench, change, hook, offline};
use crate::app::alerts::AlertNews;
use crate::app::change::ChangeAsked;
use crate::app::tune::BenchAsked;
use crate::app::{Connection, Effect, Message, Problem};
use crate::collect;
use crate::collect::change::Request;
use crate::collect::connectors::{LocalConnector, SshConnector};
use crate::collect::esxtop;
use crate::collect::link::Connector;
use crate::collect::nvml;
use crate::collect::poller::{self, Command, Poller};
use crate::collect::transport::Call;
use crate::fabric::{TargetId, Timestamp};
use crate::probe::privilege::Become;

/// How many messages may wait for their consumer.
const WAITING_MESSAGES: usize = 256;

/// How many requests to one poller may wait. More would ask for the same once more.
const WAITING_COMMANDS: usize = 4;

/// How many questions may wait to be asked.
const WAITING_QUESTIONS: usize = 16;

/// How long the end may take.
const END_DEADLINE: Duration = Duration::from_millis(200);

/// Threads for SSH and parsing.
const WORKERS: usize = 2;

/// Starts engines.
#[derive(Clone, Copy, Debug)]
pub struct Engine;

/// A running engine. Dropping it ends it at once; [`EngineHandle::shutdown`] ends it in good order.
#[derive(Debug)]
pub struct EngineHandle {
    runtime: Option<Runtime>,
    tasks: TaskTracker,
    cancelled: CancellationToken,
    followed: Mutex<BTreeMap<TargetId, Followed>>,
    questions: Questions,
    options: Options,
    messages: mpsc::Sender<Message>,
    asker: mpsc::Sender<Call>,
    alerts: mpsc::Sender<AlertNews>,
    /// Benchmarks by their numbers: what ends each, and its task.
    benches: Mutex<BTreeMap<u64, (CancellationToken, JoinHandle<()>)>>,
}

/// A target that is followed.
#[derive(Debug)]
struct Followed {
    commands: mpsc::Sender<Command>,
    /// Of a target that can be changed.
    requests: Option<mpsc::Sender<Request>>,
    /// Of a target that may be a host which can be watched.
    watched: Option<watch::Sender<esxtop::Wanted>>,
    cancelled: CancellationToken,
    /// How it is reached, of one that is reached over SSH.
    plan: Option<TargetPlan>,
}

impl Engine {
    /// Starts a poller for each target. All that happens comes as messages, in the order in which it is to be consumed.
    /// Fails only if the system gives no threads.
    pub fn start(targets: Vec<TargetPlan>, options: &Options) -> io::Result<(EngineHandle, mpsc::Receiver<Message>)> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("rdmascope-collect")
            .enable_all()
            .build()?;
        let (messages, receiver) = mpsc::channel(WAITING_MESSAGES);
        let (asker, asked) = mpsc::channel(WAITING_QUESTIONS);
        let (tasks, cancelled) = (TaskTracker::new(), CancellationToken::new());
        let questions = Questions::default();
        let on = runtime.handle();
        tasks.spawn_on(questions.clone().run(asked, messages.clone(), cancelled.clone()), on);
        tasks.spawn_on(clock(messages.clone(), cancelled.clone()), on);
        let (alerts, told) = mpsc::channel(hook::WAITING);
        tasks.spawn_on(hook::serve(options.hook.clone(), told, messages.clone(), cancelled.clone()), on);
        let handle = EngineHandle {
            runtime: Some(runtime),
            tasks,
            cancelled,
            followed: Mutex::default(),
            questions,
            options: options.clone(),
            messages,
            asker,
            alerts,
            benches: Mutex::default(),
        };
        for plan in targets {
            handle.open(plan);
        }
        Ok((handle, receiver))
    }
}

impl EngineHandle {
    /// Follows one more target; one of that name that is followed already is closed first.
    pub fn open(&self, TargetPlan { id, way, by }: TargetPlan) {
        self.close(&id);
        let Some(on) = self.runtime.as_ref().map(Runtime::handle) else { return };
        match way {
            Way::Refused(problem) => {
                let connection = Connection::Failed { problem };
                let message = Message::Connection { target: id, at: Timestamp::now(), connection };
                let messages = self.messages.clone();
                self.tasks.spawn_on(async move { drop(messages.send(message).await) }, on);
            }
            Way::Saved(path) => {
                let (sender, commands) = mpsc::channel(WAITING_COMMANDS);
                let cancelled = self.cancelled.child_token();
                let (messages, options) = (self.messages.clone(), self.options.clone());
                let showing = offline::show(id.clone(), path, options, messages, commands, cancelled.clone());
                self.tasks.spawn_on(showing, on);
                self.followed()
                    .insert(id, Followed { commands: sender, requests: None, watched: None, cancelled, plan: None });
            }
            Way::Local => {
                self.poll(on, id.clone(), LocalConnector::new(by), None);
                self.read_gpus(on, id);
            }
            Way::Ssh { resolve, known } => {
                let plan = TargetPlan { id: id.clone(), way: Way::Ssh { resolve: resolve.clone(), known }, by };
                let connector = SshConnector::new(id.clone(), resolve, Some(self.asker.clone()), known, by);
                self.poll(on, id, connector, Some(plan));
            }
        }
    }

    /// Follows a target no longer: its connection is closed in good order, and what it had asked is withdrawn.
    pub fn close(&self, target: &TargetId) {
        if let Some(followed) = self.followed().remove(target) {
            followed.cancelled.cancel();
        }
    }

    /// Follows the GPUs of this machine for as long as it is followed itself.
    fn read_gpus(&self, on: &tokio::runtime::Handle, id: TargetId) {
        let Some(cancelled) = self.followed().get(&id).map(|followed| followed.cancelled.clone()) else { return };
        let settings = nvml::Settings::new(self.options.period, self.options.gpu_library.clone());
        self.tasks.spawn_on(nvml::follow(id, settings, self.messages.clone(), cancelled), on);
    }

    fn followed(&self) -> MutexGuard<'_, BTreeMap<TargetId, Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll<C: Connector>(&self, on: &tokio::runtime::Handle, id: TargetId, connector: C, plan: Option<TargetPlan>) {
        let (sender, commands) = mpsc::channel(WAITING_COMMANDS);
        let cancelled = self.cancelled.child_token();
        let Options { probes, esxi, period, sparing, .. } = self.options.clone();
        let options = poller::Options { probes, esxi, period, sparing };
        let poller = Poller::new(id.clone(), connector, options, self.messages.clone(), commands, cancelled.clone());
        let (requests, received) = mpsc::channel(collect::change::WAITING);
        let (watched, wanted) = watch::channel(None);
        self.tasks.spawn_on(poller.serving(received).watching(wanted).run(), on);
        let followed = Followed { commands: sender, requests: Some(requests), watched: Some(watched), cancelled, plan };
        self.followed().insert(id, followed);
    }

    /// Does what `update` asked for, as far as it concerns targets; true if it did. The screen's own effects are not
    /// the engine's.
    pub fn run(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Reconnect(target) => self.command(target, Command::Reconnect),
            Effect::ReadNow(target) => self.command(target, Command::ReadNow),
            Effect::Answer { id, answer } => self.questions.answer(*id, answer.clone()),
            Effect::Watch { target, period } => self.watch(target, *period),
            Effect::Close(target) => self.close(target),
            Effect::Change(asked) => self.change(asked),
            Effect::Bench(asked) => self.bench(asked),
            Effect::Alert(news) => {
                // Where so many wait, the hook does not keep up; it is told of how many it missed.
                if self.alerts.try_send((**news).clone()).is_err() {
                    self.options.hook.miss();
                }
            }
            Effect::TakesAnswer => {}
            Effect::Quit
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Copy { .. }
            | Effect::Fault { .. }
            | Effect::Reload
            | Effect::EditConfiguration
            | Effect::Open(_)
            | Effect::KeepHealthy(_)
            | Effect::Notify { .. }
            | Effect::Replay(_) => return false,
        }
        true
    }

    /// Begins or ends a benchmark; what comes of it are messages.
    fn bench(&self, asked: &BenchAsked) {
        let Some(on) = self.runtime.as_ref().map(Runtime::handle) else { return };
        let mut benches = self.benches.lock().unwrap_or_else(PoisonError::into_inner);
        benches.retain(|_, (_, task)| !task.is_finished());
        let (number, plan) = match asked {
            BenchAsked::Start { number, plan } => (*number, plan),
            BenchAsked::Stop { number } => {
                if let Some((stop, _)) = benches.get(number) {
                    stop.cancel();
                }
                return;
            }
        };
        let plan_of = |target: &TargetId| {
            let followed = self.followed();
            let known = followed.get(target).and_then(|followed| followed.plan.clone());
            let unknown = || Way::Refused(Problem::new("is not reached over SSH", "benchmarks need that", ""));
            known.unwrap_or_else(|| TargetPlan { id: target.clone(), way: unknown(), by: Become::default() })
        };
        let guests = [&plan.pair.server.target, &plan.pair.client.target].map(plan_of);
        let stop = self.cancelled.child_token();
        let (asker, messages) = (self.asker.clone(), self.messages.clone());
        let serving = bench::console::serve(number, (**plan).clone(), guests, asker, messages, stop.clone());
        let task = self.tasks.spawn_on(serving, on);
        benches.insert(number, (stop, task));
    }

    /// A step of a change; what comes of it is a message.
    fn change(&self, asked: &ChangeAsked) {
        let Some(on) = self.runtime.as_ref().map(Runtime::handle) else { return };
        let requests = match asked {
            ChangeAsked::ReadAgain { target, .. } | ChangeAsked::Run { target, .. } => {
                self.followed().get(target).and_then(|followed| followed.requests.clone())
            }
            ChangeAsked::Note { .. } | ChangeAsked::Export { .. } => None,
        };
        let step = change::step(asked.clone(), self.options.audit.clone(), requests, self.messages.clone());
        self.tasks.spawn_on(step, on);
    }

    /// Watches a host, or no longer.
    fn watch(&self, target: &TargetId, period: esxtop::Wanted) {
        if let Some(watched) = self.followed().get(target).and_then(|followed| followed.watched.as_ref()) {
            watched.send_replace(period);
        }
    }

    fn command(&self, target: &TargetId, command: Command) {
        if let Some(followed) = self.followed().get(target) {
            // Where several requests wait already, one more says nothing new.
            let _ = followed.commands.try_send(command);
        }
    }

    /// Closes all connections in good order and ends; takes at most a fifth of a second.
    pub fn shutdown(mut self) {
        self.cancelled.cancel();
        self.tasks.close();
        if let Some(runtime) = self.runtime.take() {
            end(runtime, &self.tasks, END_DEADLINE);
        }
    }
}

/// Waits until tasks that were told to end have done so, at most for a while, and ends their runtime.
pub fn end(runtime: Runtime, tasks: &TaskTracker, deadline: Duration) {
    // Not `block_on`: the caller may be in a runtime of its own.
    let (done, waited) = std::sync::mpsc::channel();
    let tasks = tasks.clone();
    runtime.spawn(async move {
        tasks.wait().await;
        let _ = done.send(());
    });
    let _ = waited.recv_timeout(deadline);
    // A thread that hangs in a driver must not keep the program from ending.
    runtime.shutdown_background();
}

impl Drop for EngineHandle {
    fn drop(&mut self) {
        self.cancelled.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Says the time at each full second. A tick that finds no room is not said: the next one says more.
async fn clock(messages: mpsc::Sender<Message>, cancelled: CancellationToken) {
    loop {
        let now = Timestamp::now();
        if let Err(mpsc::error::TrySendError::Closed(_)) = messages.try_send(Message::Clock(now)) {
            return;
        }
        let past = u64::try_from(now.subsec_nanosecond()).unwrap_or(0) / 1_000_000;
        tokio::select! {
            () = cancelled.cancelled() => return,
            () = tokio::time::sleep(Duration::from_millis(1000 - past.min(999))) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use crate::app::Problem;
    use crate::probe::privilege::Become;
    use crate::probe::{Pace, Probe, Read, Rhythm, Source};

    const PROBES: &[Probe] = &[Probe {
        name: "test.uptime",
        title: "",
        privilege_adds: "",
        pace: Pace::Slow,
        rhythm: Rhythm::PACE,
        sources: &[Source { name: "test.uptime", read: Read::Files(&["/proc/uptime"]) }],
        parse: |_| vec![],
    }];

    fn options() -> Options {
        Options { probes: Arc::from(PROBES), period: Duration::from_millis(20), ..Options::default() }
    }

    fn until(messages: &mut mpsc::Receiver<Message>, mut wanted: impl FnMut(&Message) -> bool) -> Message {
        loop {
            let message = messages.blocking_recv().expect("the engine lives");
            if wanted(&message) {
                return message;
            }
        }
    }

    #[test]
    fn this_machine_is_read_sampled_and_read_again_on_request() {
        let id = TargetId::new("local");
        let plan = TargetPlan { id: id.clone(), way: Way::Local, by: Become::None };
        let (engine, mut messages) = Engine::start(vec![plan], &options()).expect("threads");
        let Message::Report { report, .. } = until(&mut messages, |message| matches!(message, Message::Report { .. }))
        else {
            panic!("no report")
        };
        assert!(report.observations[0].stdout.starts_with("/proc/uptime:"));
        until(&mut messages, |message| matches!(message, Message::Sample(_)));
        assert!(engine.run(&Effect::ReadNow(id)));
        until(&mut messages, |message| matches!(message, Message::Report { .. }));
        until(&mut messages, |message| matches!(message, Message::Clock(_)));
        assert!(!engine.run(&Effect::Redraw));
        let asked = Instant::now();
        engine.shutdown();
        assert!(asked.elapsed() < Duration::from_secs(5));
        while messages.blocking_recv().is_some() {}
    }

    #[test]
    fn what_cannot_be_read_says_so_and_is_left_alone() {
        let plan = TargetPlan {
            id: TargetId::new("esx1"),
            way: Way::Refused(Problem::new("not read", "", "")),
            by: Become::None,
        };
        let (engine, mut messages) = Engine::start(vec![plan], &options()).expect("threads");
        let message = until(&mut messages, |message| matches!(message, Message::Connection { .. }));
        assert!(matches!(message, Message::Connection { connection: Connection::Failed { .. }, .. }), "{message:?}");
        engine.run(&Effect::Reconnect(TargetId::new("esx1")));
        engine.shutdown();
    }

    #[test]
    fn a_configuration_that_cannot_be_honoured_is_a_problem_of_its_target() {
        let resolve: crate::collect::connectors::Resolve =
            Arc::new(|| Box::pin(async { Err(Problem::new("ProxyCommand is not supported", "", "")) }));
        let plan = TargetPlan {
            id: TargetId::new("a"),
            way: Way::Ssh { resolve, known: Some(crate::collect::kind::System::Linux) },
            by: Become::None,
        };
        let (engine, mut messages) = Engine::start(vec![plan], &options()).expect("threads");
        let failed = until(&mut messages, |message| {
            matches!(message, Message::Connection { connection: Connection::Failed { .. }, .. })
        });
        let Message::Connection { connection: Connection::Failed { problem }, .. } = failed else { panic!() };
        assert_eq!(problem.what, "ProxyCommand is not supported");
        engine.shutdown();
    }

    #[test]
    fn targets_come_and_go_while_it_runs() {
        let (engine, mut messages) = Engine::start(vec![], &options()).expect("threads");
        let id = TargetId::new("local");
        let is_up =
            |message: &Message| matches!(message, Message::Connection { connection: Connection::Connected { .. }, .. });
        engine.open(TargetPlan { id: id.clone(), way: Way::Local, by: Become::None });
        until(&mut messages, is_up);
        engine.open(TargetPlan { id: id.clone(), way: Way::Local, by: Become::None });
        until(&mut messages, is_up);
        assert_eq!(engine.followed().len(), 1, "one of a name");
        engine.run(&Effect::Close(id.clone()));
        assert!(engine.followed().is_empty());
        engine.run(&Effect::ReadNow(id)); // nobody is there to be asked, and that is all
        engine.shutdown();
    }

    #[tokio::test]
    async fn it_ends_within_a_runtime_whose_consumer_is_gone() {
        let plan = TargetPlan { id: TargetId::new("local"), way: Way::Local, by: Become::None };
        let (engine, messages) = Engine::start(vec![plan], &options()).expect("threads");
        drop(messages);
        engine.shutdown();
        let (engine, mut messages) = Engine::start(vec![], &options()).expect("threads");
        drop(engine);
        while messages.recv().await.is_some() {}
    }
}
