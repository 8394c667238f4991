#!/usr/bin/env python3
"""Runs the system tests: one scenario file per behaviour, on each air that the scenario names.

    python3 tests/system/run.py [--bin target/release/slyfi] [--where netns|guest] [SCENARIO ...]
"""

import argparse
import importlib
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from rig import shell  # noqa: E402
from rig.air import HwsimAir, VethAir  # noqa: E402


class Test:
    """What a scenario gets: which air, the binary, and a folder for its files."""

    def __init__(self, air, binary, folder):
        self.air = air
        self.binary = binary
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def network(self, clients):
        """Builds the medium with an access point and `clients` clients on it."""
        return (HwsimAir if self.air == "hwsim" else VethAir)(clients)


def scenarios(where):
    """Returns (name, module, air) of everything that runs at `where`, in the order of names."""
    found = []
    for file in sorted((HERE / "scenarios").glob("*.py")):
        module = importlib.import_module(f"scenarios.{file.stem}")
        for air in module.AIRS:
            if (air == "hwsim") == (where == "guest"):
                found.append((file.stem, module, air))
    return found


def run_one(module, air, binary, keep):
    """Runs one scenario; returns (outcome, reason, seconds)."""
    with tempfile.TemporaryDirectory(prefix="slyfi-system-", ignore_cleanup_errors=True) as folder:
        # The daemon's unprivileged user has to reach its store in it.
        os.chmod(folder, 0o755)
        start = time.monotonic()
        outcome, reason = "FAIL", ""
        try:
            # What a scenario returns is something it measured.
            outcome, reason = "PASS", module.run(Test(air, binary, folder)) or ""
        except shell.Failed as failed:
            reason = str(failed)
        except shell.Skipped as skipped:
            outcome, reason = "SKIP", str(skipped)
        except Exception:
            reason = traceback.format_exc()
        finally:
            shell.clean_up()
        seconds = time.monotonic() - start
        if outcome == "FAIL":
            show_logs(folder)
            if keep:
                target = pathlib.Path(keep) / f"{module.__name__.split('.')[-1]}-{air}"
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(folder, target, ignore=shutil.ignore_patterns("*.sock", "www"))
    return outcome, reason, seconds


def show_logs(folder):
    """Prints the end of every program's output."""
    for log in sorted(pathlib.Path(folder).glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        print(f"    --- {log.name}, last of {len(lines)} lines")
        for line in lines[-15:]:
            print(f"    {line}")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="*", metavar="SCENARIO")
    p.add_argument("--bin", default=str(HERE.parent.parent / "target/release/slyfi"))
    p.add_argument("--where", choices=("netns", "guest"), default="netns")
    p.add_argument("--air", help="only this air")
    p.add_argument("--list", action="store_true")
    p.add_argument("--keep", metavar="DIR", help="keep logs and captures of failed scenarios there")
    p.add_argument("--json", metavar="FILE", help="write the outcome there as well")
    a = p.parse_args()
    todo = [s for s in scenarios(a.where) if not a.air or s[2] == a.air]
    unknown = set(a.names) - {s[0] for s in todo}
    if unknown:
        p.error(f"no such scenario here: {', '.join(sorted(unknown))}")
    todo = [s for s in todo if not a.names or s[0] in a.names]
    if a.list:
        for name, module, air in todo:
            print(f"{name} ({air}): {module.__doc__.splitlines()[0]}")
        return 0
    if os.geteuid() != 0:
        p.error("system tests make network namespaces and have to run as root")
    shell.remove_leftovers()
    count = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    results = []
    for name, module, air in todo:
        outcome, reason, seconds = run_one(module, air, a.bin, a.keep)
        count[outcome] += 1
        results.append({"name": name, "air": air, "outcome": outcome, "reason": reason,
                        "seconds": round(seconds, 2)})
        print(f"{outcome} {name} ({air}) {seconds:.1f} s{': ' + reason if reason else ''}",
              flush=True)
    total = f"{count['PASS']} passed, {count['FAIL']} failed, {count['SKIP']} skipped"
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps({"results": results, "total": total}, indent=1))
    print(total, flush=True)
    return 1 if count["FAIL"] or not todo else 0


if __name__ == "__main__":
    sys.exit(main())
