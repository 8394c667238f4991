"""A disk image that GRUB boots, from CD or from a USB stick."""

import shutil
import subprocess

MENU = """set timeout=0
serial --unit=0 --speed=115200
menuentry slyfi {{
  multiboot2 /boot/slyfi-image {words}
  boot
}}
"""


def make(bench, words):
    """Writes a hybrid ISO with the image and a menu; returns its path."""
    folder = bench.path("iso")
    (folder / "boot/grub").mkdir(parents=True)
    shutil.copy(bench.image, folder / "boot/slyfi-image")
    (folder / "boot/grub/grub.cfg").write_text(MENU.format(words=" ".join(words)))
    iso = bench.path("slyfi.iso")
    subprocess.run(["grub-mkrescue", "-d", "/usr/lib/grub/i386-pc", "-o", iso, folder], check=True,
                   capture_output=True, timeout=120)
    return iso


def cdrom(iso):
    return ["-cdrom", iso, "-boot", "d"]


def usb_stick(iso):
    return ["-device", "qemu-xhci", "-drive", f"if=none,id=u,file={iso},format=raw,readonly=on",
            "-device", "usb-storage,drive=u,bootindex=0"]
