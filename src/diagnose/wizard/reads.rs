//! What the checks of steps and requirements look at, as names of probes: so that the wizard has that read, and nothing else.
//! What only says which thing belongs to which is not in it: that is read anyway, and seldom changes. Switches are named by the
//! probes of EOS; those of other systems that read the same have the same name behind the dot.

use std::collections::BTreeSet;

/// The probes that these checks look at.
pub fn probes_of(checks: &[&str]) -> BTreeSet<&'static str> {
    READS.iter().filter(|(check, _)| checks.contains(check)).flat_map(|(_, probes)| probes.iter().copied()).collect()
}

const READS: &[(&str, &[&str])] = &[];
