"""The twin's guest: Debian's kernel, busybox, a virtio card, the exchange as a static program."""

import pathlib
import stat
import sys

from machine import ICOUNT, MACHINE, Machine

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guest  # noqa: E402

BUSYBOX = "/bin/busybox"

INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
for module in $(/bin/busybox cat /modules); do /bin/busybox insmod "/lib/$module"; done
# Room for two bursts in a socket, as the image has; nothing else speaks on the wire.
for name in rmem_default rmem_max wmem_default wmem_max; do
  echo 6291456 > /proc/sys/net/core/$name
done
echo 4096 > /proc/sys/net/core/netdev_max_backlog
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null
/bin/busybox ip link set lo up
for word in "$@"; do
  case "$word" in address=*) /bin/busybox ip addr add "${word#address=}" dev eth0 ;; esac
done
/bin/busybox ip link set eth0 up 2>/dev/null
echo "guest: ready"
/slyfi-exchange "$@"
echo "guest: exchange ended with $?"
/bin/busybox poweroff -f
"""


def modules(kernel):
    """Returns the files that virtio over PCI and its card need, each behind what it needs."""
    folder = next(kernel.glob("lib/modules/*"))
    needs = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        name, _, rest = line.partition(":")
        needs[name] = rest.split()
    order = []

    def add(name):
        for need in reversed(needs.get(name, [])):
            add(need)
        if name not in order:
            order.append(name)

    for wanted in ("virtio_pci", "virtio_net"):
        for name in needs:
            if pathlib.Path(name).stem == wanted:
                add(name)
    return [folder / name for name in order]


def newc(entries):
    """Writes a cpio archive of the format that the kernel unpacks (`newc`)."""
    out = bytearray()
    for number, (name, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")], start=1):
        raw = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0]
        out += b"070701" + b"".join(b"%08X" % f for f in fields) + raw
        out += b"\0" * (-len(out) % 4)
        out += data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def prepare(bench):
    """Makes the guest's kernel and initial file system; returns (kernel, archive)."""
    image = guest.prepare_kernel(bench.cache)
    folder, program = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755
    entries = [(name, folder, b"") for name in ("bin", "lib", "proc", "sys", "dev")]
    entries += [("init", program, INIT.encode()),
                ("bin/busybox", program, pathlib.Path(BUSYBOX).read_bytes()),
                ("slyfi-exchange", program, bench.twin.read_bytes())]
    names = []
    for file in modules(bench.cache / "kernel"):
        names.append(file.name)
        entries.append((f"lib/{file.name}", program, file.read_bytes()))
    entries.append(("modules", stat.S_IFREG | 0o644, "\n".join(names).encode()))
    archive = bench.path("initramfs")
    archive.write_bytes(newc(entries))
    return image, archive


def boot(bench, prepared, words, net, cpu="max", icount=False, prefix=()):
    """Boots the guest with the exchange's words behind the kernel's own."""
    kernel, archive = prepared
    line = "console=ttyS0 quiet panic=-1 random.trust_cpu=on mitigations=off -- " + " ".join(words)
    argv = [*prefix, "qemu-system-x86_64", *MACHINE, "-cpu", cpu, "-serial", "stdio", "-kernel", kernel,
            "-initrd", archive, "-append", line, *net]
    return Machine([*argv, *(ICOUNT if icount else [])], bench.path("linux.log"))


def kernel_version(prepared):
    return prepared[0].name.removeprefix("vmlinuz-")

