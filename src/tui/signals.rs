//! Signals as one stream. Those that end a program end this one cleanly; those that stop and continue it give the terminal
//! back and take it again. (A changed size comes as an event of the terminal; Ctrl-C and Ctrl-Z come as keys.)

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// A signal that the console answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGTERM`.
    Terminate,
    /// `SIGHUP`: the terminal or the session ends.
    HangUp,
    /// `SIGINT` from outside.
    Interrupt,
    /// `SIGQUIT`.
    Quit,
    /// `SIGTSTP` from outside.
    Stop,
    /// `SIGCONT`.
    Continue,
}

impl Signal {
    const ALL: [Self; 6] = [Self::Terminate, Self::HangUp, Self::Interrupt, Self::Quit, Self::Stop, Self::Continue];

    /// Its number on this system.
    pub fn number(self) -> u8 {
        let signal = match self {
            Self::Terminate => rustix::process::Signal::TERM,
            Self::HangUp => rustix::process::Signal::HUP,
            Self::Interrupt => rustix::process::Signal::INT,
            Self::Quit => rustix::process::Signal::QUIT,
            Self::Stop => rustix::process::Signal::TSTP,
            Self::Continue => rustix::process::Signal::CONT,
        };
        u8::try_from(signal.as_raw()).expect("the numbers of the classic signals are below 32")
    }
}

/// Listens to all of them from now on, on the runtime of the caller.
pub fn listen() -> io::Result<mpsc::Receiver<Signal>> {
    let (sender, receiver) = mpsc::channel(16);
    // A limit on the size of files is an error of the write that passes it, not the end of the program.
    let mut too_big = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
    tokio::spawn(async move { while too_big.recv().await.is_some() {} });
    for kind in Signal::ALL {
        let mut arrivals = signal(SignalKind::from_raw(i32::from(kind.number())))?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while arrivals.recv().await.is_some() {
                if sender.send(kind).await.is_err() {
                    break;
                }
            }
        });
    }
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use rustix::process::{getpid, kill_process};

    use super::*;

    #[test]
    fn numbers_are_those_of_the_system() {
        assert_eq!(Signal::ALL.map(Signal::number)[..4], [15, 1, 2, 3]);
    }

    #[tokio::test]
    async fn a_signal_arrives_as_a_value() {
        let mut signals = listen().expect("listening");
        kill_process(getpid(), rustix::process::Signal::CONT).expect("sent");
        assert_eq!(signals.recv().await, Some(Signal::Continue));
        kill_process(getpid(), rustix::process::Signal::HUP).expect("sent");
        assert_eq!(signals.recv().await, Some(Signal::HangUp));
    }
}
