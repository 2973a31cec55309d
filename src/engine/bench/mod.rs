//! Benchmarks between two guests: both are connected to and read, what will run is planned, and then run after run goes on
//! with a sample a second, until it is done or somebody stops it. Used alike by the command line and the console.

pub mod console;
mod run;
mod sample;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use run::{News, Outcome, Ran};
pub use sample::{Sample, Sampler};

use super::look::Look;
use super::plan::{TargetPlan, Way};
use crate::app::Problem;
use crate::collect::connectors::{SshConnector, SshLink};
use crate::collect::kind::System;
use crate::collect::link::{Connector as _, Link};
use crate::collect::rounds::Sequence;
use crate::collect::setback;
use crate::collect::transport::Asker;
use crate::fabric::{Fabric, TargetId};
use crate::probe::Probe;
use crate::probe::linux::PROBES;
use crate::tune::bench::{Asked, Plan, pair, plan};

/// What is read before a benchmark: what the choice of devices and the ceilings rest on.
const READ: [&str; 10] = [
    "linux.rdma",
    "linux.rdma-link",
    "linux.rdma-dev",
    "linux.rdma-sysfs",
    "linux.gids",
    "linux.gids-rest",
    "linux.queue-pairs",
    "linux.netdevs",
    "linux.pci",
    "linux.pci-link",
];

/// A guest that is connected to and was read.
#[derive(Debug)]
pub struct Guest<L> {
    /// Its name.
    pub target: TargetId,
    /// The connection.
    pub link: L,
}

/// Connects to a guest. Questions go to `asker`; without one nobody can be asked.
pub async fn connect(target: TargetPlan, asker: Asker) -> Result<Guest<SshLink>, Problem> {
    let TargetPlan { id, way, by } = target;
    let (resolve, known) = match way {
        Way::Ssh { resolve, known } => (resolve, known),
        Way::Refused(problem) => return Err(problem),
        Way::Local | Way::Saved(_) => {
            return Err(Problem::new(
                "is not reached over SSH",
                "both sides of a benchmark are started and watched over SSH",
                "name the guest by its SSH name, also where it is this machine",
            ));
        }
    };
    let connector = SshConnector::new(id.clone(), resolve, asker, known, by);
    let link = connector.connect().await.map_err(|failure| failure.problem)?;
    if link.system() != System::Linux {
        let what = "is no Linux guest";
        link.close().await;
        return Err(Problem::new(what, "benchmarks run between guests", "name two guests"));
    }
    Ok(Guest { target: id, link })
}

/// Connects to a guest, and reads what a benchmark wants to know of it.
pub async fn open(target: TargetPlan, asker: Asker) -> Result<(Guest<SshLink>, Fabric), Problem> {
    let Guest { target: id, link } = connect(target, asker).await?;
    let mut fabric = Fabric::default();
    let probes: Vec<Probe> = PROBES.iter().filter(|probe| READ.contains(&probe.name)).copied().collect();
    let sequence = Sequence::default();
    let look = Look::of(&link, &id, &sequence, &probes);
    let looked = Box::pin(look.at_all(None, false, std::future::pending())).await;
    for report in &looked.reports {
        let _ = fabric.apply(report);
    }
    if let Some(Err(error)) = looked.result {
        let problem = setback::failure(&id, &error).problem;
        link.close().await;
        return Err(problem);
    }
    Ok((Guest { target: id, link }, fabric))
}

/// Plans a benchmark between two guests that were read; the error is a sentence.
pub fn planned(
    asked: Asked,
    server: (&TargetId, &Fabric),
    client: (&TargetId, &Fabric),
    devices: [Option<&str>; 2],
) -> Result<Plan, String> {
    let pair = pair([server, client], devices)?;
    plan(asked, pair)
}

/// Runs all of a plan, one run after another; ends early with the first one that fails, and once `stop` is cancelled. When
/// this comes back both sides have ended, or their watchdogs end them.
pub async fn run_all<L: Link>(
    server: &Guest<L>,
    client: &Guest<L>,
    plan: &Plan,
    news: &mpsc::Sender<News>,
    stop: &CancellationToken,
) -> Vec<Ran> {
    let mut all = Vec::new();
    for (number, run) in plan.runs.iter().enumerate() {
        let _ = news.send(News::Begins { number, run: *run }).await;
        let ran = run::run(server, client, plan, run, news, stop).await;
        let is_done = ran.outcome == Outcome::Completed;
        all.push(ran);
        if !is_done {
            break;
        }
    }
    all
}
