//! Profiles of vGPU and MIG: how they are spelt in a VMX, and which ones a model has.

use super::device::devices;
use super::{Found, Rule, Severity, at, documented, field, rule, shown};
use crate::diagnose::lint::Subject;
use crate::probe::vmx::Entry;

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.vgpu-spelling",
        Severity::Warning,
        "A vGPU profile is spelt as the client shows it, not as a VMX holds it",
        documented("vhpc-toolkit (grid_p100-4q); stackhpc ansible-collection-linux roles/vgpu README"),
        spelling,
    ),
    rule(
        "vmx.vgpu-mig-name",
        Severity::Error,
        "A MIG geometry (1g.5gb) stands where a vGPU profile belongs",
        documented("docs.nvidia.com MIG guide; stackhpc ansible-collection-linux roles/vgpu README"),
        mig_name,
    )
    .like(&["vm.myth-vgpu-type"]),
    rule(
        "vmx.vgpu-profile",
        Severity::Warning,
        "The model has no such vGPU profile",
        field("docs.nvidia.com vGPU guide from memory; A100 profiles also in stackhpc roles/vgpu README"),
        profile,
    )
    .open(),
    rule(
        "vmx.vgpu-form",
        Severity::Error,
        "A vGPU profile is no profile name",
        documented("vhpc-toolkit (grid_p100-4q)"),
        form,
    ),
];

/// Profiles of one model: `4c` for a time slice, `1-5c` for a MIG-backed one.
struct Model {
    names: &'static [&'static str],
    slices: &'static [&'static str],
    mig: &'static [&'static str],
}

const MODELS: &[Model] = &[
    Model {
        names: &["a100", "a100x"],
        slices: &["4c", "5c", "8c", "10c", "20c", "40c"],
        mig: &["1-5c", "1-5cme", "1-10c", "2-10c", "3-20c", "4-20c", "7-40c"],
    },
    Model {
        names: &["a100d", "a100dx"],
        slices: &["4c", "8c", "10c", "16c", "20c", "40c", "80c"],
        mig: &["1-10c", "1-10cme", "1-20c", "2-20c", "3-40c", "4-40c", "7-80c"],
    },
    Model {
        names: &["a30"],
        slices: &["4c", "6c", "8c", "12c", "24c"],
        mig: &["1-6c", "1-6cme", "2-12c", "2-12cme", "4-24c"],
    },
    Model {
        names: &["h100", "h100xm"],
        slices: &["4c", "5c", "8c", "10c", "16c", "20c", "40c", "80c"],
        mig: &["1-10c", "1-10cme", "1-20c", "2-20c", "3-40c", "4-40c", "7-80c"],
    },
];

/// The profiles of the devices that are present.
fn profiles<'a>(subject: &Subject<'a>) -> impl Iterator<Item = &'a Entry> {
    devices(subject.vmx).into_iter().filter_map(|device| device.vgpu).filter(|entry| !entry.odd_quotes())
}

/// Model and profile of a name as a VMX holds it.
fn split(name: &str) -> Option<(&str, &str)> {
    let bare = name.strip_prefix("grid_").or_else(|| name.strip_prefix("nvidia_"))?;
    let (model, rest) = bare.split_once('-')?;
    let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (plain(model) && plain(rest)).then_some((model, rest))
}

/// A name in the client's spelling, as the VMX holds it: `GRID A100-1-5C` is `grid_a100-1-5c`.
fn respelt(name: &str) -> Option<String> {
    let lower = name.trim().to_ascii_lowercase().replace(' ', "_");
    let lower = lower.strip_prefix("nvidia_grid_").map_or(lower.clone(), |rest| format!("grid_{rest}"));
    split(&lower).is_some().then_some(lower)
}

/// Slices and memory of a MIG geometry: `1g.5gb`, `1g-5gb`, `MIG 1g.5gb`.
fn geometry(name: &str) -> Option<(u32, u32)> {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let mut slices = None;
    for word in words {
        if let Some(memory) = word.strip_suffix("gb").and_then(|digits| digits.parse().ok()) {
            return Some((slices?, memory));
        }
        slices = word.strip_suffix('g').and_then(|digits| digits.parse().ok());
    }
    None
}

fn spelling(subject: &Subject<'_>) -> Vec<Found> {
    profiles(subject)
        .filter(|entry| split(&entry.value).is_none() || entry.value.chars().any(|c| c.is_ascii_uppercase()))
        .filter(|entry| geometry(&entry.value).is_none())
        .filter_map(|entry| {
            let right = respelt(&entry.value)?;
            // Public files know names with grid_ only: of any other prefix it is not known what the host wants.
            if !right.starts_with("grid_") {
                let message = format!(
                    "'{}' is spelt as the client shows it; a VMX holds a name in small letters without blanks, in public \
                     files with grid_ in front",
                    shown(&entry.value)
                );
                return Some(at(entry, message));
            }
            Some(at(entry, format!("'{}' is spelt {right} in a VMX", shown(&entry.value))).mend(&entry.key, &right))
        })
        .collect()
}

fn mig_name(subject: &Subject<'_>) -> Vec<Found> {
    profiles(subject)
        .filter_map(|entry| {
            let (slices, memory) = geometry(&entry.value)?;
            let profile = format!("{slices}-{memory}c");
            let fitting: Vec<&str> = MODELS
                .iter()
                .filter(|model| model.mig.contains(&profile.as_str()))
                .filter_map(|model| model.names.first().copied())
                .collect();
            let names = fitting.iter().map(|model| format!("grid_{model}-{profile}")).collect::<Vec<_>>();
            let message = if names.is_empty() {
                format!("'{}' is a MIG geometry, not a vGPU profile like grid_a100-1-5c", shown(&entry.value))
            } else {
                format!(
                    "'{}' is a MIG geometry; the vGPU profile backed by such an instance is {}",
                    shown(&entry.value),
                    names.join(" or ")
                )
            };
            let found = at(entry, message);
            // With the model in the name there is one answer.
            let lower = entry.value.to_ascii_lowercase();
            let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
            let model = fitting.iter().find(|model| words.contains(model));
            Some(match model {
                Some(model) => found.mend(&entry.key, &format!("grid_{model}-{profile}")),
                None => found,
            })
        })
        .collect()
}

fn profile(subject: &Subject<'_>) -> Vec<Found> {
    profiles(subject)
        .filter(|entry| geometry(&entry.value).is_none())
        .filter_map(|entry| {
            let spelt = respelt(&entry.value)?;
            let (name, rest) = split(&spelt)?;
            let model = MODELS.iter().find(|model| model.names.contains(&name))?;
            // Graphics profiles (q, b, a) are none of these models' tables.
            if !rest.trim_end_matches("me").ends_with('c') || model.slices.contains(&rest) || model.mig.contains(&rest)
            {
                return None;
            }
            let message = format!(
                "{name} has no profile {}: time slices {}; MIG-backed {}{}",
                shown(rest),
                model.slices.join(" "),
                model.mig.join(" "),
                if name == "a100" { " (the card of 80 GB is a100d)" } else { "" }
            );
            Some(at(entry, message))
        })
        .collect()
}

fn form(subject: &Subject<'_>) -> Vec<Found> {
    profiles(subject)
        .filter(|entry| geometry(&entry.value).is_none() && respelt(&entry.value).is_none())
        .filter(|entry| !entry.value.starts_with(['<', '$', '{']))
        .map(|entry| {
            at(
                entry,
                format!("'{}' is no profile: grid_, the model, '-', the profile: grid_a100-40c", shown(&entry.value)),
            )
        })
        .collect()
}
