//! The stream of `esxtop`: what the block of shell would pass on, row by row, until the input ends.

use std::time::Duration;

use russh::{ChannelMsg, ChannelReadHalf};

use super::Host;
use super::command::run_as;
use super::serve::{Gone, Out, random};
use crate::fabric::Timestamp;
use crate::lab::fault::garbage;
use crate::lab::machine::Login;
use crate::probe::esxi::esxtop::MOST_ROWS;

/// Prints rows until the input ends, or until all are printed.
pub(super) async fn run(
    host: &Host,
    login: &Login,
    nonce: &str,
    period: Duration,
    ended: bool,
    input: &mut ChannelReadHalf,
    out: &mut Out,
) -> Result<(), Gone> {
    if ended {
        return Ok(());
    }
    let ends = until_end(input);
    tokio::pin!(ends);
    let mut random = random(host);
    let mut began = None;
    for row in 0..MOST_ROWS {
        // The first row tells of the time since the boot, the second one of the time since the first.
        let wanted = if row == 0 { "1" } else { "2" };
        let words = ["esxtop", "-b", "-d", &period.as_secs().to_string(), "-n", wanted].map(str::to_owned);
        let said = run_as(host.machine.as_ref(), login, &words, false);
        if said.status != 0 {
            let why = if said.status == 127 { "/bin/sh: esxtop: not found\n" } else { said.stderr.as_str() };
            out.push(format!("{nonce} E {}\n", said.status).as_bytes(), why.as_bytes()).await?;
            return out.flush().await;
        }
        let mut lines = said.stdout.lines();
        let titles = lines.next().unwrap_or_default();
        let (stamp, cells) = lines.last().and_then(|line| line.split_once(',')).unwrap_or_default();
        let stamp = began.get_or_insert_with(|| stamp.to_owned()).clone();
        let stamp = moment(&stamp, period * row).unwrap_or(stamp);
        let text = if row == 0 { format!("{titles}\n{stamp},{cells}\n") } else { format!("{stamp},{cells}\n") };
        let mut bytes = text.into_bytes();
        if host.line().garbled && row > 1 {
            bytes = garbage::of(&bytes, &mut random);
        }
        out.push(&bytes, b"").await?;
        out.flush().await?;
        tokio::select! {
            () = tokio::time::sleep(host.delays.between_rows(period) + host.line().slower_by) => {}
            ended = &mut ends => return ended,
        }
    }
    out.push(format!("{nonce} E 0\n").as_bytes(), b"").await?;
    out.flush().await
}

/// A stamp so much later, in quotes as it was.
fn moment(stamp: &str, later: Duration) -> Option<String> {
    let first = crate::probe::esxi::esxtop::column::stamp(stamp.trim_matches('"'), 0)?;
    let at: Timestamp = first.checked_add(later).ok()?;
    Some(format!("\"{}\"", at.strftime("%m/%d/%Y %H:%M:%S")))
}

async fn until_end(input: &mut ChannelReadHalf) -> Result<(), Gone> {
    loop {
        match input.wait().await {
            Some(ChannelMsg::Eof) => return Ok(()),
            None | Some(ChannelMsg::Close | ChannelMsg::Signal { .. }) => return Err(Gone),
            Some(_) => {}
        }
    }
}
