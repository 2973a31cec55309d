//! The shells by which an ESXi host is read side by side: what they ask for, wait for and are charged, and what a host that
//! refuses one is told to be.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::esxi::{COMMAND, HOST_PROBES, Host, NICS, programs, shells};
use super::*;
use crate::app::change::ChangeNews;
use crate::collect::change::{self, Progress, Request, What};
use crate::collect::esxcli::QUESTION;
use crate::collect::link::{Link as _, Remote};
use crate::collect::rounds::Sequence;
use crate::collect::shell::{ESXI_BATCH_DEADLINE, ShellLink};
use crate::collect::testing::{Act, Behaviour, Fake};
use crate::collect::transport::{Exec, TransportError};
use crate::collect::work::Work;
use crate::fabric::{Outcome, Text};

#[tokio::test]
async fn a_list_is_asked_for_once_and_told_to_all_shells_that_need_it() {
    let folder = programs("echo \"$*\" >>\"${0%/*}/log\"", "");
    let log = folder.path().join("log");
    let own = |name: &str| {
        let all = crate::probe::esxi::PROBES.iter().flat_map(|probe| probe.sources);
        *all.into_iter().find(|source| source.name == name).expect("there")
    };
    let sources = ["esxi.nic-list", "esxi.nic-get", "esxi.nic-dcb", "esxi.nic-stats", "esxi.rdma-vmknics"].map(own);
    for shell in shells() {
        let _ = std::fs::remove_file(&log);
        let link = ShellLink::esxi(Host::new(shell, folder.path()));
        let (sender, mut sections) = mpsc::channel(64);
        assert_eq!(link.batch(&sources, &sender, &Work::default()).await, Ok(()), "{shell:?}");
        drop(sender);
        let mut read = BTreeMap::new();
        while let Some(section) = sections.recv().await {
            assert_eq!(section.outcome, Outcome::Exit(0), "{shell:?}");
            read.insert(section.index, String::from_utf8(section.stdout).expect("text"));
        }
        assert_eq!(read.len(), sources.len(), "{shell:?}");
        assert_eq!(read[&0], NICS, "{shell:?}");
        for place in [1, 2, 3] {
            let items = read[&place].lines().filter(|line| line.starts_with("@item ")).collect::<Vec<_>>();
            assert_eq!(items, ["@item vmnic0", "@item vmnic1", "@item vusb0"], "{shell:?}: {}", read[&place]);
            assert!(read[&place].contains("got <vmnic1>"), "{shell:?}: {}", read[&place]);
        }
        let asked = std::fs::read_to_string(&log).expect("a log");
        assert_eq!(asked.lines().filter(|line| *line == "network nic list").count(), 1, "{shell:?}: {asked}");
        // It is known for a while; when somebody asks it is read again.
        let again = async |link: &ShellLink<Host>| {
            let (sender, _sections) = mpsc::channel(64);
            assert_eq!(link.batch(&sources[1..2], &sender, &Work::default()).await, Ok(()));
            let asked = std::fs::read_to_string(&log).expect("a log");
            asked.lines().filter(|line| *line == "network nic list").count()
        };
        assert_eq!(again(&link).await, 1, "{shell:?}");
        link.try_again();
        assert_eq!(again(&link).await, 2, "{shell:?}");
    }
}

/// A connection on which a shell has to wait for its turn, to a host that never answers.
struct Late(Fake);

/// How long it waits.
const TURN: Duration = Duration::from_secs(5);

impl Remote for Late {
    async fn exec(&self, command: &str) -> Result<Exec, TransportError> {
        sleep(TURN).await;
        self.0.exec(command).await
    }

    async fn closed(&self) -> Text {
        self.0.closed().await
    }

    fn described(&self) -> Text {
        self.0.described()
    }

    async fn close(self) {}
}

fn hangs() -> ShellLink<Late> {
    ShellLink::esxi(Late(Fake::new(&Behaviour::of([Act::Hang, Act::Hang, Act::Hang, Act::Hang]))))
}

/// Sources that are worth so many shells, and that no tool has to be timed for.
fn by_agent(count: usize) -> Vec<Source> {
    let read = Read::Command { argv: &[Word::Plain("vim-cmd"), Word::Plain("no/such")], keep: None };
    vec![Source { name: "test.agent", read }; count]
}

