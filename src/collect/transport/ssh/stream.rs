//! The bytes under an SSH session, with two additions: they can be cut at once from outside, because the library's
//! session task outlives a call that was given up on, and the first bytes of the peer are kept, because "not SSH at
//! all" is worth saying in the peer's own words.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// So many first bytes are kept.
const GREETING_KEPT: usize = 255;

/// The first bytes that the peer sent.
#[derive(Clone, Debug, Default)]
pub struct Greeting(Arc<Mutex<Vec<u8>>>);

impl Greeting {
    /// What came so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, bytes: &[u8]) -> usize {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = GREETING_KEPT - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        kept.len()
    }
}

/// A stream that ends when its token is cancelled.
pub struct Cuttable<S> {
    inner: S,
    token: CancellationToken,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    greeting: Greeting,
    greeting_full: bool,
}

impl<S> Cuttable<S> {
    /// Wraps `inner`; cancelling `token` ends it.
    pub fn new(inner: S, token: CancellationToken, greeting: Greeting) -> Self {
        let cancelled = Box::pin(token.clone().cancelled_owned());
        Self { inner, token, cancelled, greeting, greeting_full: false }
    }

    fn refuse_if_cut(&self) -> io::Result<()> {
        if self.token.is_cancelled() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Cuttable<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.refuse_if_cut()?;
        if self.cancelled.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if !self.greeting_full && matches!(read, Poll::Ready(Ok(()))) {
            self.greeting_full = self.greeting.keep(&buffer.filled()[before..]) >= GREETING_KEPT;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Cuttable<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.refuse_if_cut()?;
        match Pin::new(&mut self.inner).poll_write(context, bytes) {
            // A peer that takes no more may have said why before it left: that is read first, and then its end.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Poll::Ready(Ok(bytes.len())),
            written => written,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.refuse_if_cut()?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.refuse_if_cut()?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn what_a_peer_said_before_it_left_is_read_although_it_takes_no_more() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        theirs.write_all(b"hello\n").await.expect("room");
        drop(theirs);
        let greeting = Greeting::default();
        let mut stream = Cuttable::new(ours, CancellationToken::new(), greeting.clone());
        stream.write_all(b"SSH-2.0-rdmascope\r\n").await.expect("it ends with what is read");
        let mut said = String::new();
        stream.read_to_string(&mut said).await.expect("an end");
        assert_eq!((said.as_str(), greeting.bytes().as_slice()), ("hello\n", b"hello\n".as_slice()));
    }
}
