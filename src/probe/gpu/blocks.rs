//! The form of `nvidia-smi -q`: keys and values in blocks that are told by their indentation, one tree a GPU. Names of blocks
//! come and go with releases of the driver, so whoever asks names the last parts of a way and may name several.

/// One key with its value, and the blocks in which it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// Names of the blocks from the outermost one, and the key.
    pub way: Vec<&'a str>,
    /// The value as it is printed.
    pub value: &'a str,
}

impl Line<'_> {
    /// True if the whole way is this one; the case of letters changed between releases (`Ecc Mode`).
    pub fn is(&self, way: &[&str]) -> bool {
        self.way.len() == way.len() && self.way.iter().zip(way).all(|(one, other)| one.eq_ignore_ascii_case(other))
    }

    /// True if it stands in this block.
    pub fn is_below(&self, block: &[&str]) -> bool {
        self.way.len() > block.len() && self.way.iter().zip(block).all(|(one, other)| one.eq_ignore_ascii_case(other))
    }
}

/// All keys that one device has, or, without an address, those before the first device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device<'a> {
    /// Its address as it was printed.
    pub address: Option<&'a str>,
    /// Its keys in their order.
    pub lines: Vec<Line<'a>>,
}

impl<'a> Device<'a> {
    /// The first key on one of these ways.
    pub fn find(&self, ways: &[&[&str]]) -> Option<&Line<'a>> {
        ways.iter().find_map(|way| self.lines.iter().find(|line| line.is(way)))
    }
}

/// Takes the output apart: first what stands before any device, then each device.
pub fn devices<'a>(lines: impl Iterator<Item = (u32, &'a str)>) -> Vec<Device<'a>> {
    let mut devices = vec![Device::default()];
    let mut blocks: Vec<(usize, &str)> = Vec::new();
    for (number, raw) in lines {
        let text = raw.trim_end();
        let indent = text.len() - text.trim_start().len();
        let text = text.trim_start();
        if text.is_empty() {
            continue;
        }
        if indent == 0
            && let Some(address) = text.strip_prefix("GPU ").filter(|rest| super::address(rest).is_some())
        {
            devices.push(Device { address: Some(address), lines: Vec::new() });
            blocks.clear();
            continue;
        }
        while blocks.last().is_some_and(|(depth, _)| *depth >= indent) {
            blocks.pop();
        }
        let (key, value) = match text.split_once(" : ") {
            Some((key, value)) => (key.trim_end(), Some(value.trim())),
            None => match text.strip_suffix(':') {
                Some(key) if key.ends_with(' ') => (key.trim_end(), Some("")),
                _ => (text, None),
            },
        };
        if let (Some(value), Some(device)) = (value, devices.last_mut()) {
            let way = blocks.iter().map(|(_, name)| *name).chain([key]).collect();
            device.lines.push(Line { number, way, value });
        }
        // A key with a value can have others below it: `HW Slowdown`.
        blocks.push((indent, key));
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_follow_the_indentation() {
        let text = "Driver Version     : 550.90.07\nGPU 00000000:0B:00.0\n    MIG Mode\n        Current  : Disabled\n\
                    \x20   Clocks Event Reasons\n        HW Slowdown  : Active\n            HW Thermal Slowdown : Active\n\
                    \x20       Sync Boost : Not Active\n    Serial Number :\n    Replays : 0\n";
        let devices = devices(text.lines().zip(1..).map(|(line, number)| (number, line)));
        assert_eq!(devices.len(), 2);
        assert_eq!(devices[0].find(&[&["Driver Version"]]).map(|line| line.value), Some("550.90.07"));
        let of = |way: &[&str]| devices[1].find(&[way]).map(|line| (line.number, line.value));
        assert_eq!(of(&["mig mode", "Current"]), Some((4, "Disabled")));
        assert_eq!(of(&["Clocks Event Reasons", "HW Slowdown", "HW Thermal Slowdown"]), Some((7, "Active")));
        assert_eq!(of(&["Clocks Event Reasons", "Sync Boost"]), Some((8, "Not Active")));
        assert_eq!(of(&["Serial Number"]), Some((9, "")));
        assert_eq!(of(&["Replays"]), Some((10, "0")));
        assert_eq!(of(&["Current"]), None);
    }
}
