//! x
/// x
pub fn roce_mtu(mtu: u64) -> Option<u64> {
    Some(mtu)
}
