//! The stream of GPUs: what the block of shell and the programs that it starts would answer, a round each second.

use std::time::Duration;

use russh::{ChannelMsg, ChannelReadHalf};
use tokio::time::{MissedTickBehavior, interval};

use super::Host;
use super::serve::{Gone, Out, random};
use crate::lab::fault::garbage;
use crate::lab::machine::{Answer, Login};
use crate::probe::gpu::stream::{DCGM_FIELDS, FIELDS};

/// Time between two rows of the programs.
const PERIOD: Duration = Duration::from_secs(1);

/// Answers until the input ends. `ended` says that it has ended already.
pub(super) async fn run(
    host: &Host,
    login: &Login,
    nonce: &str,
    mut ended: bool,
    input: &mut ChannelReadHalf,
    out: &mut Out,
) -> Result<(), Gone> {
    let asked = |words: &[&str]| -> Answer {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        host.machine.run(&words, login)
    };
    let mut said = String::new();
    let fields = FIELDS.iter().find(|fields| {
        let answer = asked(&["nvidia-smi", &format!("--query-gpu={fields}"), "--format=csv,noheader"]);
        let complaint = answer.stdout.lines().chain(answer.stderr.lines()).next().unwrap_or_default();
        complaint.clone_into(&mut said);
        answer.status == 0
    });
    let Some(fields) = fields else {
        out.push(format!("{nonce} N {said}\n").as_bytes(), b"").await?;
        return out.flush().await;
    };
    out.push(format!("{nonce} R\n").as_bytes(), b"").await?;
    out.flush().await?;
    let query = format!("--query-gpu={fields}");
    let has_dcgm = asked(&["dcgmi", "discovery", "-l"]).status == 0;
    let mut rounds = interval(host.delays.between_rows(PERIOD));
    rounds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut is_first, mut is_over) = (true, false);
    while !ended {
        tokio::select! {
            _ = rounds.tick(), if !is_over => {
                let mut text = String::new();
                let mut take = |answer: &Answer, titles: usize| {
                    let lines = answer.stdout.split_inclusive('\n');
                    text.extend(lines.skip(if is_first { 0 } else { titles }));
                };
                take(&asked(&["nvidia-smi", "dmon", "-s", "t", "-d", "1"]), 2);
                if has_dcgm {
                    take(&asked(&["dcgmi", "dmon", "-e", DCGM_FIELDS, "-d", "1000"]), 2);
                }
                let rows = asked(&["nvidia-smi", &query, "--format=csv,nounits", "-l", "1"]);
                take(&rows, 1);
                if rows.status != 0 {
                    // The programs end with their driver; the shell waits for the end of its input.
                    is_over = true;
                    continue;
                }
                is_first = false;
                let mut bytes = text.into_bytes();
                if host.line().garbled {
                    bytes = garbage::of(&bytes, &mut random(host));
                }
                out.push(&bytes, b"").await?;
                out.flush().await?;
            }
            message = input.wait() => match message {
                Some(ChannelMsg::Eof) => ended = true,
                None | Some(ChannelMsg::Close | ChannelMsg::Signal { .. }) => return Err(Gone),
                Some(_) => {}
            },
        }
    }
    Ok(())
}
