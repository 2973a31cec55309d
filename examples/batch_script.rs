//! Prints the script that one batch sends to a Linux guest, with all probes in it:
//! `cargo run --example batch_script | ssh HOST /bin/sh -s > HOST.stdout.txt 2> HOST.stderr.txt` saves what they would
//! read. With the argument `names` it prints the names of the sources in their order.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use rdmascope::probe::dialect::posix::compile;
use rdmascope::probe::linux::PROBES;

fn main() {
    let sources: Vec<_> = PROBES.iter().flat_map(|probe| probe.sources.iter().copied()).collect();
    if std::env::args().nth(1).as_deref() == Some("names") {
        for source in sources {
            println!("{}", source.name);
        }
    } else {
        print!("{}", compile(&sources, "00000000000000000000000000000000"));
    }
}
