//! The SSH agent: where it listens, which keys it holds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use russh::keys::agent::client::AgentClient;
use russh::keys::agent::{AgentIdentity, AgentSessionBinding};
use tokio::net::UnixStream;

use super::error::AgentState;
use crate::config::openssh::{HostSettings, IdentityAgent};
use crate::fabric::Text;

/// An agent answers at once, as long as nothing has to be signed.
const AGENT_DEADLINE: Duration = Duration::from_secs(5);

/// An agent that answered.
pub struct Agent {
    /// The open connection to it.
    pub client: AgentClient<UnixStream>,
    /// The keys that it holds, in its order.
    pub identities: Vec<AgentIdentity>,
}

/// Connects to the agent that the settings mean and asks for its keys; `state` then says what came of it.
pub async fn open(
    settings: &HostSettings,
    binding: Option<&AgentSessionBinding>,
    state: &mut AgentState,
) -> Option<Agent> {
    let socket = match &settings.identity_agent {
        Some(IdentityAgent::None) => {
            *state = AgentState::Disabled;
            return None;
        }
        Some(IdentityAgent::Socket(path)) => path.clone(),
        None => {
            let Some(path) = std::env::var_os("SSH_AUTH_SOCK").filter(|path| !path.is_empty()) else {
                *state = AgentState::NotRunning;
                return None;
            };
            PathBuf::from(path)
        }
    };
    let answer = tokio::time::timeout(AGENT_DEADLINE, ask(&socket, binding)).await;
    let reason = match answer {
        Ok(Ok(agent)) => {
            *state = AgentState::Holds(agent.identities.len());
            return Some(agent);
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", AGENT_DEADLINE.as_secs()),
    };
    *state = AgentState::Unreachable { socket, reason: Text::new(&reason) };
    None
}

async fn ask(socket: &Path, binding: Option<&AgentSessionBinding>) -> Result<Agent, russh::keys::Error> {
    let mut client = AgentClient::connect_uds(socket).await?;
    if let Some(binding) = binding
        && client.bind_session(binding, false).await.is_err()
    {
        // Older agents do not know the binding; keys that need it are then simply not shown.
        tracing::debug!(socket = %socket.display(), "the agent does not bind sessions");
    }
    let identities = client.request_identities().await?;
    Ok(Agent { client, identities })
}
