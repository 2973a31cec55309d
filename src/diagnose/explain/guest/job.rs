//! Command lines with which jobs and tests are started, and the variables that are set for them: `mpirun`, the programs of
//! perftest, `UCX_TLS=...`, `NCCL_...`. What they ask for is told, and what of it leaves RDMA aside or cannot work.

use std::net::IpAddr;

use super::{Output, number, text};
use crate::diagnose::explain::Explained;
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::tune::mpi::{LAUNCHERS, is_of_openib, is_only_tcp};
use crate::tune::ucx;

/// No longer line is taken for a command.
const LONGEST: usize = 4096;

/// How the variables begin that are told.
const VARIABLES: [&str; 3] = ["UCX_", "NCCL_", "OMPI_MCA_"];

/// Options of perftest that are told, each with its long name and the name of its fact.
const TEST_OPTIONS: [(&str, &str, &str); 8] = [
    ("-d", "--ib-dev", "device"),
    ("-i", "--ib-port", "port"),
    ("-x", "--gid-index", "gid-index"),
    ("-m", "--mtu", "mtu"),
    ("-s", "--size", "size"),
    ("-q", "--qp", "queue-pairs"),
    ("-S", "--sl", "service-level"),
    ("-n", "--iters", "iterations"),
];

/// What a command line starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    /// A launcher of MPI.
    Launcher,
    /// A test of perftest.
    Test,
    /// Nothing: it sets variables.
    Variables,
}

/// True for a line that starts a job or a test, or sets a variable for one. The names of programs stand in sentences too:
/// behind them there has to be what only a command has.
pub(in crate::diagnose::explain) fn is_command_line(line: &str) -> bool {
    line.len() <= LONGEST && command(line).is_some()
}

/// The variables, the program and the words of a command line.
fn command(line: &str) -> Option<(Program, Vec<String>)> {
    // Most lines are none: a look at their first letters is cheap.
    let begin = line.trim_start_matches(['#', '$', '>', ' ']);
    let hints = ["ib_", "raw_ethernet_", "export ", "env ", "sudo ", "UCX_", "NCCL_", "OMPI_MCA_", "/", "."];
    if !hints.iter().chain(&LAUNCHERS).any(|hint| begin.starts_with(hint)) {
        return None;
    }
    let words = shlex::split(begin.trim_end_matches('\\'))?;
    let mut rest = words.iter().skip_while(|word| matches!(word.as_str(), "sudo" | "env" | "export")).peekable();
    let mut variables = 0;
    while let Some(word) = rest.peek()
        && variable(word).is_some()
    {
        variables += 1;
        rest.next();
    }
    let Some(first) = rest.next() else { return (variables > 0).then_some((Program::Variables, words)) };
    let name = first.rsplit('/').next().unwrap_or_default();
    let second = rest.peek().map_or("", |word| word.as_str());
    let program = if LAUNCHERS.contains(&name) && second.starts_with(['-', '.', '/']) {
        Program::Launcher
    } else if is_test(name) && (second.starts_with('-') || second.parse::<IpAddr>().is_ok()) {
        Program::Test
    } else if variables > 0 && first.starts_with(['.', '/']) {
        Program::Variables
    } else {
        return None;
    };
    Some((program, words))
}

/// True for the name of a program of perftest.
fn is_test(name: &str) -> bool {
    let rest = name.strip_prefix("ib_").or_else(|| name.strip_prefix("raw_ethernet_"));
    rest.and_then(|rest| rest.rsplit_once('_')).is_some_and(|(what, measure)| {
        matches!(measure, "bw" | "lat") && matches!(what, "write" | "read" | "send" | "atomic" | "burst")
    })
}

/// Name and value of a variable that is told.
fn variable(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (plain && VARIABLES.iter().any(|begin| name.starts_with(begin))).then_some((name, value))
}

/// Reads what command lines ask for.
pub(super) fn read(explained: &mut Explained, output: &Output<'_>, at: Option<u32>) {
    if let Some(line) = at {
        one(explained, output, line, output.command);
    }
    for words in &output.lines {
        one(explained, output, words.number, words.text);
    }
}

