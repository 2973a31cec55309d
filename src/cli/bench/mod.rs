//! `bench`: perftest between two guests. It says what will run and what that loads, asks, shows a line a second, and tells
//! the result against the lowest ceiling.

mod report;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::report::Report;
use super::args::{BenchArguments, BenchKind, BenchVerb, Format, Global};
use super::lab::Subject;
use super::{Exit, Failure, output};
use crate::collect::connectors::SshLink;
use crate::collect::link::Link as _;
use crate::config::Defect;
use crate::engine::bench::{self, Guest, News, Outcome, Ran};
use crate::fabric::Timestamp;
use crate::tune::bench::{Asked, Kind, Length, Plan, Sizes, Verb, runs};

/// Runs a benchmark.
pub fn run(global: &Global, arguments: &BenchArguments) -> Result<Exit, Failure> {
    let asked = asked(arguments)?;
    runs(&asked).map_err(|what| Defect::somewhere("bench", what))?;
    let devices = devices(arguments)?;
    if arguments.client == arguments.server {
        return Err(
            Defect::somewhere("bench", "needs two guests; between a guest and itself nothing passes a wire").into()
        );
    }
    let may_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !arguments.yes && !may_ask {
        let what =
            "loads the links between the guests and needs --yes where there is no terminal to ask at; nothing was run";
        return Err(Defect::somewhere("bench", what).into());
    }
    let words = [arguments.client.clone(), arguments.server.clone()];
    let subject = Subject::open(global, arguments.scenario.as_deref(), &words)?;
    let internal = |error: io::Error| Failure::Internal(color_eyre::Report::new(error));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(internal)?;
    let result = runtime.block_on(whole(
        &subject,
        &asked,
        [devices[0].as_deref(), devices[1].as_deref()],
        arguments.yes,
        global.format,
    ));
    runtime.shutdown_background();
    result
}

fn asked(arguments: &BenchArguments) -> Result<Asked, Failure> {
    let sizes = match arguments.size.as_deref() {
        None => None,
        Some("all") => Some(Sizes::All),
        Some(list) => {
            let sizes: Result<Vec<u64>, _> = list.split(',').map(|word| word.trim().parse::<u64>()).collect();
            let what = || format!("{list:?} is neither `all` nor numbers of octets with commas between");
            Some(Sizes::These(sizes.map_err(|_| Defect::somewhere("--size", what()))?))
        }
    };
    let length = arguments.duration.map(Length::Seconds).or(arguments.iterations.map(Length::Iterations));
    Ok(Asked {
        verb: match arguments.verb {
            BenchVerb::Write => Verb::Write,
            BenchVerb::Read => Verb::Read,
            BenchVerb::Send => Verb::Send,
        },
        kind: match arguments.kind {
            BenchKind::Bandwidth => Kind::Bandwidth,
            BenchKind::Latency => Kind::Latency,
        },
        sizes,
        length,
        queue_pairs: arguments.queue_pairs,
        bidirectional: arguments.bidirectional,
        by_connection_manager: arguments.cm,
        gid_index: arguments.gid_index,
        mtu: arguments.mtu,
        depth: arguments.depth,
        cuda: arguments.cuda,
        repeats: arguments.repeat,
    })
}

/// The devices of server and client.
fn devices(arguments: &BenchArguments) -> Result<[Option<String>; 2], Failure> {
    let Some(named) = &arguments.device else { return Ok([None, None]) };
    let names: Vec<&str> = named.split(',').map(str::trim).collect();
    match names.as_slice() {
        [both] if !both.is_empty() => Ok([Some((*both).to_owned()), Some((*both).to_owned())]),
        [client, server] if !client.is_empty() && !server.is_empty() => {
            Ok([Some((*server).to_owned()), Some((*client).to_owned())])
        }
        _ => Err(Defect::somewhere(
            "--device",
            "one name for both sides, or that of A and that of B with a comma between",
        )
        .into()),
    }
}

/// A signal that ends the program; its number goes with the token.
fn interrupted(stop: &CancellationToken) -> io::Result<mpsc::Receiver<i32>> {
    let (sender, receiver) = mpsc::channel(4);
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let (mut waits, sender, stop) = (signal(kind)?, sender.clone(), stop.clone());
        tokio::spawn(async move {
            while waits.recv().await.is_some() {
                stop.cancel();
                let _ = sender.try_send(kind.as_raw_value());
            }
        });
    }
    Ok(receiver)
}

fn of_signal(signals: &mut mpsc::Receiver<i32>) -> Exit {
    let number = signals.try_recv().unwrap_or(2);
    Exit::Signal(128u8.saturating_add(u8::try_from(number).unwrap_or_default()))
}

type Opened = (Guest<SshLink>, crate::fabric::Fabric);

