//! Verdicts over whole sites, second by second.

use super::testing::{DCGM, ESXTOP, SMI, at, dcgm, esxtop, gpu, half_a_minute, with};
use super::*;
use crate::diagnose::check::limited_testing::around;
use crate::fabric::Measured;

fn standing(rows: &[Measured]) -> Standing {
    around().measured(rows).limits().all().next().map_or(Standing::TooFewSamples, |verdict| verdict.standing)
}

#[test]
fn full_load_is_healthy_and_rest_is_rest() {
    assert_eq!(standing(&half_a_minute(SMI, DCGM, ESXTOP)), Standing::Healthy);
    assert_eq!(standing(&half_a_minute(SMI, "", "")), Standing::Healthy, "without DCGM and esxtop too");
    let idle = with(&with(SMI, "utilization.gpu", "0 %"), "pcie.link.gen.gpucurrent", "1");
    assert_eq!(standing(&half_a_minute(&idle, &dcgm("0.000", "90000", "80000"), ESXTOP)), Standing::Idle);
    let hidden = with(SMI, "utilization.gpu", "[N/A]");
    assert_eq!(standing(&half_a_minute(&hidden, "", ESXTOP)), Standing::Unclear, "MIG without DCGM");
    assert_eq!(standing(&half_a_minute(SMI, DCGM, ESXTOP)[..4]), Standing::TooFewSamples);
}

#[test]
fn each_verdict_says_what_would_disprove_it_and_what_comes_next() {
    let starved = dcgm("0.200", "27901344512", "2101344512");
    let site = around().measured(&half_a_minute(SMI, &starved, &with(ESXTOP, "% Ready", "400.00")));
    let verdict = site.limits().all().next().expect("a verdict");
    assert_eq!((verdict.standing, verdict.runner_up), (Standing::Limited(Factor::PcieBound), Some(Factor::CpuStarved)));
    assert!(
        verdict.says.contains("27.9 GB/s to the GPU") && verdict.says.contains("31.5 GB/s each way"),
        "{}",
        verdict.says
    );
    assert!(!verdict.disproved_by.is_empty() && !verdict.evidence().is_empty());
    assert_eq!(verdict.factors.len(), Factor::ALL.len(), "each factor is accounted for");
}

#[test]
fn it_comes_with_the_trouble_and_goes_with_it() {
    let starved = dcgm("0.200", "27901344512", "2101344512");
    let mut site = around();
    let mut seen = Vec::new();
    for second in 1..=40 {
        let text = if (10..25).contains(&second) { starved.as_str() } else { DCGM };
        site = site.measured(&[gpu("gpu-a", second, SMI, text)]);
        seen.push(site.limits().all().next().expect("a verdict").standing);
    }
    let bound = |standing: &&Standing| **standing == Standing::Limited(Factor::PcieBound);
    let first = seen.iter().position(|standing| bound(&standing)).expect("it comes");
    let count = seen.iter().filter(bound).count();
    assert_eq!((first + 1, count), (13, 16), "after four samples of it, until five of six are sound: {seen:?}");
    assert!(seen[first..first + count].iter().all(|standing| bound(&standing)), "and does not flicker: {seen:?}");
}

#[test]
fn a_moment_of_trouble_is_no_verdict() {
    let starved = dcgm("0.200", "27901344512", "2101344512");
    let rows: Vec<Measured> =
        (1..=40).map(|second| gpu("gpu-a", second, SMI, if second % 2 == 0 { &starved } else { DCGM })).collect();
    for end in 6..rows.len() {
        assert_eq!(standing(&rows[..end]), Standing::Healthy);
    }
}

#[test]
fn what_is_not_told_any_more_is_no_verdict_and_what_is_forgotten_neither() {
    let site = around().measured(&half_a_minute(SMI, DCGM, ESXTOP));
    let mut limits = site.limits().clone();
    let (fabric, joined, thresholds) = (site.fabric(), site.joined(), Thresholds::default());
    let says = Says { rule: GpuRule::default(), thresholds: &thresholds };
    assert!(!limits.judge(fabric, &joined, says, at(31)), "nothing new");
    let mut gone = limits.clone();
    assert!(gone.judge(fabric, &joined, says, at(60)), "the stream ended");
    assert!(gone.is_empty() && gone.all().next().is_none());
    limits.forget(&TargetId::new("gpu-a"));
    assert_eq!(limits.all().count(), 0);
}

