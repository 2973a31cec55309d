#!/usr/bin/env bash
# Boots the two guests (about 25 s, no KVM needed) and waits until both answer over SSH.
# softroce1 = 127.0.0.1:2201 (RDMA 192.168.100.10), softroce2 = 127.0.0.1:2202 (RDMA 192.168.100.11).
# SOFT_ROCE_DIR (default /tmp/soft-roce) and SOFT_ROCE_PORT (default 2200: ports +1, +2 and +90) keep several labs apart.
# Every login attempt in a guest is in its /var/log/sshd.log.
# Log in as root, or as the unprivileged user `lab` (softroce1-lab, softroce2-lab; may `sudo -n rdma` and `sudo -n dmesg`).
# Faults to make inside a guest: ip link set eth1 down | modprobe sch_netem; tc qdisc add dev eth1 root netem loss 60% |
#   echo b > /proc/sysrq-trigger (reboot; the guest comes back) | a hang that ends by itself:
#   setsid sh -c 'sleep 1; pkill -STOP sshd; sleep 30; pkill -CONT sshd' >/dev/null 2>&1 </dev/null &
# MPI between the guests: mpirun --allow-run-as-root -H softroce1,softroce2 -np 2 NPopenmpi -u 65536
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lab=${SOFT_ROCE_DIR:-/tmp/soft-roce}
port=${SOFT_ROCE_PORT:-2200}
bash "$here/build.sh"
# Code is translated into 256 MB a guest, a quarter of what QEMU would take: two of them and a build fit into 8 GB.
# Byte-wise string instructions (erms) are off: after a reset they crawl over pages that once held translated code, for minutes.
boot() { # index, how eth1 is wired to the other guest
  local n=$1 wire=$2
  cp --sparse=always "$lab/root.ext4" "$lab/guest$n.ext4"
  qemu-system-x86_64 -accel tcg,thread=single,tb-size=256 -cpu max,erms=off,fsrm=off -m 640 -display none -name "soft-roce-$lab-guest$n" \
    -serial "file:$lab/guest$n.log" -kernel "$lab/vmlinuz" -initrd "$lab/initrd.gz" \
    -append "console=ttyS0 panic=-1 quiet net.ifnames=0 lab_index=$n" \
    -drive "file=$lab/guest$n.ext4,if=virtio,format=raw" \
    -netdev "user,id=n0,hostfwd=tcp:127.0.0.1:$((port + n))-:22" -device "virtio-net-pci,netdev=n0,mac=52:54:00:00:00:1$n" \
    -netdev "socket,id=n1,$wire" -device "virtio-net-pci,netdev=n1,mac=52:54:00:00:01:1$n" \
    > "$lab/guest$n.qemu" 2>&1 < /dev/null &
  echo $! > "$lab/guest$n.pid"
}
alive() { # a guest whose QEMU ended says why
  [ -d "/proc/$(cat "$lab/guest$1.pid")" ] || { echo "soft-roce: guest $1 ended at once:" >&2; cat "$lab/guest$1.qemu" >&2; exit 1; }
}
bash "$here/down.sh"
boot 1 "listen=127.0.0.1:$((port + 90))"
for _ in $(seq 50); do alive 1; (exec 3<> "/dev/tcp/127.0.0.1/$((port + 1))") 2>/dev/null && break; sleep 0.1; done
boot 2 "connect=127.0.0.1:$((port + 90))"
sleep 0.5; alive 2
cat > "$lab/ssh_config" <<CONF
Host softroce1 softroce1-lab
  Port $((port + 1))
Host softroce2 softroce2-lab
  Port $((port + 2))
Host *-lab
  User lab
Host softroce*
  HostName 127.0.0.1
  User root
  IdentityFile "$lab/id_lab"
  IdentitiesOnly yes
  UserKnownHostsFile "$lab/known_hosts"
  StrictHostKeyChecking accept-new
CONF
rm -f "$lab/known_hosts"
for n in 1 2; do
  for _ in $(seq 90); do
    alive $n
    ssh -F "$lab/ssh_config" -o BatchMode=yes -o ConnectTimeout=5 -o LogLevel=ERROR "softroce$n" true < /dev/null 2>/dev/null && continue 2
    sleep 1
  done
  echo "soft-roce: softroce$n does not answer; see $lab/guest$n.log" >&2; exit 1
done
echo "softroce1 and softroce2 are up: ssh -F $lab/ssh_config softroce1"
