//! Tests of the hosts.