fn one(explained: &mut Explained, output: &Output<'_>, line: u32, written: &str) {
    if written.len() > LONGEST {
        return;
    }
    let Some((program, words)) = command(written) else { return };
    let mut said = Asked { explained, output, line, written };
    for (name, value) in words.iter().filter_map(|word| variable(word)) {
        said.sets(name, value);
    }
    match program {
        Program::Launcher => said.launches(&words),
        Program::Test => said.tests(&words),
        Program::Variables => {}
    }
    if said.explained.next.is_none() {
        said.explained.next = Some(next(program, &words));
    }
}

/// How it is seen what came of it.
fn next(program: Program, words: &[String]) -> String {
    let of_nccl = words.iter().any(|word| word.starts_with("NCCL_"));
    match program {
        Program::Launcher => "which way its messages take is said with --mca pml_base_verbose 10, and by UCX with \
                              -x UCX_PROTO_INFO=y"
            .to_owned(),
        Program::Test => {
            "the same command without an address is started first, on the server; the client is given its address"
                .to_owned()
        }
        Program::Variables if of_nccl => "NCCL_DEBUG=INFO says in the job which network it takes".to_owned(),
        Program::Variables => {
            "ucx_info -d lists what exists on the guest, UCX_PROTO_INFO=y says in the job what is taken".to_owned()
        }
    }
}

/// One command line, and where what it asks for is told.
struct Asked<'a, 'b> {
    explained: &'a mut Explained,
    output: &'a Output<'b>,
    line: u32,
    written: &'a str,
}

impl Asked<'_, '_> {
    fn tells(&mut self, name: &str, value: &str) {
        let state = value.parse().map_or_else(|_| text(value), number);
        self.explained.fact(self.line, &self.output.owner(name), state, None);
    }

    fn finds(
        &mut self,
        check: &str,
        status: Status,
        confidence: Confidence,
        subject: &str,
        title: &str,
        cause: &str,
    ) -> Finding {
        Finding::new(check, status, confidence, subject, title, cause).shown(self.line, self.written)
    }

    fn sets(&mut self, name: &str, value: &str) {
        self.tells(name, value);
        match name {
            "UCX_TLS" => self.transports(value),
            "UCX_NET_DEVICES" => self.devices(value),
            "NCCL_IB_DISABLE" if value == "1" => {
                let found = self.finds(
                    "mpi.nccl-ib",
                    Status::Warn,
                    Confidence::Proved,
                    name,
                    "NCCL_IB_DISABLE=1 keeps NCCL off RDMA",
                    "NCCL goes over TCP sockets (\"NET/Socket\" in its log), whatever adapter there is.",
                );
                self.explained.finding(found.helped_by(
                    "Leave the variable out",
                    &["unset NCCL_IB_DISABLE"],
                    "the log of NCCL says NET/IB",
                ));
            }
            _ => {
                if let Some(parameter) = name.strip_prefix("OMPI_MCA_") {
                    self.parameter(parameter, value);
                }
            }
        }
    }

    /// The list of UCX's transports. `^` names what is left out, which says nothing of what is left.
    fn transports(&mut self, value: &str) {
        let asked = ucx::Asked::of(value);
        if asked.is_open {
            return;
        }
        let (rdma, mlx5) = (&asked.over_rdma, &asked.of_mlx5);
        if rdma.is_empty() {
            let found = self.finds(
                "mpi.ucx-tls",
                Status::Warn,
                Confidence::Proved,
                "UCX_TLS",
                "UCX_TLS leaves RDMA out",
                "The list names no transport over RDMA, so ranks of different nodes go over TCP, or do not reach each other.",
            );
            self.explained.finding(found.helped_by(
                "Name transports over RDMA",
                &["export UCX_TLS=rc,ud,sm,self"],
                "UCX_PROTO_INFO=y names rc in the job",
            ));
        } else if mlx5.len() == rdma.len() {
            let cause = format!(
                "Only adapters of mlx5 (passed through, or a virtual function) have {}. On a PVRDMA adapter UCX says \"transport \
                 '{}' is not available\" and Open MPI ends with \"PML ucx cannot be selected\"; there the list is rc_v,ud_v,sm,self.",
                mlx5.join(", "),
                mlx5.first().copied().unwrap_or_default()
            );
            let title = "UCX_TLS names only transports of mlx5";
            let found = self.finds("mpi.ucx-tls", Status::Info, Confidence::Possible, "UCX_TLS", title, &cause);
            self.explained.finding(found.decided_by("ucx_info -d on the guest: the transports that exist there"));
        } else if asked.lacks_wire_up {
            let found = self.finds(
                "mpi.ucx-tls",
                Status::Warn,
                Confidence::Likely,
                "UCX_TLS",
                "UCX_TLS lacks a transport for the wire-up",
                &format!("{}.", ucx::WIRE_UP),
            );
            self.explained.finding(found);
        }
    }

