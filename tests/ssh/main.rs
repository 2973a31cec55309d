//! The SSH transport against real OpenSSH servers that the tests start on loopback, and against peers that misbehave.
//! Without `sshd` on this machine the tests say so and pass; with `RDMASCOPE_NO_SKIP=1` they fail instead.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a skipped test says so; a failed one shows the server's log

mod asking;
mod certificates;
mod commands;
mod host_keys;
mod hostile;
mod jumps;
mod locked_keys;
mod lockout;
mod login;
mod plain;
mod proxies;
#[allow(dead_code)] // these tests use a part of it
#[path = "../support/pty.rs"]
mod pty;
mod secrets;
mod server;
