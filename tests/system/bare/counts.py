"""The gate on instruction counts: an emulator that counts gives the same numbers run after run."""

import json
import pathlib

from machine import DONE, check

BASELINE = pathlib.Path(__file__).resolve().parents[3] / "results/bare_icount.json"
# The code of crates that are linked in may change a little without anybody meaning to.
TOLERANCE = 0.05
KEY = "00112233445566778899aabbccddeeff"


def take(bench, cpu="max", extra=()):
    """Returns what the image counts: one object for each size."""
    with bench.bare(["role=count", f"key={KEY}"], cpu=cpu, extra=extra, icount=True) as machine:
        status = machine.wait_exit(120)
        check(status == DONE, f"counting ended with {status}: {machine.lines[-4:]}")
        check(any("1000 MHz" in line for line in machine.lines),
              f"an instruction is not a nanosecond: {machine.lines[:3]}")
        return machine.objects()


def compare(measured, baseline, tolerance=TOLERANCE):
    """Returns findings: counts that are higher than the baseline allows, or missing."""
    found = []
    by_size = {o["n"]: o for o in measured}
    for wanted in baseline:
        got = by_size.get(wanted["n"])
        if got is None:
            found.append(f"n = {wanted['n']} was not measured")
            continue
        for what, most in wanted.items():
            if what == "n":
                continue
            limit = most * (1 + tolerance)
            if got.get(what, limit + 1) > limit:
                found.append(f"n = {wanted['n']}: {what} takes {got.get(what)} instructions, "
                             f"the baseline is {most}")
    return found


def baseline():
    return json.loads(BASELINE.read_text())["counts"]


def write(measured):
    """Makes what was measured the new baseline."""
    document = {
        "about": "instructions per message under `-icount shift=0`, `cargo xtask bare --baseline`",
        "tolerance": TOLERANCE,
        "counts": measured,
    }
    BASELINE.write_text(json.dumps(document, indent=1) + "\n")
    print(f"wrote {BASELINE.name}")
