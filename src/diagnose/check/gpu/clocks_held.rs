//! What holds the clocks of a GPU down at this moment. Only what protects it or saves the server's power is a trouble: clocks fall
//! when there is nothing to do, and a power limit is somebody's choice.

use super::told::{Told, named, read, told};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, EntityId, State, TargetId};

/// Nothing but idleness or a limit holds the clocks.
pub const CHECK: Check = Check {
    id: "gpu.clocks-held",
    title: "No protection of the GPU holds its clocks down",
    gate: "GPUs whose driver tells what holds their clocks",
    rule: "warns at a slowdown by the hardware: heat, power brake, or another one; at heat by the driver. Idleness, limits that somebody set \
           and synchronized clocks are none",
    source: Source { text: "NVML: nvmlClocksEventReasons", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Reasons that are a trouble, the most telling first, and what each is.
const REASONS: [(&str, &str, &str); 4] = [
    (
        "hardware thermal",
        "is too hot and slows down",
        "its own protection halves the clocks or more: cooling of the server, air flow, a fan, or what stands beside it. A VM sees nothing of \
         that but this",
    ),
    (
        "power brake",
        "is braked by the server's power supply",
        "the server asked the card to take less power: a supply failed or is overloaded",
    ),
    (
        "software thermal",
        "is so warm that the driver lowers its clocks",
        "the GPU or its memory came to the temperature that the driver keeps: cooling of the server, air flow",
    ),
    ("hardware slowdown", "is slowed down by its own protection", "heat, or power that the server does not give"),
];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    read(scene).into_iter().filter_map(|(guest, gpu)| of_gpu(scene, guest, &gpu)).collect()
}

fn of_gpu(scene: &Scene<'_>, guest: &TargetId, gpu: &EntityId) -> Option<Judged> {
    let name = named(gpu);
    let shows = "-q -d PERFORMANCE,TEMPERATURE,POWER";
    let pass = || Judged::pass(gpu, format!("{guest}: no protection holds the clocks of {name}"));
    let reasons = match told(scene, gpu, Attribute::ClockReasons, "what holds the clocks", shows) {
        Told::Nothing => {
            let state = scene.fabric.reading(gpu, Attribute::ClockReasons).map(|reading| &reading.state);
            return matches!(state, Some(State::Empty)).then(pass);
        }
        Told::Unclear(judged) => return Some(*judged),
        Told::Known(value) => value.as_list()?,
    };
    let found = REASONS.iter().find(|(reason, ..)| reasons.iter().any(|one| one.as_str() == *reason));
    let Some((_, what, cause)) = found else { return Some(pass()) };
    let all: Vec<&str> = reasons.iter().map(crate::fabric::Text::as_str).collect();
    let host = scene.host_of(guest).map_or_else(|| "its host".to_owned(), ToString::to_string);
    Some(
        Judged::warn(gpu, Confidence::Proved, format!("{guest}: {name} {what}"), *cause)
            .shown(gpu, Attribute::ClockReasons, format!("held by: {}", all.join(", ")))
            .decided_by(format!(
                "on {guest}: nvidia-smi {shows}; the hardware log of {host}: fans, temperatures, power supplies"
            ))
            .cured_by(
                Cure::by_hand(
                    "Mend what cools or feeds the card",
                    vec![Step::ByHand(format!(
                        "{host}: fans and air flow, dust, blanking panels, power supplies, the card's neighbours"
                    ))],
                )
                .verified_by(&["gpu.clocks-held"]),
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::told::testing::query;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || reasons("Not Active", "Not Active", "Active", "Active"),
        healthy: || reasons("Active", "Not Active", "Not Active", "Not Active"),
        unclear: || query("    Clocks Event Reasons\n        Idle                              : Unknown Error\n"),
    };

    fn reasons(idle: &str, cap: &str, slowdown: &str, thermal: &str) -> Site {
        query(&format!(
            "    Clocks Event Reasons\n        Idle                              : {idle}\n        SW Power Cap                      : \
             {cap}\n        HW Slowdown                       : {slowdown}\n            HW Thermal Slowdown           : {thermal}\n    \
             Clocks Event Reasons Counters\n        HW Thermal Slowdown               : 644864106 us\n"
        ))
    }

    #[test]
    fn limits_and_idleness_are_no_trouble() {
        assert_eq!(reasons("Not Active", "Active", "Not Active", "Not Active").statuses(&CHECK), [Status::Pass]);
        assert_eq!(reasons("Not Active", "Not Active", "Not Active", "Not Active").statuses(&CHECK), [Status::Pass]);
        let judged = reasons("Not Active", "Not Active", "Active", "Not Active").judge(&CHECK);
        assert!(judged[0].title.ends_with("is slowed down by its own protection"), "{}", judged[0].title);
    }
}
