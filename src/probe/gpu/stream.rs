//! The stream of a guest's GPUs: `nvidia-smi` in its loop mode, beside it the throughput of PCIe (`dmon`), and DCGM where its
//! host engine answers. It is one block of shell that ends with its input and ends its programs with itself; should the shell be
//! killed, each of them ends with the next row that nobody takes.
//!
//! Rows are told apart by their form: the CSV of `--query-gpu`, the table of `nvidia-smi dmon`, the table of `dcgmi dmon`. Each has
//! its own header, and columns are found by name: names and order change with the releases of the driver.

mod parser;
mod tables;

pub use parser::{Event, StreamParser};

/// The source of what the stream tells; also the name under which its facts are kept.
pub const SOURCE: &str = "gpu.stream";

/// Fields of `--query-gpu`, the fullest list first: one that a driver does not know fails the whole query.
pub const FIELDS: [&str; 3] = [
    "index,count,pci.bus_id,pstate,clocks_event_reasons.active,utilization.gpu,utilization.memory,memory.used,power.draw,\
     clocks.sm,clocks.mem,temperature.gpu,temperature.memory,pcie.link.gen.gpucurrent,pcie.link.width.current",
    "index,count,pci.bus_id,pstate,clocks_throttle_reasons.active,utilization.gpu,utilization.memory,memory.used,power.draw,\
     clocks.sm,clocks.mem,temperature.gpu,temperature.memory,pcie.link.gen.current,pcie.link.width.current",
    "index,count,pci.bus_id,utilization.gpu,memory.used,power.draw,clocks.sm,temperature.gpu",
];

/// Fields of DCGM: engines, multiprocessors, tensor cores and memory active; PCIe and NVLink each way.
pub const DCGM_FIELDS: &str = "1001,1002,1004,1005,1009,1010,1011,1012";

/// The block, with the places `@NONCE@`, `@FIELDS@` and `@DCGM@`.
const BLOCK: &str = r#"{
LC_ALL=C PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin"
export LC_ALL PATH
n='@NONCE@'
q= e=
for f in @FIELDS@; do
if e=$(nvidia-smi "--query-gpu=$f" --format=csv,noheader </dev/null 2>&1); then q=$f; break; fi
done
if [ -z "$q" ]; then
printf '%s\n' "$n N ${e%%
*}"
exit 1
fi
printf '%s\n' "$n R"
p=
trap 'kill $p 2>/dev/null; exit 0' HUP INT PIPE TERM
nvidia-smi "--query-gpu=$q" --format=csv,nounits -l 1 </dev/null 2>/dev/null &
p=$!
nvidia-smi dmon -s t -d 1 </dev/null 2>/dev/null &
p="$p $!"
if command -v dcgmi >/dev/null 2>&1 && dcgmi discovery -l </dev/null >/dev/null 2>&1; then
dcgmi dmon -e @DCGM@ -d 1000 </dev/null 2>/dev/null &
p="$p $!"
fi
while read -r x; do :; done
kill $p 2>/dev/null
exit 0
}
"#;

/// The block for a stream whose own lines begin with this nonce (letters and digits; anything else is left out).
pub fn block(nonce: &str) -> String {
    let nonce: String = nonce.chars().filter(char::is_ascii_alphanumeric).collect();
    let fields: Vec<String> = FIELDS.iter().map(|fields| format!("'{fields}'")).collect();
    BLOCK.replace("@NONCE@", &nonce).replace("@FIELDS@", &fields.join(" ")).replace("@DCGM@", DCGM_FIELDS)
}
