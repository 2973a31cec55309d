//! What would happen at power-on, by the findings and by what is not known.

use crate::diagnose::lint::{Finding, Subject};
use crate::probe::vmx::PciId;

/// What would happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing that was looked at speaks against it.
    Starts,
    /// It would fail.
    Fails,
    /// It depends on something that is not known.
    Unknown,
}

/// The verdict and its reason.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PowerOn {
    /// What would happen.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
}

impl PowerOn {
    /// Nothing can be said, because of this.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Unknown, reason: reason.into() }
    }

    /// What these findings mean.
    pub fn of(subject: &Subject<'_>, findings: &[Finding]) -> Self {
        let mut reasons: Vec<&str> = Vec::new();
        for reason in findings.iter().filter_map(|finding| finding.found.power_on_fails.as_deref()) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        if !reasons.is_empty() {
            return Self { verdict: Verdict::Fails, reason: reasons.join("; ") };
        }
        // Without these the file is a part of one, as people paste it.
        if ["config.version", "virtualHW.version"].iter().any(|key| subject.vmx.get(key).is_none()) {
            return Self::unknown("no whole configuration: config.version or virtualHW.version is missing");
        }
        let functions = subject.host.and_then(|host| host.functions.as_ref());
        let ids: Vec<String> = subject
            .vmx
            .present("pciPassthru")
            .into_iter()
            .filter_map(|number| subject.vmx.value(&format!("pciPassthru{number}.id")))
            .filter_map(|id| PciId::read(id).addresses().first().map(|&address| address.to_owned()))
            .collect();
        if functions.is_none() && !ids.is_empty() {
            return Self::unknown(format!(
                "it needs {} of its host, and what the host has is not known (--host or --snapshot tells)",
                ids.join(", ")
            ));
        }
        Self { verdict: Verdict::Starts, reason: "nothing that was looked at speaks against it".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::lint::{Found, HostView, Rule, Severity, Source};
    use crate::probe::vmx::Dictionary;

    static RULE: Rule = Rule {
        id: "vmx.test",
        severity: Severity::Error,
        title: "",
        versions: "",
        source: Source { text: "", weak: false },
        check: |_| Vec::new(),
    };

    fn of(text: &str, host: Option<&HostView>, fails: &[&str]) -> (Verdict, String) {
        let vmx = Dictionary::parse(text.as_bytes());
        let finding = |reason: &&str| Finding {
            rule: &RULE,
            found: Found { power_on_fails: Some((*reason).to_owned()), ..Found::default() },
        };
        let findings: Vec<Finding> = fails.iter().map(finding).collect();
        let power_on = PowerOn::of(&Subject { vmx: &vmx, host, snapshots: None }, &findings);
        (power_on.verdict, power_on.reason)
    }

    #[test]
    fn findings_come_first_then_what_is_not_known() {
        let whole = "config.version = \"8\"\nvirtualHW.version = \"19\"\n";
        assert_eq!(of(whole, None, &["a", "b", "a"]), (Verdict::Fails, "a; b".to_owned()));
        assert_eq!(of(whole, None, &[]).0, Verdict::Starts);
        assert_eq!(of("memsize = \"4\"", None, &[]).0, Verdict::Unknown);
        let gpu = format!("{whole}pciPassthru0.present = \"TRUE\"\npciPassthru0.id = \"00000:175:00.0\"\n");
        let (verdict, reason) = of(&gpu, None, &[]);
        assert!(verdict == Verdict::Unknown && reason.contains("0000:af:00.0"), "{reason}");
        let host = HostView { functions: Some(Vec::new()), ..HostView::default() };
        assert_eq!(of(&gpu, Some(&host), &[]).0, Verdict::Starts);
    }
}
