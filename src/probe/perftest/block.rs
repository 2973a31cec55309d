//! The block of shell that starts one side of a benchmark on a guest and sees to its end. It suits dash, bash and busybox
//! ash, and leaves nothing behind: whatever cuts it off, the tool ends within seconds.

use crate::probe::dialect::posix::quote;

/// So many seconds without a tick end the tool.
pub const PATIENCE_SECONDS: u32 = 5;

/// The block, with the places of what differs. How it works:
///
/// - The whole is one `{ ...; }` group, so that a shell has read it to its end before it runs it: what follows on its
///   input are ticks, one line a second, and nobody sends one before the line `P` came.
/// - Four processes share the work. The shell itself starts the tool, waits for it and tells its status (`E`) at once. A
///   **watchdog** counts seconds; each tick sets it back by SIGUSR1 (no shell but bash knows `read -t`). Without ticks, or
///   where the shell itself was killed, it ends the tool. Signals that end the group of the login leave it be. A **reader** takes
///   the ticks, answers each with the counters of the port (`C`), and ends the tool where the input ends. A third one
///   tells when the server listens (`L`).
/// - Only what was started here is ever signalled: by its process id **and** the time at which it started.
/// - `v=` before each read: a file that cannot be read leaves it empty.
const BLOCK: &str = r#"{
exec 3<&0 </dev/null 2>/dev/null
LC_ALL=C PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin"
export LC_ALL PATH
n='@NONCE@' w='@WAIT@' q=@PORT@
set -- @COMMAND@
if ! command -v "$1" >/dev/null; then printf '%s\n' "$n M $1"; exit 0; fi
if sleep 0.01; then z=0.2 m=10; else z=1 m=2; fi
x=$(printf ':%04X' "$q")
busy() {
for f in /proc/net/tcp /proc/net/tcp6; do
while read -r a b c d o; do case "$b $d" in *"$x 0A") return 0;; esac; done <"$f"
done
return 1
}
managed() {
rdma res show cm_id | while read -r o; do case "$o " in *" LISTEN "*":$q "*) printf y; break;; esac; done
}
state() {
v= t= h=
read -r v <"/proc/$1/stat"
set -- ${v##*) }
if [ $# -ge 20 ]; then h=$1; shift 19; t=$1; fi
}
alive() { state "$p"; [ -n "$t" ] && [ "$t" = "$s" ] && [ "$h" != Z ]; }
end() {
alive || return 0
kill -TERM "$p"
i=0
while [ "$i" -lt "$m" ]; do
alive || return 0
sleep "$z" >/dev/null
i=$((i+1))
done
alive && kill -KILL "$p"
}
if [ "$w" = tcp ] && busy; then printf '%s\n' "$n B $q"; exit 0; fi
if command -v stdbuf >/dev/null; then set -- stdbuf -oL "$@"; fi
"$@" 2>&1 3<&- &
p=$! s=
state "$p"
s=$t
(
trap 'k=0' USR1
trap '' TERM HUP INT PIPE
k=0
printf '%s\n' "$n P $p $s"
exec >/dev/null 3<&-
while alive; do
if [ "$k" -ge @PATIENCE@ ]; then end; break; fi
k=$((k+1))
sleep 1
done
) &
g=$!
(
while read -r j y <&3; do
kill -USR1 "$g"
u=
read -r u y </proc/uptime
o="$n C $j $u"
for f in @FILES@; do v=; read -r v <"$f"; o="$o|$v"; done
printf '%s\n' "$o"
done
end
) &
r=$!
l=
if [ -n "$w" ]; then
(
exec 3<&-
c=0
while alive; do
case $w in
tcp) if busy; then printf '%s\n' "$n L y"; break; fi;;
*)
if [ -n "$(managed)" ]; then printf '%s\n' "$n L y"; break; fi
if [ "$c" -ge $((m*3/2)) ]; then printf '%s\n' "$n L n"; break; fi
c=$((c+1));;
esac
sleep "$z" >/dev/null
done
) &
l=$!
fi
wait "$p"
e=$?
kill -KILL "$r" "$g" $l
printf '%s\n' "$n E $e"
exit 0
}
"#;

/// How a side tells that the other one may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listens {
    /// It is the client: nobody waits for it.
    No,
    /// At a TCP port.
    Tcp,
    /// As a connection identifier of `rdma_cm`, which `rdma res show cm_id` lists; where it lists none, some seconds are
    /// waited.
    ConnectionManager,
}

/// Counters of a port that answer a tick, below the folder of the port, in the order of [`super::side::Counters`].
pub const COUNTERS: [&str; 6] = [
    "hw_counters/sent_pkts",
    "hw_counters/rcvd_pkts",
    "counters/port_xmit_packets",
    "counters/port_rcv_packets",
    "counters/port_xmit_data",
    "counters/port_rcv_data",
];

/// One side of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The words of the tool's command line.
    pub command: Vec<String>,
    /// Whether it is waited for.
    pub listens: Listens,
    /// The TCP port (also that of `rdma_cm`).
    pub port: u16,
    /// RDMA device whose counters are read.
    pub device: String,
    /// Port of that device.
    pub device_port: u32,
}

impl Side {
    /// The block whose lines carry this nonce (letters and digits; anything else is left out).
    pub fn block(&self, nonce: &str) -> String {
        let nonce: String = nonce.chars().filter(char::is_ascii_alphanumeric).collect();
        let command = self.command.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        let port = format!("/sys/class/infiniband/{}/ports/{}", self.device, self.device_port);
        let files = COUNTERS.map(|name| quote(&format!("{port}/{name}"))).join(" ");
        let waits = match self.listens {
            Listens::No => "",
            Listens::Tcp => "tcp",
            Listens::ConnectionManager => "cm",
        };
        // The command comes last: it may hold anything.
        BLOCK
            .replace("@NONCE@", &nonce)
            .replace("@WAIT@", waits)
            .replace("@PORT@", &self.port.to_string())
            .replace("@PATIENCE@", &PATIENCE_SECONDS.to_string())
            .replace("@FILES@", &files)
            .replace("@COMMAND@", &command)
    }
}
