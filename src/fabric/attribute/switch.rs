//! The attributes of physical switches and their ports. What a port shares with an adapter of a host (state, MTU, speed,
//! pause, priorities) is stated with the attributes of those.

/// Hands the rows before, and its own, to the next list.
macro_rules! switch {
    ($next:ident, $last:ident, $($before:tt)*) => {
        $next! { $last,
        $($before)*

            // The switch itself.
            /// Model in the maker's words.
            SwitchModel = "switch-model", "model", None, Setting;
            /// Version of its operating system as it prints it.
            SwitchVersion = "switch-version", "version", None, Setting;

            // Its ports.
            /// What someone wrote beside a port.
            PortDescription = "port-description", "description", None, Setting;
            /// `access`, `trunk`, `routed`.
            PortMode = "port-mode", "mode", None, Setting;
            /// VLAN of untagged frames: of an access port, or the native one of a trunk.
            UntaggedVlan = "untagged-vlan", "untagged VLAN", None, Setting;
            /// VLANs that a trunk lets pass, as ranges: `1`, `100-200`.
            AllowedVlans = "allowed-vlans", "allowed VLANs", None, Setting;
            /// Port channel that a port is a member of.
            PortChannel = "port-channel", "port channel", None, Setting;
            /// How priority flow control is set: `on`, `auto`, `off`.
            PfcMode = "pfc-mode", "PFC mode", None, Setting;
            /// What the watchdog of priority flow control does with a priority that stays paused: `drop`, `disabled`, ...
            PfcWatchdog = "pfc-watchdog", "PFC watchdog", None, Setting;
            /// True if a queue of the port marks congestion.
            EcnEnabled = "ecn-enabled", "ECN", None, Setting;
            /// Traffic classes whose queues mark congestion, of 0 to 7.
            EcnClasses = "ecn-classes", "ECN classes", None, Setting;
            /// Which marking of arriving frames a port believes: `cos`, `dscp`, `none`.
            TrustedMarking = "trusted-marking", "trust", None, Setting;
            /// What the neighbour calls itself.
            NeighbourName = "neighbour-name", "neighbour", None, Status;
            /// Chassis id of the neighbour as it was printed.
            NeighbourChassis = "neighbour-chassis", "neighbour chassis", None, Status;
            /// Port id of the neighbour as it was printed; an ESXi host sends the MAC of its uplink.
            NeighbourPort = "neighbour-port", "neighbour port", None, Status;
            /// What the neighbour says of its port.
            NeighbourPortDescription = "neighbour-port-description", "neighbour port description", None, Status;
        }
    };
}
pub(super) use switch;
