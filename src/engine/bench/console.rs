//! A benchmark of the console: over connections of its own, so that what is read of both guests meanwhile goes on as before,
//! and told as messages.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::run::{News, Outcome};
use super::{connect, run_all};
use crate::app::tune::{BenchNews, BenchRow};
use crate::app::{Message, Problem};
use crate::collect::link::Link as _;
use crate::collect::transport::Call;
use crate::engine::plan::TargetPlan;
use crate::fabric::{Text, Timestamp};
use crate::tune::bench::Plan;

/// News that may wait.
const WAITING: usize = 64;

/// Runs a plan from its connections to its end; `stop` ends it early. Its end is told whatever happens.
pub async fn serve(
    number: u64,
    plan: Plan,
    guests: [TargetPlan; 2],
    asker: mpsc::Sender<Call>,
    messages: mpsc::Sender<Message>,
    stop: CancellationToken,
) {
    let tell = |news| {
        let messages = messages.clone();
        async move {
            let _ = messages.send(Message::Bench { at: Timestamp::now(), number, news }).await;
        }
    };
    tell(BenchNews::Phase(Text::new("connects to both guests"))).await;
    let over = match Box::pin(all(&plan, guests, asker, &tell, &stop)).await {
        Ok(()) => None,
        Err(why) => Some(Text::new(&why)),
    };
    tell(BenchNews::Over(over)).await;
}

async fn all<F: Future<Output = ()>>(
    plan: &Plan,
    guests: [TargetPlan; 2],
    asker: mpsc::Sender<Call>,
    tell: impl Fn(BenchNews) -> F,
    stop: &CancellationToken,
) -> Result<(), String> {
    let names = guests.clone().map(|guest| guest.id);
    let [server, client] = guests;
    let both = async { tokio::join!(connect(server, Some(asker.clone())), connect(client, Some(asker))) };
    let (server, client) = tokio::select! {
        both = both => both,
        () = stop.cancelled() => return Err("it was ended before both guests were connected".to_owned()),
    };
    let (server, client) = match (server, client) {
        (Ok(server), Ok(client)) => (server, client),
        (server, client) => {
            let mut why = Vec::new();
            for (name, guest) in names.iter().zip([server, client]) {
                match guest {
                    Ok(guest) => guest.link.close().await,
                    Err(problem) => why.push(format!("{name} {}", sentence(&problem))),
                }
            }
            return Err(why.join("; "));
        }
    };
    tell(BenchNews::Phase(Text::new("starts the server"))).await;
    let (sender, mut news) = mpsc::channel(WAITING);
    let running = async {
        let ran = run_all(&server, &client, plan, &sender, stop).await;
        drop(sender);
        ran
    };
    let telling = async {
        while let Some(one) = news.recv().await {
            if let Some(one) = told(one, plan.runs.len()) {
                tell(one).await;
            }
        }
    };
    let (ran, ()) = tokio::join!(running, telling);
    server.link.close().await;
    client.link.close().await;
    match ran.last().map(|last| &last.outcome) {
        Some(Outcome::Completed) => Ok(()),
        Some(Outcome::Stopped) => Err("it was ended on both sides".to_owned()),
        // It names the guest itself.
        Some(Outcome::Failed(_, problem)) => Err(sentence(problem)),
        None => Err("nothing was run".to_owned()),
    }
}

fn sentence(problem: &Problem) -> String {
    let parts = [&problem.what, &problem.cause, &problem.next_step];
    parts.iter().filter(|part| !part.as_str().is_empty()).map(|part| part.as_str()).collect::<Vec<_>>().join("; ")
}

/// What the console shows of it; `None` for what it does not.
fn told(news: News, runs: usize) -> Option<BenchNews> {
    Some(match news {
        News::Begins { number, run } if runs > 1 => {
            BenchNews::Phase(Text::new(&format!("run {} of {runs}: {}", number + 1, run.size)))
        }
        News::Begins { run, .. } => BenchNews::Phase(Text::new(&run.size.to_string())),
        News::Listens => BenchNews::Phase(Text::new("the server listens, the client connects")),
        News::Started { .. } => return None,
        News::Sampled(sample) => match (sample.gigabits, sample.packets) {
            (Some(gigabits), _) => BenchNews::Rate(gigabits),
            (None, Some(packets)) => BenchNews::Packets(packets),
            (None, None) => return None,
        },
        News::Row(row) => BenchNews::Row(BenchRow {
            bytes: row.bytes,
            gigabits: row.gigabits,
            microseconds: row.latency(),
            line: row.line,
        }),
    })
}
