//! Wrong advice about what PVRDMA needs of a host: its release, firmware, build and BIOS. These are sentences more than commands,
//! so that the claim itself is looked for, not only its words.

use super::{Myth, Verdict};

/// The parts of a line that are judged by themselves.
fn clauses(lower: &str) -> impl Iterator<Item = &str> {
    lower.split([';', ',', '(', ')', '；', '，', '。']).flat_map(|part| part.split(". "))
}

/// How many words at the begin of these are the release 7.0 U3 or virtual hardware 19; none if they begin with another thing.
fn version(words: &[&str]) -> usize {
    match words {
        ["vmx-19" | "7.0u3", ..] => 1,
        ["7.0", "u3", ..] => 2,
        ["7.0", "update", "3", ..] | ["hardware" | "hw", "version", "19", ..] => 3,
        _ => 0,
    }
}

/// True if a clause says that something came with 7.0 U3 or needs it: a verb that says so, right before or behind the version.
fn is_since_7_0_u3(clause: &str) -> bool {
    const BEFORE: [&str; 10] =
        ["introduced", "first", "since", "requires", "require", "required", "needs", "minimum", "least", ">="];
    const BEHIND: [&str; 4] = ["introduced", "required", "needed", "minimum"];
    const BETWEEN: [&str; 26] = [
        "in", "with", "by", "from", "vsphere", "vmware", "esxi", "version", "virtual", "hardware", "hw", "is", "are",
        "was", "the", "release", "a", "at", "or", "later", "and", "newer", "above", "appeared", "only", "of",
    ];
    const OTHER: [&str; 15] = [
        "not",
        "no",
        "never",
        "without",
        "neither",
        "nor",
        "untrue",
        "wrong",
        "false",
        "myth",
        "6.5",
        "vmx-13",
        "namespaces",
        "endpoints",
        "better",
    ];
    // `>=7.0u3` is two words.
    let spaced = clause.replace('\u{2265}', ">=").replace(">=", " >= ");
    let trim = |c: char| !c.is_alphanumeric() && !">=-".contains(c);
    let words: Vec<&str> =
        spaced.split_whitespace().map(|word| word.trim_matches(trim)).filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| OTHER.contains(word) || word.ends_with("n't")) {
        return false;
    }
    (0..words.len()).any(|at| {
        let length = version(&words[at..]);
        let says = |word: Option<&&str>, list: &[&str], piece: [&str; 2]| {
            word.is_some_and(|word| list.contains(word) || piece.iter().any(|piece| word.contains(piece)))
        };
        let stays = |word: &&&str| !BETWEEN.contains(*word);
        length > 0
            && (says(words[..at].iter().rev().find(stays), &BEFORE, ["最低", "引入"])
                || says(words[at + length..].iter().find(stays), &BEHIND, ["引入", "起"]))
    })
}

/// All of them.
pub(super) static MYTHS: &[Myth] = &[
    Myth {
        id: "host.myth-kb-89234",
        verdict: Verdict::WrongValue,
        claim: "PVRDMA does not support vMotion before 8.0 U2 (KB 89234)",
        truth: "VMware lists vMotion among what PVRDMA supports since 6.5. What changes silently is the transport: on a host \
                without RDMA adapter or tagged VMkernel adapter it becomes TCP.",
        source: "vSphere 6.5 Networking, PVRDMA; that KB cannot be found",
        weak: false,
        needs: &["89234"],
        says: |said| {
            said.any(&["kb 89234", "kb89234", "kb-89234"])
                && !said.any(&["no such", "not exist", "n't exist", "not be found", "cannot find", "never existed"])
        },
    },
    Myth {
        id: "host.myth-firmware-floor",
        verdict: Verdict::WrongValue,
        claim: "firmware 20.35.1000 for ConnectX-5, 22.30.1000 for ConnectX-6, 24.29.1000 as floors",
        truth: "The first number names the adapter: ConnectX-5 is 16.x, ConnectX-6 20.x, ConnectX-6 Dx 22.x, ConnectX-6 Lx 26.x, \
                ConnectX-7 28.x. What counts is the entry of the adapter in the VMware Compatibility Guide.",
        source: "own knowledge of NVIDIA's firmware numbers",
        weak: true,
        needs: &["20.35.1000", "22.30.1000", "24.29.1000"],
        says: |said| {
            let cx5 = said.any(&["connectx-5", "cx5", "cx-5"]) && said.word("20.35.1000");
            let cx6 = said.any(&["connectx-6", "cx6", "cx-6"])
                && !said.any(&["6 dx", "6-dx", "6dx"])
                && said.word("22.30.1000");
            (cx5 || cx6 || said.word("24.29.1000")) && !said.denies()
        },
    },
    Myth {
        id: "host.myth-build-numbers",
        verdict: Verdict::WrongValue,
        claim: "7.0 U3 is build 18643491 and U3b is build 18808142",
        truth: "7.0 U3 is build 18644231, 7.0 U3c is 19193900, 7.0 U3d is 19482537.",
        source: "Broadcom KB 395110; field report",
        weak: false,
        needs: &["18643491", "18808142"],
        says: |said| (said.word("18643491") || said.word("18808142")) && !said.denies(),
    },
    Myth {
        id: "host.myth-pvrdma-since-7u3",
        verdict: Verdict::WrongValue,
        claim: "PVRDMA came with vSphere 7.0 U3 or needs virtual hardware 19",
        truth: "It is there since vSphere 6.5 with virtual hardware 13. RDMA namespaces need 7.0 and hardware 17, native \
                endpoints 7.0 U1 and hardware 18.",
        source: "vSphere 7.0 Networking, PVRDMA Support",
        weak: false,
        needs: &["pvrdma"],
        says: |said| said.any(&["pvrdma"]) && clauses(&said.lower).any(is_since_7_0_u3),
    },
    Myth {
        id: "host.myth-bios-for-pvrdma",
        verdict: Verdict::Irrelevant,
        claim: "PVRDMA needs VT-d or SR-IOV in the BIOS",
        truth: "It does not: the adapter stays with the host. They matter for passthrough.",
        source: "vSphere 7.0 Networking, PVRDMA Support",
        weak: false,
        needs: &["pvrdma"],
        says: |said| {
            let asks = ["enabl", "need", "requir", "must", "activat", "turn on", "switch on", "开启", "启用"];
            let of = said.any(&["pvrdma"]) && said.word("bios") && said.any(&["vt-d", "sr-iov", "amd-vi", "iommu"]);
            // For passthrough they are right, and a sentence may speak of both.
            of && said.any(&asks) && !said.any(&["passthrough", "directpath"]) && !said.denies()
        },
    },
];
