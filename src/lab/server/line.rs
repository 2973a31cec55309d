//! How the line to a machine is: open or closed, silent, slow, garbled. Bytes of a connection are carried between its
//! socket and the SSH library here, so a machine can fall silent in the middle of anything.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Bytes between a socket and the SSH library.
pub(super) const PIPE: usize = 64 * 1024;

/// How long a connection lives on whose peer has ended its side.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How the line to a machine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Nothing gets through: the port is closed.
    pub cut: bool,
    /// The machine boots: the port is closed.
    pub booting: bool,
    /// Its SSH service was stopped: new connections are refused, those that there are go on.
    pub refusing: bool,
    /// Its accounts are locked: no login is admitted.
    pub locked: bool,
    /// Bytes are taken and none are given.
    pub silent: bool,
    /// Each command takes this much longer, each tick of a stream five times as much.
    pub slower_by: Duration,
    /// A key answers that is not the machine's own.
    pub foreign_key: bool,
    /// Answers are garbage.
    pub garbled: bool,
    /// Connections of an older generation are cut.
    pub generation: u64,
}

impl Line {
    /// True if the port is open.
    pub fn is_open(self) -> bool {
        !self.cut && !self.booting && !self.refusing
    }

    /// Cuts every connection that there is.
    pub fn cut_connections(&mut self) {
        self.generation += 1;
    }
}

/// Waits until connections of this generation are cut.
pub(super) async fn cut(mut line: watch::Receiver<Line>, generation: u64) {
    // Without a sender the host is gone, and its connections with it.
    let _ = line.wait_for(|line| line.generation != generation).await;
}

/// Carries bytes both ways until one end closes.
pub(super) async fn carry(socket: TcpStream, library: DuplexStream, mut line: watch::Receiver<Line>) {
    let (mut from_peer, mut to_peer) = socket.into_split();
    let (mut from_library, mut to_library) = tokio::io::split(library);
    let inward = async {
        let _ = tokio::io::copy(&mut from_peer, &mut to_library).await;
        let _ = to_library.shutdown().await;
    };
    let outward = async {
        let mut buffer = vec![0; PIPE];
        while let Ok(length) = from_library.read(&mut buffer).await {
            if length == 0 || line.wait_for(|line| !line.silent).await.is_err() {
                break;
            }
            if to_peer.write_all(&buffer[..length]).await.is_err() {
                break;
            }
        }
        let _ = to_peer.shutdown().await;
    };
    tokio::pin!(outward);
    tokio::select! {
        () = &mut outward => {}
        () = inward => {
            // The peer says nothing more. What the library still has to say may go out, if anybody takes it.
            let _ = tokio::time::timeout(LAST_WORDS, outward).await;
        }
    }
}
