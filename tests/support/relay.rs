//! A relay on loopback between the program and a guest: it counts the connections made through it, and it can fall
//! silent the way a cut cable does, without closing anything.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A relay. Dropping it closes its port and all connections through it.
pub struct Relay {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    connections: AtomicUsize,
    silent: AtomicBool,
    over: AtomicBool,
}

impl Relay {
    /// A relay to a port of this machine.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let own = listener.local_addr().expect("an address").port();
        let state = Arc::new(State::default());
        let target = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        std::thread::spawn({
            let state = Arc::clone(&state);
            move || {
                for incoming in listener.incoming() {
                    if state.over.load(Ordering::SeqCst) {
                        return;
                    }
                    let Ok(near) = incoming else { continue };
                    state.connections.fetch_add(1, Ordering::SeqCst);
                    let Ok(far) = TcpStream::connect(target) else { continue };
                    for (from, to) in [(&near, &far), (&far, &near)] {
                        let (from, to) = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
                        let state = Arc::clone(&state);
                        std::thread::spawn(move || carry(from, to, &state));
                    }
                }
            }
        });
        Self { port: own, state }
    }

    /// Its port on this machine.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many connections were made to it so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// From now on nothing passes, either way, and nothing is closed: a silent link cut.
    pub fn fall_silent(&self) {
        self.state.silent.store(true, Ordering::SeqCst);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        // Wakes the accepting thread so that it sees the end.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let _ = from.set_nodelay(true);
    let _ = from.set_read_timeout(Some(Duration::from_millis(100)));
    let mut buffer = [0_u8; 1 << 13];
    let mut gone = false;
    while !state.over.load(Ordering::SeqCst) {
        match from.read(&mut buffer) {
            // In silence the end of one side is not told to the other.
            Ok(0) if state.silent.load(Ordering::SeqCst) => gone = true,
            Ok(0) => break,
            Ok(_) if state.silent.load(Ordering::SeqCst) => {}
            Ok(count) => {
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) if state.silent.load(Ordering::SeqCst) => gone = true,
            Err(_) => break,
        }
        if gone {
            while !state.over.load(Ordering::SeqCst) {
                std::thread::park_timeout(Duration::from_millis(100));
            }
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