async fn whole(
    subject: &Subject,
    asked: &Asked,
    devices: [Option<&str>; 2],
    is_agreed: bool,
    format: Format,
) -> Result<Exit, Failure> {
    let at = Timestamp::now();
    let stop = CancellationToken::new();
    let mut signals = interrupted(&stop).map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let mut plans = subject.plans().into_iter();
    let (Some(client), Some(server)) = (plans.next(), plans.next()) else {
        return Err(Defect::somewhere("bench", "needs two different guests").into());
    };
    if io::stderr().is_terminal() {
        output::complain(&format!("rdmascope: reading {}, {} ...", client.id, server.id));
    }
    let names = [server.id.clone(), client.id.clone()];
    let opening = async { tokio::join!(bench::open(server, None), bench::open(client, None)) };
    let opened = tokio::select! {
        opened = opening => opened,
        () = stop.cancelled() => return Ok(of_signal(&mut signals)),
    };
    let (server, client): (Opened, Opened) = match opened {
        (Ok(server), Ok(client)) => (server, client),
        (server, client) => {
            for (name, result) in names.iter().zip([server.err(), client.err()]) {
                if let Some(problem) = result {
                    output::complain(&format!("rdmascope: {name}: {}", subject.afterwards(problem)));
                }
            }
            return Ok(Exit::Incomplete);
        }
    };
    let plan = bench::planned(asked.clone(), (&server.0.target, &server.1), (&client.0.target, &client.1), devices);
    let exit = match plan {
        Ok(plan) => agreed(&plan, (&server.0, &client.0), is_agreed, format, at, (&stop, &mut signals)).await,
        Err(what) => {
            output::complain(&format!("rdmascope: {what}"));
            Ok(Exit::Incomplete)
        }
    };
    tokio::join!(server.0.link.close(), client.0.link.close());
    exit
}

/// Says what will run, asks where that is wanted, and runs it.
async fn agreed(
    plan: &Plan,
    (server, client): (&Guest<SshLink>, &Guest<SshLink>),
    is_agreed: bool,
    format: Format,
    at: Timestamp,
    (stop, signals): (&CancellationToken, &mut mpsc::Receiver<i32>),
) -> Result<Exit, Failure> {
    for line in plan.words().iter().chain(&plan.pair.notes) {
        output::complain(line);
    }
    if !is_agreed {
        let asking = tokio::task::spawn_blocking(ask);
        let answer = tokio::select! {
            answer = asking => answer.unwrap_or(false),
            () = stop.cancelled() => return Ok(of_signal(signals)),
        };
        if !answer {
            output::complain("rdmascope: nothing was run");
            return Ok(Exit::Done);
        }
    }
    let (sender, mut news) = mpsc::channel(64);
    let running = async {
        let all = bench::run_all(server, client, plan, &sender, stop).await;
        drop(sender);
        all
    };
    let telling = async {
        let mut live =
            Live { runs: plan.runs.len(), is_open: false, is_told: false, is_terminal: io::stderr().is_terminal() };
        loop {
            tokio::select! {
                one = news.recv() => match one {
                    Some(one) => live.tell(&one),
                    None => break,
                },
                () = stop.cancelled(), if !live.is_told => {
                    live.is_told = true;
                    live.line("rdmascope: ending both sides ...");
                }
            }
        }
        live.end();
    };
    let (all, ()) = tokio::join!(Box::pin(running), telling);
    finished(plan, &all, format, at, signals)
}

fn finished(
    plan: &Plan,
    all: &[Ran],
    format: Format,
    at: Timestamp,
    signals: &mut mpsc::Receiver<i32>,
) -> Result<Exit, Failure> {
    let report = Report::new(plan, all, at);
    match format {
        Format::Json => output::print(&output::json(&report.document())?)?,
        _ => output::print(&report.text())?,
    }
    let mut exit = Exit::Done;
    for ran in all {
        match &ran.outcome {
            Outcome::Completed => {}
            Outcome::Stopped => {
                output::complain(&format!("rdmascope: stopped; {}", report::ended(ran)));
                exit = of_signal(signals);
            }
            Outcome::Failed(_, problem) => {
                output::complain(&format!("rdmascope: {problem}"));
                exit = Exit::Incomplete;
            }
        }
    }
    Ok(exit)
}

/// Asks at the terminal; anything but a clear yes is no.
fn ask() -> bool {
    let mut stderr = io::stderr().lock();
    let asked = write!(stderr, "Run this? [y/N] ").and_then(|()| stderr.flush());
    drop(stderr);
    let mut answer = String::new();
    if asked.is_err() || io::stdin().lock().read_line(&mut answer).is_err() {
        return false;
    }
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// The line a second, on standard error: standard output is for what comes out.
struct Live {
    runs: usize,
    is_open: bool,
    is_told: bool,
    is_terminal: bool,
}

impl Live {
    fn tell(&mut self, news: &News) {
        match news {
            News::Begins { number, run } if self.runs > 1 => {
                self.line(&format!("run {} of {}: {}", number + 1, self.runs, run.size));
            }
            News::Sampled(sample) => {
                let seconds = sample.at.as_secs();
                let packets = match sample.packets {
                    Some(packets) => format!("{packets:.0} packets/s"),
                    None => "this driver counts no packets".to_owned(),
                };
                let rate = sample.gigabits.map(|rate| format!(", about {}", report::rate(rate))).unwrap_or_default();
                self.over(&format!("{seconds:>4} s  {packets}{rate}"));
            }
            News::Row(row) => self.line(&report::row_words(row)),
            News::Begins { .. } | News::Started { .. } | News::Listens => {}
        }
    }

    /// A line that the next one may take the place of, where a terminal shows it.
    fn over(&mut self, text: &str) {
        if self.is_terminal {
            let _ = write!(io::stderr().lock(), "\r\x1b[K{}", crate::fabric::text::clean_line(text));
            self.is_open = true;
        } else {
            output::complain(text);
        }
    }

    fn line(&mut self, text: &str) {
        self.end();
        output::complain(text);
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = writeln!(io::stderr().lock());
        }
    }
}