#[test]
fn host_and_guest_are_matched_by_time() {
    // The ready time of a minute ago says nothing of a GPU that works little now.
    let waits = with(ESXTOP, "% Ready", "400.00");
    let mut rows: Vec<Measured> = (1..=6).map(|step| esxtop("esx01", step * 5, &waits)).collect();
    let little = dcgm("0.300", "2101344512", "901344512");
    rows.extend((70..=80).map(|second| gpu("gpu-a", second, SMI, &little)));
    let site = around().measured(&rows);
    let verdict = site.limits().all().next().expect("a verdict");
    assert_eq!(verdict.factors[&Factor::CpuStarved].outcome, Outcome::Unseen(Lack::NotRead));
    assert_eq!(verdict.standing, Standing::Limited(Factor::InputStarved));
}

#[test]
fn a_jump_of_a_balloon_is_pressure_by_the_published_rule_for_one_row() {
    let mut rows = half_a_minute(SMI, DCGM, ESXTOP);
    let jumped = with(ESXTOP, "Memctl Current MBytes", "4096.00");
    rows.push(esxtop("esx01", 31, &jumped));
    let site = around().measured_by(GpuRule::Published, &rows);
    let verdict = site.limits().all().next().expect("a verdict");
    assert_eq!(verdict.standing, Standing::Limited(Factor::MemoryPressure));
    assert_eq!(verdict.weakness, Some(WEAKNESS));
}

#[test]
fn it_is_kept_with_a_recording() {
    let site = around().measured(&half_a_minute(SMI, DCGM, ESXTOP));
    let kept = rmp_serde::to_vec_named(site.limits()).expect("it can be written");
    let mut read: Limits = rmp_serde::from_slice(&kept).expect("and read");
    let thresholds = Thresholds::default();
    let says = Says { rule: GpuRule::default(), thresholds: &thresholds };
    read.judge(site.fabric(), &site.joined(), says, at(30));
    assert_eq!(&read, site.limits());
}

mod whatever {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::fabric::Text;

    fn number() -> impl Strategy<Value = Option<f64>> {
        let odd = prop::sample::select(vec![f64::NAN, f64::INFINITY, -1.0, 1e300, 0.0, 255.0, 1e18]);
        prop_oneof![Just(None), odd.prop_map(Some), (0.0..200.0).prop_map(Some)]
    }

    fn row() -> impl Strategy<Value = Measured> {
        let gauges = prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, number()), 0..30);
        (gauges, 0..60u32, any::<bool>(), any::<u64>()).prop_map(|(gauges, second, of_host, period)| Measured {
            target: TargetId::new(if of_host { "esx01" } else { "gpu-a" }),
            at: at(second),
            stream: Text::new(if of_host { "esxi.esxtop" } else { "gpu.stream" }),
            period: Duration::from_secs(period),
            gauges: gauges
                .into_iter()
                .map(|(measure, entity, value)| {
                    let entity = match entity {
                        0 => Entity::Gpu(Text::new("0000:05:00.0")),
                        1 => Entity::Group(Text::new("gpu-a")),
                        2 => Entity::Host,
                        _ => Entity::Guest,
                    };
                    measure.get(Measure::ALL).of(&entity, value)
                })
                .collect(),
            facts: Vec::new(),
            observation: None,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Whatever streams tell, in whatever order and at whatever times: a verdict stands, and what holds is shown.
        #[test]
        fn rows_break_no_verdict(rows in prop::collection::vec(row(), 0..40)) {
            let site = around().measured(&rows);
            for verdict in site.limits().all() {
                prop_assert_eq!(verdict.factors.len(), Factor::ALL.len());
                prop_assert!(!verdict.says.is_empty());
                prop_assert!(verdict.factors.values().all(|assessed| !assessed.is_held() || !assessed.evidence.is_empty()));
                if let Some(runner_up) = verdict.runner_up {
                    prop_assert!(verdict.factors[&runner_up].is_held() && verdict.factor() != Some(runner_up));
                }
            }
        }
    }
}
