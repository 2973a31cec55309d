//! What can go wrong inside a guest: with its modules, its software and what its logins are given.

use super::state::{Family, Loaded, State};
use super::{gpus, machines};
use crate::lab::machine::GuestTrouble;

/// What the host tells of the same balloon, in the words of VMware Tools.
const OWN_BALLOON: &str = "2048 MB";

/// Begins or ends a trouble.
pub fn suffer(state: &mut State, now: f64, trouble: GuestTrouble, on: bool) {
    match trouble {
        GuestTrouble::DriverUnloaded => {
            load_driver(state, !on);
            // What ran on the device has ended with it, at both ends, and begins again with it.
            let until = if on { f64::INFINITY } else { now };
            state.wire.change(state.side, now, |end| end.quiet_until = until);
        }
        // UNSOURCED: that its list of components is that of 4.1.
        GuestTrouble::OtherOpenMpi => state.open_mpi = if on { "4.0.7" } else { machines::OPEN_MPI },
        GuestTrouble::UcxOverTcp => {
            state.environment = machines::environment(state.adapter.family, &state.rdma_netdev().name);
            if on {
                state.environment.retain(|(name, _)| name != "UCX_TLS");
                state.environment.push(("UCX_TLS".to_owned(), "tcp,sm,self".to_owned()));
            }
        }
        GuestTrouble::Gpu(trouble) => gpus::suffer(state, now, trouble, on),
        GuestTrouble::Ballooned => {
            let held = if on { OWN_BALLOON } else { "0 MB" };
            for (_, value) in state.tools.iter_mut().filter(|(name, _)| *name == "balloon") {
                *value = held;
            }
        }
        GuestTrouble::NoLockedMemory => {
            // The default of systemd before version 240, and of older distributions.
            state.memlock = if on { Some(64 << 10) } else { machines::memlock(state.adapter.family) };
            state.processes = machines::processes(state.seed, state.memlock);
        }
    }
}

/// Loads or unloads the module that makes an RDMA device of the adapter: that of PVRDMA is the driver of its function, that
/// of mlx5 stands on top of it.
pub fn load_driver(state: &mut State, on: bool) {
    if on {
        if let Some(Loaded { functions, modules, versions }) = state.unloaded.take() {
            (state.functions, state.modules, state.module_versions) = (functions, modules, versions);
        }
        return;
    }
    if !state.has_device() {
        return;
    }
    let family = state.adapter.family;
    let module = if family == Family::Pvrdma { "vmw_pvrdma" } else { "mlx5_ib" };
    state.unloaded = Some(Loaded {
        functions: state.functions.clone(),
        modules: state.modules.clone(),
        versions: state.module_versions.clone(),
    });
    state.modules.retain(|loaded| loaded.name != module);
    state.module_versions.retain(|(name, _)| *name != module);
    for loaded in &mut state.modules {
        if let Some(users) = without(loaded.users, module) {
            (loaded.users, loaded.uses) = (users, loaded.uses.saturating_sub(1));
        }
    }
    if family == Family::Pvrdma {
        for function in state.functions.iter_mut().filter(|function| function.address == state.adapter.function) {
            function.driver = None;
        }
    }
}

/// A list of users of a module without this one; `None` if it is none of them. Lists of the lab are short and known.
fn without(users: &'static str, module: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 7] = [
        ("vmw_pvrdma,rdma_ucm", "rdma_ucm"),
        ("rdma_cm,vmw_pvrdma,iw_cm,rdma_ucm,ib_uverbs,ib_cm", "rdma_cm,iw_cm,rdma_ucm,ib_uverbs,ib_cm"),
        ("rdma_ucm,mlx5_ib", "rdma_ucm"),
        ("rdma_cm,iw_cm,ib_umad,rdma_ucm,ib_uverbs,mlx5_ib,ib_cm", "rdma_cm,iw_cm,ib_umad,rdma_ucm,ib_uverbs,ib_cm"),
        ("mlx5_ib", ""),
        ("vmw_pvrdma", ""),
        ("mlx5_ib,rdma_ucm", "rdma_ucm"),
    ];
    users
        .split(',')
        .any(|user| user == module)
        .then(|| KNOWN.iter().find(|(all, _)| *all == users).map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::guest::hardware;

    #[test]
    fn no_list_names_a_module_that_is_not_loaded() {
        for (family, module) in [(Family::Pvrdma, "vmw_pvrdma"), (Family::Mlx5, "mlx5_ib"), (Family::Mlx5Vf, "mlx5_ib")]
        {
            for loaded in hardware::modules(family) {
                let rest: Vec<&str> = loaded.users.split(',').filter(|user| *user != module).collect();
                let expected = loaded.users.split(',').any(|user| user == module).then(|| rest.join(","));
                assert_eq!(without(loaded.users, module).map(str::to_owned), expected, "{}", loaded.name);
            }
        }
    }
}
