#!/usr/bin/env bash
# Measures the console against the goals of the project and beside its rivals, in one run on one machine, and prints a
# table. The lab runs in a process of its own, so that only the console is measured.
#
#   demo/measure.sh [--quick] [PROGRAM]       PROGRAM: a release build (default target/release/rdmascope, built if missing)
#
# Rivals are measured where they are installed: rdmatop and btm (`cargo install rdmatop bottom`), btop (a package of most
# distributions). RIVALS may name a folder in which to look for them first.
set -euo pipefail
cd "$(dirname "$0")/.."
quick=''
if [ "${1:-}" = --quick ]; then quick=yes; shift; fi
program=${1:-target/release/rdmascope}
if [ ! -x "$program" ]; then cargo build --release --locked; fi
program=$(realpath "$program")
PATH=${RIVALS:+$RIVALS:}$PATH
if [ -n "$quick" ]; then runs=1 seconds=8 idle=10 keys=60 hosts=60; else runs=3 seconds=20 idle=60 keys=500 hosts=120; fi

scratch=$(mktemp -d)
lab=''
tidy() {
  [ -z "$lab" ] || kill "$lab" 2> /dev/null || true
  rm -rf "$scratch"
}
trap tidy EXIT
export HOME=$scratch XDG_CONFIG_HOME=$scratch XDG_STATE_HOME=$scratch LC_ALL=C.UTF-8

measure() { python3 tests/measure/tui-measure.py "$@" || true; }
# The values of a key in the lines of a file: the middle one and the worst.
of() { python3 - "$1" "$2" <<'PYTHON'
import json, statistics, sys
values = [json.loads(line).get(sys.argv[2]) for line in open(sys.argv[1]) if line.startswith("{")]
values = [value for value in values if value is not None]
print("not measured" if not values else f"{statistics.median(values):g}" + (f" (worst {max(values):g})" if len(values) > 1 else ""))
PYTHON
}
row() { printf '%-58s %-26s %s\n' "$1" "$2" "$3"; }

# Starts the lab with the given options and waits for its inventory; writes an inventory of so many targets in it.
start_lab() { # NAME COUNT PERIOD KIND [OPTION...]
  local name=$1 count=$2 period=$3 kind=$4; shift 4
  [ -z "$lab" ] || { kill "$lab" 2> /dev/null; wait "$lab" 2> /dev/null || true; }
  "$program" demo --serve "$@" > "$scratch/served.toml" 2> "$scratch/lab.log" &
  lab=$!
  for _ in $(seq 100); do grep -q '^\[\[target\]\]' "$scratch/served.toml" && break; sleep 0.1; done
  sleep 0.5
  python3 - "$scratch/served.toml" "$count" "$period" "$kind" > "$scratch/$name.toml" <<'PYTHON'
import json, sys, tomllib
served = tomllib.load(open(sys.argv[1], "rb"))
kind = sys.argv[4]
targets = [target for target in served["target"] if target["kind"] == kind]
print(f'ssh_config = "{served["ssh_config"]}"\nperiod_ms = {sys.argv[3]}')
for number in range(int(sys.argv[2])):
    target = targets[number % len(targets)]
    print(f'[[target]]\nname = "{kind}-{number + 1:02}"\nkind = "{kind}"\naddress = "{target.get("address", target["name"])}"')
    if "password_command" in target:
        print(f'password_command = {json.dumps(target["password_command"])}')
PYTHON
}

echo "rdmascope $("$program" --version | cut -d' ' -f2), $(nproc) cores, $(uname -sr), $(date -u +%Y-%m-%d)"
echo
row "what" "measured" "goal"
row "release binary, MB" "$(stat -L -c %s "$program" | awk '{printf "%.1f", $1 / 1000000}')" "< 15"

for _ in $(seq "$runs"); do
  measure --settle 4 --seconds 2 --complete 'pv-a' --complete '9 up' -- "$program" demo >> "$scratch/demo"
done
row "demo: first frame, ms" "$(of "$scratch/demo" first_frame_ms)" "< 150"
row "demo: first complete data, ms" "$(of "$scratch/demo" complete_ms)" "< 1500"

start_lab eight 8 1000 linux
config=(--config "$scratch/eight.toml")
measure --settle 6 --seconds "$seconds" -- "$program" "${config[@]}" >> "$scratch/eight"
row "8 targets at 1 Hz, tree and panel: CPU, % of a core" "$(of "$scratch/eight" cpu_percent)" "< 3"
row "8 targets at 1 Hz: memory, MB" "$(of "$scratch/eight" pss_mb)" "< 40"
measure --settle 12 --before nn5 --seconds "$seconds" -- "$program" "${config[@]}" >> "$scratch/live"
row "six graphs at 200x50 each second: bytes/s" "$(of "$scratch/live" bytes_per_second)" "< 25000"
measure --settle 12 --before nn5 --seconds "$seconds" -- "$program" --low-bandwidth "${config[@]}" >> "$scratch/low"
row "the same with --low-bandwidth: bytes/s" "$(of "$scratch/low" bytes_per_second)" "< 3000"

