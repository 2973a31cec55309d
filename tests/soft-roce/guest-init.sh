#!/bin/bash
# First process of a soft-RoCE guest: eth0 is the way in (SSH), eth1 carries RDMA.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts; mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp; mkdir -p /run/sshd
index=$(sed -n 's/.*lab_index=\([0-9]*\).*/\1/p' /proc/cmdline)
hostname "softroce$index"
echo "5f7a0ce000000000000000000000000$index" > /etc/machine-id
/lib/systemd/systemd-udevd --daemon; udevadm trigger; udevadm settle -t 10
modprobe virtio_net
ip link set lo up
ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
ip link set eth1 up; ip addr add "192.168.100.$((9 + index))/24" dev eth1
modprobe rdma_rxe; modprobe rdma_ucm; modprobe ib_uverbs; modprobe ib_umad
rdma link add rxe0 type rxe netdev eth1
# every login attempt is written down, so that a test can count them; a client that vanished is given up after 15 s
/usr/sbin/sshd -E /var/log/sshd.log -o LogLevel=VERBOSE -o ClientAliveInterval=5 -o ClientAliveCountMax=3
echo "LAB READY"
exec setsid bash -c 'exec bash </dev/ttyS0 >/dev/ttyS0 2>&1'
