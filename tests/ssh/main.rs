//! The SSH transport against real OpenSSH servers that the tests start on loopback, and against peers that misbehave.
//! Without `sshd` on this machine the tests say so and pass; with `RDMASCOPE_NO_SKIP=1` they fail instead.

mod commands;
mod host_keys;
mod hostile;
mod jumps;
mod login;
mod server;
