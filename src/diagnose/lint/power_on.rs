//! What the findings and the file say about the next power-on: it fails if one of the findings is known to make it fail; it
//! is not known as long as an error stands whose effect is not known, the file is a part only, or it asks for devices of a
//! host that was not read, or for a share of a GPU, of which no host tells what is left; else nothing that was looked at is
//! against it.

use super::rules::device::{Kind, devices};
use super::rules::passthrough_id::is_decided;
use super::rules::shown;
use super::{AtPowerOn, Finding, Severity, Subject};
use crate::probe::vmx::PciId;

/// What would happen at power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing that was looked at prevents it.
    Starts,
    /// At least one finding is known to prevent it.
    Fails,
    /// It depends on something that is not known.
    Unknown,
}

impl Verdict {
    /// The word of documents: `starts`, `fails` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::Fails => "fails",
            Self::Unknown => "unknown",
        }
    }
}

/// The verdict on the next power-on.
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

    /// Judges a file by its findings, gravest first as [`super::lint`] returns them.
    pub fn of(subject: &Subject<'_>, findings: &[Finding]) -> Self {
        let mut reasons: Vec<String> = Vec::new();
        for found in findings.iter().map(|finding| &finding.found) {
            let Some(why) = &found.power_on_fails else { continue };
            // One reason can stand behind several findings.
            if !reasons.iter().any(|reason| reason.ends_with(why.as_str())) {
                reasons.push(format!("{}{why}", place(found.line)));
            }
        }
        if !reasons.is_empty() {
            return Self { verdict: Verdict::Fails, reason: reasons.join("; ") };
        }
        let undecided = |finding: &&Finding| match finding.rule.at_power_on {
            AtPowerOn::BySeverity => finding.rule.severity == Severity::Error,
            AtPowerOn::Starts => false,
            AtPowerOn::Open => true,
        };
        if let Some(first) = findings.iter().find(undecided) {
            let message = &first.found.message;
            let place = place(first.found.line);
            return Self::unknown(format!("{place}{message}; what the host makes of it at power-on is not known"));
        }
        // Without these the file is a part of one, as people paste it.
        if ["config.version", "virtualHW.version"].iter().any(|key| subject.vmx.get(key).is_none()) {
            return Self::unknown("no whole configuration: config.version or virtualHW.version is missing");
        }
        let is_read = subject.host.is_some_and(|host| is_decided(subject, host));
        let (asked, shares) = asked(subject);
        if !is_read && (!asked.is_empty() || !shares.is_empty()) {
            return Self::unknown(format!(
                "it needs {} of its host, and what the host has is not known (--host or --snapshot tells)",
                asked.into_iter().chain(shares).collect::<Vec<_>>().join(", ")
            ));
        }
        if !shares.is_empty() {
            return Self::unknown(format!(
                "it needs {} of its host: whether a GPU there offers that profile and has room for it is not read \
                 (nvidia-smi vgpu -c on the host tells)",
                shares.join(", ")
            ));
        }
        Self { verdict: Verdict::Starts, reason: "nothing that was looked at speaks against it".to_owned() }
    }
}