    /// UCX's devices: those of RDMA have a port behind their names.
    fn devices(&mut self, value: &str) {
        for device in value.split(',').filter(|device| ucx::lacks_port(device)) {
            let cause = format!(
                "A device of RDMA is named with its port, {device}:1. Without it UCX says \"network device '{device}' is not available\"."
            );
            let title = format!("UCX_NET_DEVICES names {device} without a port");
            let found =
                self.finds("mpi.ucx-net-devices", Status::Warn, Confidence::Likely, "UCX_NET_DEVICES", &title, &cause);
            self.explained.finding(found.helped_by(
                "Name the port",
                &[&format!("export UCX_NET_DEVICES={device}:1")],
                "UCX takes the device",
            ));
        }
    }

    fn launches(&mut self, words: &[String]) {
        let mut pml = None;
        let mut btl = None;
        for at in 0..words.len() {
            let behind = |more: usize| words.get(at + more).map(String::as_str);
            match (words[at].as_str(), behind(1), behind(2)) {
                ("--mca" | "-mca" | "--gmca", Some(parameter), Some(value)) => {
                    self.tells(&format!("mca.{parameter}"), value);
                    match parameter {
                        "pml" => pml = Some(value),
                        "btl" => btl = Some(value),
                        _ => {}
                    }
                    self.parameter(parameter, value);
                }
                ("-np" | "-n" | "--np" | "-c", Some(value), _) if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                    self.tells("ranks", value);
                }
                ("--host" | "-H" | "-host" | "--hostfile" | "-hostfile", Some(value), _) => self.tells("hosts", value),
                _ => {}
            }
        }
        self.over_tcp(pml, btl);
    }

    /// A parameter of Open MPI, whichever way it is given.
    fn parameter(&mut self, name: &str, value: &str) {
        if is_of_openib(name, value) {
            let found = self.finds(
                "mpi.btl-parameters",
                Status::Info,
                Confidence::Proved,
                "openib",
                "The BTL openib is used no more",
                "Open MPI 4 takes UCX for RDMA and warns of openib, 5.0 has none: there the parameter is without effect, or the job \
                 does not start.",
            );
            self.explained.finding(found.helped_by(
                "Take UCX",
                &["mpirun --mca pml ucx ..."],
                "--mca pml_base_verbose 10 says: select: component ucx selected",
            ));
        }
    }

    /// Messages that go over TCP by what is asked for.
    fn over_tcp(&mut self, pml: Option<&str>, btl: Option<&str>) {
        let (confidence, cause) = match (pml, btl) {
            (Some("ucx" | "cm"), _) => return,
            (Some("ob1"), Some(list)) if is_only_tcp(list) => (
                Confidence::Proved,
                "pml ob1 sends by the BTLs that are listed, and between nodes that is tcp alone: RDMA is not used.",
            ),
            (_, Some(list)) if is_only_tcp(list) => (
                Confidence::Likely,
                "The BTLs that are listed reach other nodes by TCP alone. Only where pml ucx is chosen, which does not ask for BTLs, RDMA is used all the same.",
            ),
            _ => return,
        };
        let found = self.finds("mpi.pml", Status::Warn, confidence, "btl", "MPI goes over TCP between nodes", cause);
        self.explained.finding(found.helped_by(
            "Take UCX",
            &["mpirun --mca pml ucx ..."],
            "--mca pml_base_verbose 10 says: select: component ucx selected",
        ));
    }

    fn tests(&mut self, words: &[String]) {
        let name = words.iter().map(|word| word.rsplit('/').next().unwrap_or_default()).find(|word| is_test(word));
        let name = name.unwrap_or_default().to_owned();
        for (at, word) in words.iter().enumerate() {
            let known = TEST_OPTIONS.iter().find_map(|(short, long, fact)| {
                let glued = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
                let apart = (word == short || word == long).then(|| words.get(at + 1).map(String::as_str)).flatten();
                Some((*fact, glued.or(apart)?))
            });
            if let Some((fact, value)) = known {
                self.tells(&format!("{name}.{fact}"), value);
            }
        }
        if let Some(server) = words.last().filter(|word| word.parse::<IpAddr>().is_ok()) {
            self.tells(&format!("{name}.server"), server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::explain::{Kind, explain};

    fn findings(text: &str) -> Vec<(String, Status)> {
        explain("-", text.as_bytes()).findings.into_iter().map(|finding| (finding.check, finding.status)).collect()
    }

    #[test]
    fn a_lone_command_line_is_recognised_and_what_it_asks_for_told() {
        for (line, facts) in [
            ("mpirun -np 4 --mca pml ucx -x UCX_TLS=rc_v,ud_v,sm,self ./a.out", &["ranks", "mca.pml", "UCX_TLS"][..]),
            (
                "ib_write_bw -d rocep27s0f1 -x 3 --report_gbits 10.0.0.2",
                &["ib_write_bw.device", "ib_write_bw.gid-index", "ib_write_bw.server"],
            ),
            ("$ sudo /usr/bin/ib_send_lat --ib-dev=mlx5_0 -m 4096", &["ib_send_lat.device", "ib_send_lat.mtu"]),
            ("export UCX_TLS=rc,ud,sm,self", &["UCX_TLS"]),
            ("NCCL_IB_HCA=mlx5_0:1", &["NCCL_IB_HCA"]),
            ("OMPI_MCA_pml=ucx mpirun -n 2 ./a", &["OMPI_MCA_pml", "ranks"]),
        ] {
            let said = explain("-", line.as_bytes());
            assert_eq!(said.kinds, [Kind::Shell], "{line}");
            for fact in facts {
                assert!(
                    said.facts.iter().any(|told| told.name.as_str() == *fact),
                    "{line}: {fact} of {:?}",
                    said.facts
                );
            }
            assert!(said.findings.is_empty(), "{line}: {:?}", said.findings);
            assert!(said.next.is_some(), "{line}");
        }
    }

    #[test]
    fn what_leaves_rdma_out_or_cannot_work_is_found() {
        for (line, check, status) in [
            ("export UCX_TLS=tcp,sm,self", "mpi.ucx-tls", Status::Warn),
            ("mpirun -np 2 -x UCX_TLS=rc_x,sm,self ./a", "mpi.ucx-tls", Status::Info),
            ("UCX_TLS=rc_verbs,sm,self ./a", "mpi.ucx-tls", Status::Warn),
            ("mpirun -x UCX_NET_DEVICES=mlx5_0 -np 2 ./a", "mpi.ucx-net-devices", Status::Warn),
            ("export NCCL_IB_DISABLE=1", "mpi.nccl-ib", Status::Warn),
            ("mpirun --mca btl openib,self ./a", "mpi.btl-parameters", Status::Info),
            ("mpirun --mca pml ob1 --mca btl tcp,self,vader -np 2 ./a", "mpi.pml", Status::Warn),
        ] {
            let found = findings(line);
            assert!(found.contains(&(check.to_owned(), status)), "{line}: {found:?}");
        }
    }

    #[test]
    fn what_does_no_harm_is_no_finding() {
        for line in [
            "export UCX_TLS=^tcp",
            "export UCX_TLS=all",
            "export UCX_NET_DEVICES=eth0,mlx5_0:1",
            "export NCCL_IB_DISABLE=0",
            "mpirun --mca pml ucx --mca btl tcp,self -np 2 ./a",
            "mpirun --mca btl ^openib --mca pml ucx ./a",
        ] {
            assert_eq!(findings(line), [], "{line}");
        }
    }

    #[test]
    fn sentences_that_name_a_program_are_no_commands() {
        for line in [
            "mpirun noticed that process rank 0 exited",
            "mpirun (Open MPI) 4.1.5",
            "mpirun was unable to launch the specified application",
            "ib_write_bw shows 23 GB/s here",
            "ib_write_bw",
            "srun is what Slurm starts",
            "UCX_TLS is set",
            "./configure it first",
        ] {
            assert!(!is_command_line(line), "{line}");
        }
    }
}