#[tokio::test(start_paused = true)]
async fn what_a_host_works_is_the_sum_of_its_shells_from_when_they_began() {
    let link = hangs();
    let (sender, _sections) = mpsc::channel(16);
    let work = Work::default();
    assert!(link.batch(&by_agent(4), &sender, &work).await.is_err());
    assert_eq!(work.take(), ESXI_BATCH_DEADLINE * 2, "what it waits for is none of it");
    // Who brings a meter of its own is charged for its own.
    let (own, other) = (Work::default(), Work::default());
    let (few, many) = (by_agent(1), by_agent(1));
    let _ = tokio::join!(link.batch(&few, &sender, &own), async {
        let many = link.batch(&many, &sender, &other);
        tokio::time::timeout(TURN + COMMAND, many).await
    });
    assert_eq!((own.take(), other.take()), (ESXI_BATCH_DEADLINE, COMMAND), "also where it is given up");
}

#[tokio::test(start_paused = true)]
async fn what_is_read_on_demand_is_charged_besides_and_ends_with_who_asked() {
    let probe = Probe { sources: &[QUESTION], ..HOST_PROBES[0] };
    let link = hangs();
    let (messages, _console) = mpsc::channel(64);
    let outlet = crate::collect::outlet::Outlet::new(TargetId::new("esx"), messages);
    let (sequence, work) = (Sequence::default(), Work::default());
    let (requests, mut received) = mpsc::channel(change::WAITING);
    let ask = |names: &[&str]| {
        let what = What::ReadAgain(names.iter().map(|name| (*name).to_owned()).collect());
        let (reply, answer) = oneshot::channel();
        requests.try_send(Request { what, reply, progress: Progress::default() }).expect("there is room");
        answer
    };
    let probes = [probe];
    let serving = change::serve(&link, &probes, &outlet, &sequence, &work, &mut received);
    let asking = async {
        let given_up = ask(&["test.host"]);
        sleep(TURN + COMMAND).await;
        drop(given_up);
        ask(&["test.elsewhere"]).await.expect("an answer at once")
    };
    let began = Instant::now();
    let news = tokio::select! {
        () = serving => panic!("it serves as long as it is connected"),
        news = asking => news,
    };
    assert_eq!(began.elapsed(), TURN + COMMAND);
    assert!(matches!(news, ChangeNews::ReadAgain(Err(_))), "{news:?}");
    assert_eq!(work.take(), COMMAND * 2, "both programs are timed, side by side");
}

#[tokio::test]
async fn a_host_that_allows_one_shell_is_timed_by_one_after_the_other() {
    let behaviour =
        Behaviour::of([Act::Run, Act::Refuse(TransportError::ChannelRefused(Text::new("no more sessions")))]);
    let link = ShellLink::esxi(Fake::new(&behaviour));
    let (sender, _sections) = mpsc::channel(64);
    assert_eq!(link.batch(&[QUESTION], &sender, &Work::default()).await, Ok(()));
    assert_eq!(behaviour.commands().len(), 4, "two that are timed, one of them once more, and the batch");
}

#[tokio::test]
async fn a_host_that_refuses_a_second_shell_is_told_and_tried_again_when_asked() {
    let refuse = || Act::Refuse(TransportError::ChannelRefused(Text::new("no more sessions")));
    let behaviour = Behaviour::of([Act::Run, refuse()]);
    let link = ShellLink::esxi(Fake::new(&behaviour));
    let (target, sequence, work) = (TargetId::new("esx"), Sequence::default(), Work::default());
    let sources = by_agent(4);
    let (sender, mut sections) = mpsc::channel(64);
    // How many shells were begun, and how many sources were read.
    let mut begun = 0;
    let mut shells = || {
        let now = behaviour.commands().len();
        now - std::mem::replace(&mut begun, now)
    };
    let told = || link.news(&target, &sequence).into_iter().filter_map(|news| news.refusal).collect::<Vec<_>>();
    assert_eq!(link.batch(&sources, &sender, &work).await, Ok(()));
    assert_eq!(shells(), 3, "two, of which one was refused, and what that had to read");
    let notices = told();
    assert!(notices.len() == 1 && notices[0].contains("beside another (no more sessions)"), "{notices:?}");
    assert_eq!(link.batch(&sources, &sender, &work).await, Ok(()));
    assert_eq!((shells(), told()), (1, vec![]));
    link.try_again();
    behaviour.acts.lock().expect("not poisoned").extend([Act::Run, Act::Run, Act::Run, Act::Run, refuse()]);
    assert_eq!(link.batch(&sources, &sender, &work).await, Ok(()));
    assert_eq!(shells(), 3, "side by side again, and who is done first takes the last");
    assert_eq!(link.batch(&sources, &sender, &work).await, Ok(()));
    assert_eq!((shells(), told().len()), (3, 1), "it allowed them in between");
    let mut read = 0;
    while sections.try_recv().is_ok() {
        read += 1;
    }
    assert_eq!(read, 16, "everything was read each time");
}
