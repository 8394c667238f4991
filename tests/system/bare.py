#!/usr/bin/env python3
"""Boots the image without an operating system in QEMU and holds it to what it claims.

    python3 tests/system/bare.py --image IMAGE --twin TWIN --bin SLYFI [--cache DIR] [CLAIM ...]
    python3 tests/system/bare.py --image IMAGE --twin TWIN --measure OUT.json [--rounds N]
    python3 tests/system/bare.py --image IMAGE --twin TWIN --write-baseline

`cargo xtask bare` builds the programs and calls this. The last line is the total.
"""

import argparse
import pathlib
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "bare")]
sys.dont_write_bytecode = True

import claims  # noqa: E402
import counts  # noqa: E402
import measure  # noqa: E402
from machine import Bench, Failed  # noqa: E402
from rig import shell  # noqa: E402

ROOT = HERE.parent.parent


def run(bench, chosen):
    """Runs the claims; returns how many held and how many did not."""
    passed = failed = 0
    for claim in chosen:
        start = time.monotonic()
        try:
            claim(bench)
            why = ""
        except (Failed, shell.Failed, AssertionError, TimeoutError) as e:
            why = str(e) or traceback.format_exc()
        except Exception:
            why = traceback.format_exc()
        finally:
            shell.clean_up()
        passed, failed = passed + (not why), failed + bool(why)
        words = claim.__name__.replace("_", " ")
        print(f"{'FAIL' if why else 'PASS'} {words} ({time.monotonic() - start:.1f} s) {why}",
              flush=True)
    return passed, failed


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="*", metavar="CLAIM", help="only those with this in their name")
    p.add_argument("--image", required=True)
    p.add_argument("--twin", required=True)
    p.add_argument("--bin", default=str(ROOT / "target/release/slyfi"))
    p.add_argument("--cache", default=str(ROOT / "target/guest"), type=pathlib.Path)
    p.add_argument("--keep", metavar="DIR", help="keep logs of a run with failures there")
    p.add_argument("--measure", metavar="FILE", help="measure all pairings instead, into FILE")
    p.add_argument("--rounds", type=int, default=7, help="repetitions of each pairing and size")
    p.add_argument("--write-baseline", action="store_true",
                   help="count instructions and write results/bare_icount.json")
    a = p.parse_args()
    a.cache.mkdir(parents=True, exist_ok=True)
    bench = Bench(a.image, a.twin, a.cache, a.bin, a.keep)
    failed = 1
    try:
        if a.measure:
            measure.measure(bench, a.measure, a.rounds)
            failed = 0
            return 0
        if a.write_baseline:
            counts.write(counts.take(bench))
            failed = 0
            return 0
        chosen = [c for c in claims.CLAIMS
                  if not a.names or any(n in c.__name__ for n in a.names)]
        passed, failed = run(bench, chosen)
        print(f"{passed} passed, {failed} failed, 0 skipped", flush=True)
        return 0 if passed and not failed else 1
    finally:
        bench.close(failed)


if __name__ == "__main__":
    sys.exit(main())
