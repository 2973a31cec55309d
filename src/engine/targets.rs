//! How the targets that the user named are reached: the inventory's words become plans, and a host's way there is found
//! out through OpenSSH's settings, anew for every connection.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::openssh::HostResolver;
use super::plan::{TargetPlan, Way};
use crate::app::Problem;
use crate::collect::connectors::Resolve;
use crate::collect::kind::System;
use crate::collect::transport::ssh::Route;
use crate::config::inventory::Kind;
use crate::config::openssh::{HostSettings, Jump};
use crate::config::{Access, Address, Target};
use crate::fabric::TargetId;

/// How many jump hosts a way may have, those of jump hosts included: more is a circle.
const MOST_HOPS: usize = 8;

/// How a target is reached.
pub fn plan(target: &Target, resolver: &HostResolver) -> TargetPlan {
    let id = TargetId::new(&target.name);
    let way = match target.kind {
        Some(Kind::Local) => Way::Local,
        Some(Kind::Saved) => Way::Saved(target.saved().unwrap_or(Path::new("")).to_owned()),
        kind => match &target.address {
            Some(address) => Way::Ssh {
                resolve: way_to(address.clone(), target.access.clone(), resolver.clone()),
                known: System::told(kind),
            },
            None => Way::Refused(Problem::new(
                "has no address",
                "",
                "give it an `address` in the inventory: a host name, user@host:port or an OpenSSH alias",
            )),
        },
    };
    TargetPlan { id, way, by: target.by }
}

fn way_to(address: Address, access: Access, resolver: HostResolver) -> Resolve {
    Arc::new(move || {
        let (address, access, resolver) = (address.clone(), access.clone(), resolver.clone());
        async move {
            let mut hops = Vec::new();
            add_hops(&resolver, address, &mut hops).await?;
            Ok(Route { hops, access, ssh_config: resolver.ssh_config().map(Path::to_owned) })
        }
        .boxed()
    })
}

/// Adds the jump hosts of a host, then the host itself. As with `ssh -J`, the first jump host has the jumps of its own
/// settings; those of the others are overridden by the list.
fn add_hops<'a>(
    resolver: &'a HostResolver,
    address: Address,
    hops: &'a mut Vec<HostSettings>,
) -> BoxFuture<'a, Result<(), Problem>> {
    async move {
        let settings = resolve(resolver, &address).await?;
        for (index, Jump { host, user, port }) in settings.proxy_jump.iter().enumerate() {
            if hops.len() >= MOST_HOPS {
                return Err(Problem::new(
                    &format!("the way to {} has more than {MOST_HOPS} jump hosts", settings.alias),
                    "a ProxyJump of OpenSSH's configuration may lead in a circle",
                    "correct ProxyJump in OpenSSH's configuration",
                ));
            }
            let jump = Address { user: user.clone(), host: host.clone(), port: *port };
            if index == 0 {
                add_hops(resolver, jump, hops).await?;
            } else {
                hops.push(resolve(resolver, &jump).await?);
            }
        }
        hops.push(settings);
        Ok(())
    }
    .boxed()
}

async fn resolve(resolver: &HostResolver, address: &Address) -> Result<HostSettings, Problem> {
    resolver.resolve(address).await.map(|resolved| resolved.settings).map_err(|error| error.problem())
}