fn place(line: Option<u32>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

/// What the file asks of the host: functions, as the host's tools print them, any function of some models, virtual
/// functions; and shares of GPUs.
fn asked(subject: &Subject<'_>) -> (Vec<String>, Vec<String>) {
    let (mut whole, mut shares) = (Vec::new(), Vec::new());
    for device in devices(subject.vmx) {
        match (device.kind, device.id, device.allowed, device.vgpu) {
            (Kind::Vgpu, _, _, Some(profile)) => shares.push(format!("the vGPU {}", shown(&profile.value))),
            (Kind::Dynamic, _, Some(allowed), _) => {
                whole.push(format!("a free function of the models {}", shown(&allowed.value)));
            }
            (_, Some(id), ..) => {
                whole.extend(PciId::read(&id.value).addresses().first().map(|&address| address.to_owned()));
            }
            (Kind::Virtual, ..) => whole.push(format!("a virtual function for pciPassthru{}", device.number)),
            _ => {}
        }
    }
    (whole, shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::lint::{HostView, Passthrough, catalogue, lint};
    use crate::probe::vmx::Dictionary;

    const WHOLE: &str = "config.version = \"8\"\nvirtualHW.version = \"19\"\nmemSize = \"4096\"\n";

    fn beside(text: &str, host: Option<&HostView>) -> PowerOn {
        let vmx = Dictionary::parse(text.as_bytes());
        let subject = Subject { vmx: &vmx, host, snapshots: None };
        PowerOn::of(&subject, &lint(&subject))
    }

    fn verdict(text: &str) -> PowerOn {
        beside(text, None)
    }

    #[test]
    fn what_is_said_of_the_power_on_fits_the_severity() {
        let of = |at| catalogue().filter(move |rule| rule.at_power_on == at);
        assert!(of(AtPowerOn::Starts).all(|rule| rule.severity == Severity::Error));
        assert!(of(AtPowerOn::Open).all(|rule| rule.severity == Severity::Warning));
        assert!(of(AtPowerOn::Starts).count() > 0 && of(AtPowerOn::Open).count() > 0);
    }

    #[test]
    fn a_known_failure_stands_above_what_is_not_known() {
        assert_eq!(verdict(WHOLE).verdict, Verdict::Starts);
        let unknown = verdict(&format!("a b\n{WHOLE}"));
        assert_eq!(unknown.verdict.name(), "unknown");
        assert!(unknown.reason.starts_with("line 1: "), "{}", unknown.reason);
        let fails = verdict(&format!(
            "a b\n{WHOLE}memsize = \"4096\"\nMEMSIZE = \"4096\"\nnumvcpus = \"1\"\nnumvcpus = \"1\"\n"
        ));
        assert_eq!(fails.verdict.name(), "fails");
        let reasons: Vec<&str> =
            fails.reason.split("; ").map(|reason| reason.split(':').next().unwrap_or("")).collect();
        assert_eq!(reasons, ["line 5", "line 6", "line 8"], "{}", fails.reason);
    }

    #[test]
    fn a_part_of_a_file_is_not_judged_to_start() {
        assert_eq!(verdict("memSize = \"4096\"\n").verdict, Verdict::Unknown);
    }

    #[test]
    fn any_function_of_some_models_and_a_share_of_a_gpu_depend_on_the_host() {
        let with = |line: &str| {
            format!(
                "{WHOLE}pciBridge4.present = \"TRUE\"\nsched.mem.min = \"4096\"\nsched.mem.pin = \"TRUE\"\n\
                 pciPassthru0.present = \"TRUE\"\n{line}\n"
            )
        };
        let (dynamic, vgpu) =
            (with("pciPassthru0.allowedDevices = \"0x10de:0x1eb8\""), with("pciPassthru0.vgpu = \"grid_a100-4c\""));
        for (text, what) in
            [(&dynamic, "a free function of the models 0x10de:0x1eb8"), (&vgpu, "the vGPU grid_a100-4c")]
        {
            let open = verdict(text);
            assert!(open.verdict == Verdict::Unknown && open.reason.contains(what), "{}", open.reason);
            assert!(open.reason.contains("--host or --snapshot tells"), "{}", open.reason);
        }
        let of = |device: &str| HostView {
            functions: Some(vec![crate::diagnose::lint::HostFunction {
                address: "0000:af:00.0".to_owned(),
                vendor: "10de".to_owned(),
                device: device.to_owned(),
                ..Default::default()
            }]),
            ..HostView::default()
        };
        assert_eq!(beside(&dynamic, Some(&of("1eb8"))).verdict, Verdict::Starts);
        let fails = beside(&dynamic, Some(&of("20f1")));
        assert!(fails.verdict == Verdict::Fails && fails.reason.contains("0x10de:0x1eb8"), "{}", fails.reason);
        // A model that is not known may be the one that is asked for.
        let open = beside(&dynamic, Some(&of("")));
        assert!(open.verdict == Verdict::Unknown && open.reason.contains("0x10de:0x1eb8"), "{}", open.reason);
        let open = beside(&vgpu, Some(&of("20f1")));
        assert!(open.verdict == Verdict::Unknown && open.reason.contains("nvidia-smi vgpu"), "{}", open.reason);
    }

    fn owned(host: &HostView, passthrough: Passthrough) -> HostView {
        let mut host = host.clone();
        for function in host.functions.iter_mut().flatten() {
            function.passthrough = Some(passthrough);
        }
        host
    }

    #[test]
    fn a_function_of_an_unknown_host_leaves_it_open() {
        let network = format!(
            "{WHOLE}pciBridge4.present = \"TRUE\"\nsched.mem.min = \"4096\"\npciPassthru0.present = \"TRUE\"\n\
             pciPassthru0.id = \"00000:175:00.0\"\npciPassthru0.vendorId = \"0x15b3\"\npciPassthru0.deviceId = \"0x101d\"\n"
        );
        let bare = HostView::default();
        for host in [None, Some(&bare)] {
            let open = beside(&network, host);
            assert!(open.verdict == Verdict::Unknown && open.reason.contains("0000:af:00.0"), "{}", open.reason);
        }
        let function = crate::diagnose::lint::HostFunction {
            address: "0000:af:00.0".to_owned(),
            vendor: "15b3".to_owned(),
            device: "101d".to_owned(),
            ..Default::default()
        };
        let host = HostView { functions: Some(vec![function]), ..HostView::default() };
        assert_eq!(beside(&network, Some(&host)).verdict, Verdict::Starts);
        let waits = beside(&network, Some(&owned(&host, Passthrough::Waits)));
        assert!(waits.verdict == Verdict::Fails && waits.reason.contains("waits for a reboot"), "{}", waits.reason);
        let off = beside(&network, Some(&owned(&host, Passthrough::Off)));
        assert!(off.verdict == Verdict::Fails && off.reason.contains("is not enabled"), "{}", off.reason);
        let host = HostView { functions: Some(Vec::new()), ..HostView::default() };
        assert_eq!(beside(&network, Some(&host)).verdict, Verdict::Fails);
    }
}
