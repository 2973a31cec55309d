//! The block of shell that a guest's `/bin/sh -s` runs: it lists the files to watch, then answers each line of its
//! input with one line of values, read by built-ins alone. It suits dash, bash and busybox ash.

/// Most files that one stream watches.
pub const MOST_FILES: usize = 600;

/// The block, with the places `@NONCE@` and `@MOST@`. How it works:
///
/// - The whole is one `{ ...; }` group: a shell reads it to its end before it runs it, so that what follows on its
///   input is ours to read.
/// - The list of files lies in the positional parameters, the only list that every shell has. Groups of files (one port,
///   one netdev) are taken whole or not at all, RDMA first.
/// - `v=!` before each read: a file that cannot be opened leaves it, one that cannot be read or is empty clears it.
/// - A tick is printed by one `printf`, so by one write.
const BLOCK: &str = r#"{
exec 2>/dev/null
LC_ALL=C PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin"
export LC_ALL PATH
n='@NONCE@'
t=
if command -v timeout >/dev/null && timeout 5 true; then t='timeout 5'; fi
c=
while read -r k v; do case $k in CapEff:) c=$v;; esac; done </proc/self/status
size() { g=$#; }
i= a=r
while :; do
case $a in *r*)
set --
l=0 m=' '
for p in /sys/class/infiniband/*/ports/*; do
[ -e "$p/state" ] || continue
for f in "$p"/gid_attrs/ndevs/[0-9]; do v=; read -r v <"$f"; m="$m$v "; done
h=0
if [ -d "$p/hw_counters" ]; then h=1; fi
if [ -d "$p/counters" ]; then h=2$h; fi
case $h in
0) size s p;;
1) size "$p"/hw_counters/* s p;;
20) size "$p"/counters/* s p;;
*) size "$p"/hw_counters/* "$p"/counters/* s p;;
esac
if [ $(($#+g)) -gt @MOST@ ]; then l=$((l+g)); continue; fi
case $h in
0) set -- "$@" "$p/state" "$p/phys_state";;
1) set -- "$@" "$p/state" "$p/phys_state" "$p"/hw_counters/*;;
20) set -- "$@" "$p/state" "$p/phys_state" "$p"/counters/*;;
*) set -- "$@" "$p/state" "$p/phys_state" "$p"/hw_counters/* "$p"/counters/*;;
esac
done
for p in /sys/class/net/*; do
d=${p##*/}
[ -e "$p/device" ] || [ -d "$p/bonding" ] || [ -e "/proc/net/vlan/$d" ] || case $m in *" $d "*) ;; *) false;; esac || continue
if [ $(($#+11)) -gt @MOST@ ]; then l=$((l+11)); continue; fi
set -- "$@" "$p/operstate" "$p/mtu" "$p/carrier" \
"$p/statistics/rx_bytes" "$p/statistics/tx_bytes" "$p/statistics/rx_packets" "$p/statistics/tx_packets" \
"$p/statistics/rx_errors" "$p/statistics/tx_errors" "$p/statistics/rx_dropped" "$p/statistics/tx_dropped"
done
b= u=
read -r b </proc/sys/kernel/random/boot_id
printf '%s\n' "$n H $b"
for p in /sys/class/infiniband/*; do
d=
if [ -e "$p/device" ]; then d=$(readlink "$p/device/driver"); elif [ -e "$p/parent" ]; then d=rxe; fi
if [ -n "$d" ]; then printf '%s\n' "$n D ${p##*/} ${d##*/}"; fi
done
if [ $# -gt 0 ]; then printf "$n F %s\n" "$@"; fi
read -r u x </proc/uptime
printf '%s\n' "$n R $# $l $u $(date +%s.%N) $c"
esac
case $i in ?*)
u=
read -r u x </proc/uptime
o="$n T $i $u"
for f do
v=!
read -r v <"$f"
o="$o|$v"
done
printf '%s\n' "$o"
case $a in *q*)
printf '%s\n' "$n Q $i"
$t rdma -j res show qp </dev/null 2>&1
printf '\n%s\n' "$n E $i $?"
esac
esac
a=
read -r i a || exit 0
done
}
"#;

/// What [`block_by_root`] does besides: the same read by `sudo`, for the letter `s`. `timeout` may not end what root
/// runs, so it ends a shell around it.
const BY_ROOT: &str = r#"case $a in *s*)
p=$(command -v rdma)
printf '%s\n' "$n Q $i $p"
$t sh -c '"$@"; exit $?' sh sudo -n -- "$p" -j res show qp </dev/null 2>&1
printf '\n%s\n' "$n E $i $?"
esac
"#;

/// The block for a stream whose lines begin with this nonce (letters and digits; anything else is left out).
pub fn block(nonce: &str) -> String {
    let nonce: String = nonce.chars().filter(char::is_ascii_alphanumeric).collect();
    BLOCK.replace("@NONCE@", &nonce).replace("@MOST@", &MOST_FILES.to_string())
}

/// The same block, which also reads queue pairs by `sudo` where a tick asks for that.
pub fn block_by_root(nonce: &str) -> String {
    // The case of what a tick asks for ends the work of a tick.
    block(nonce).replacen("esac\nesac\na=\n", &format!("esac\n{BY_ROOT}esac\na=\n"), 1)
}