start_lab idle 1 60000 linux
measure --settle 8 --seconds "$idle" -- "$program" --config "$scratch/idle.toml" >> "$scratch/idle"
row "idle, clock only, over $idle s: CPU, % of a core" "$(of "$scratch/idle" cpu_percent_exact)" "< 0.3"

start_lab many 64 2000 linux
measure --settle 12 --seconds "$seconds" -- "$program" --config "$scratch/many.toml" >> "$scratch/many"
row "64 targets at 2 s: CPU, % of a core" "$(of "$scratch/many" cpu_percent)" "< 15"
row "64 targets at 2 s: memory, MB" "$(of "$scratch/many" pss_mb)" "-"

# The hosts are read as rarely as their duty allows, so the window is a long one.
start_lab hosts 16 1000 esxi --scenario with-hosts
measure --settle 30 --seconds "$hosts" -- "$program" --config "$scratch/hosts.toml" >> "$scratch/hosts"
row "16 ESXi hosts, default rhythm, over $hosts s: CPU, %" "$(of "$scratch/hosts" cpu_percent)" "< 5"
row "16 ESXi hosts: memory, MB" "$(of "$scratch/hosts" pss_mb)" "-"

start_lab hung 5 1000 linux --scenario hang
measure --settle 8 --seconds 2 --keys "$keys" --key '?' --expect 'Keys' --key '\x1b' --expect 'RTT|Guest' \
  -- "$program" --config "$scratch/hung.toml" >> "$scratch/keys"
row "$keys keys, one target hung: p99 to its effect, ms" "$(of "$scratch/keys" key_ms_p99)" "< 50"
row "$keys keys: median, ms" "$(of "$scratch/keys" key_ms_median)" "-"
row "$keys keys: without an effect" "$(of "$scratch/keys" keys_without_effect)" "0"
kill "$lab" 2> /dev/null || true; wait "$lab" 2> /dev/null || true; lab=''

# Commands that read files: the middle one of five runs, as the shell's clock sees them.
python3 - "$scratch" <<'PYTHON'
import sys
vmx = open("tests/fixtures/public/110-vmx-sriov-bypass.txt").read()
vmx += 'config.version = "8"\nvirtualHW.version = "19"\nfirmware = "efi"\nmemSize = "65536"\n'
vmx += "".join(f'scsi0:{number}.{key} = "{value}"\n' for number in range(30)
               for key, value in (("present", "TRUE"), ("fileName", "vm_1.vmdk"), ("deviceType", "scsi-hardDisk"), ("redo", "")))
import os
for number in range(1000):
    folder = f"{sys.argv[1]}/vms/vm{number}"
    os.makedirs(folder)
    open(f"{folder}/vm{number}.vmx", "w").write(vmx + f'displayName = "vm{number}"\n')
line = "2021-03-04T10:11:12.{:03}Z| vcpu-0| I005: Vigor transport: message {} of a long life, nothing in it\n"
with open(f"{sys.argv[1]}/vmware.log", "w") as log:
    size = number = 0
    while size < 50_000_000:
        size += log.write(line.format(number % 1000, number))
        number += 1
PYTHON
timed() { # LABEL GOAL COMMAND...: middle wall seconds and greatest memory of five runs
  local label=$1 goal=$2; shift 2
  row "$label" "$(python3 - "$@" <<'PYTHON'
import os, statistics, subprocess, sys, time
seconds, peak = [], 0
for _ in range(5):
    begin = time.monotonic()
    child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    seconds.append(time.monotonic() - begin)
    peak = max(peak, usage.ru_maxrss)
print(f"{statistics.median(seconds):.3f} s, {peak / 1024:.0f} MB")
PYTHON
)" "$goal"
}
timed "lint of one VMX" "< 0.020 s" "$program" lint "$scratch/vms/vm1/vm1.vmx"
timed "lint of a thousand VMX" "< 0.5 s" "$program" lint "$scratch/vms"
timed "explain of a vmware.log of 50 MB" "< 2 s, < 200 MB" "$program" explain "$scratch/vmware.log"

echo
printf '%-24s %14s %10s %12s %10s\n' "side by side, 200x50" "first frame ms" "CPU %" "bytes/s" "memory MB"
rivals=("$program local")
command -v rdmatop > /dev/null && rivals+=(rdmatop)
command -v btop > /dev/null && rivals+=("btop --utf-force")
command -v btm > /dev/null && rivals+=(btm)
for _ in $(seq "$runs"); do
  for index in "${!rivals[@]}"; do
    # shellcheck disable=SC2086 # the words of a command
    measure --settle 3 --seconds "$seconds" -- ${rivals[$index]} >> "$scratch/rival-$index"
  done
done
for index in "${!rivals[@]}"; do
  file=$scratch/rival-$index
  median() { of "$file" "$1" | cut -d' ' -f1; }
  printf '%-24s %14s %10s %12s %10s\n' "$(basename "${rivals[$index]%% *}")" "$(median first_frame_ms)" "$(median cpu_percent)" "$(median bytes_per_second)" "$(median pss_mb)"
done
