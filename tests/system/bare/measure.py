"""Measures the exchange in all four pairings; the file's layout is in `slyfi_bare::measurements`."""

import datetime
import json
import os
import pathlib
import platform
import statistics
import struct
import subprocess

import counts
import linux_guest
from counts import KEY
from machine import DONE, Failed, card, check, connect, listen

SIZES = (50, 250, 500, 750, 1000)
BURST = 1000
PORT = 4000
OVERHEAD = 21
PAIRINGS = (("bare", "bare"), ("linux", "linux"), ("bare", "linux"), ("linux", "bare"))
PATIENCE = 300
TURN = 3


def words(role, rounds):
    own, number = ("10.9.0.1", 1) if role == "server" else ("10.9.0.2", 2)
    sizes = ",".join(map(str, SIZES))
    common = [f"role={role}", f"key={KEY}", f"address={own}/24", f"n={sizes}", f"m={BURST}",
              f"rounds={rounds}", f"patience={PATIENCE}"]
    return common + (["peer=10.9.0.1"] if number == 2 else [])


def core_of(role):
    """Each end has a core of its own, as the paper's two machines had: neither slows the other."""
    cores = sorted(os.sched_getaffinity(0))
    return ("taskset", "-c", str(cores[0 if role == "server" else -1]))


def boot(bench, prepared, system, role, net, rounds, icount=False):
    if system == "bare":
        machine = bench.bare(words(role, rounds), net, icount=icount, prefix=core_of(role))
        machine.wait_line(f"{role} at", 60)
    else:
        machine = linux_guest.boot(bench, prepared, words(role, rounds), net, icount=icount,
                                   prefix=core_of(role))
        machine.wait_line("guest: ready", 300)
    return machine


def exchange(bench, prepared, server, client, rounds, icount=False, dump=None):
    """Runs all sizes `rounds` times; returns the server's and the client's reports."""
    path = bench.path("wire")
    limit = 120 + rounds * 60
    first = card(listen(path), "02:00:00:00:00:01", dump)
    with boot(bench, prepared, server, "server", first, rounds, icount) as serving:
        second = card(connect(path), "02:00:00:00:00:02")
        with boot(bench, prepared, client, "client", second, rounds) as asking:
            for machine, system in ((asking, client), (serving, server)):
                status = machine.wait_exit(limit)
                good = DONE if system == "bare" else 0
                check(status == good, f"{system} ended with {status}: {machine.lines[-4:]}")
            served, received = serving.objects(), asking.objects()
    wanted = rounds * len(SIZES)
    for reports in (served, received):
        check(len(reports) == wanted and not any("failure" in r for r in reports),
              f"{len(reports)} of {wanted} runs: {reports[-1:]}")
    return served, received


def packets(file):
    """Yields (time in ns, source port, destination port, payload length, first 8 payload bytes)."""
    with open(file, "rb") as f:
        magic = struct.unpack("<I", f.read(24)[:4])[0]
        unit = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[magic]
        while len(header := f.read(16)) == 16:
            seconds, part, kept, _ = struct.unpack("<IIII", header)
            frame = f.read(kept)
            if frame[12:14] == b"\x08\0" and frame[23] == 17:
                source, target, length = struct.unpack(">HHH", frame[34:40])
                at = seconds * 1_000_000_000 + part * unit
                yield at, source, target, length - 8, frame[42:50]


def capture_times(file, runs):
    """Returns d4, d5, e4, e5 of each run, in the order of runs: `runs` are their sizes."""
    runs = [{"n": n} for n in runs]
    current = None
    for at, source, target, length, head in packets(file):
        number, message = struct.unpack(">II", head) if len(head) == 8 else (None, None)
        if target == PORT and number is not None and number < len(runs) \
                and length == runs[number]["n"] and message == 0xFFFFFFFF:
            current = runs[number]
            current.setdefault("wt0", at)
        elif current is None:
            continue
        elif source == PORT and length == current["n"]:
            current.setdefault("clear_first", at)
            current["wt1"] = at
        elif target == PORT and length == current["n"] + OVERHEAD:
            current.setdefault("wt2", at)
        elif source == PORT and length == current["n"] + OVERHEAD:
            current.setdefault("sealed_first", at)
            current["wt3"] = at
    times = []
    for run in runs:
        check("wt3" in run, f"the capture lacks the run of n = {run['n']}")
        times.append({"d4": run["wt1"] - run["wt0"], "d5": run["wt3"] - run["wt2"],
                      "e4": run["wt1"] - run["clear_first"],
                      "e5": run["wt3"] - run["sealed_first"]})
    return times


def medians(rounds):
    return {key: int(statistics.median(r[key] for r in rounds)) for key in rounds[0]}


def pairing(bench, prepared, server, client, rounds):
    """Returns the rounds of one pairing, each with its size."""
    dump = bench.path("wire.pcap")
    served, received = exchange(bench, prepared, server, client, rounds, dump=dump)
    captured = capture_times(dump, [r["n"] for r in served])
    dump.unlink()
    return [(s["n"], {"d0": c["d0"], "d1": c["d1"], "d2": s["d2"], "d3": s["d3"], "w2": s["w2"],
                      "w3": s["w3"], **w})
            for s, c, w in zip(served, received, captured, strict=True)]


def all_pairings(bench, prepared, rounds):
    """Returns the twenty objects of the four pairings.

    They take turns, a few rounds each: a machine that is slower for a minute is so for all of them.
    """
    found = {each: [] for each in PAIRINGS}
    passes = -(-rounds // TURN)
    for number in range(passes):
        for server, client in PAIRINGS:
            print(f"measure: pass {number + 1} of {passes}: {server} server, {client} client",
                  flush=True)
            found[server, client] += pairing(bench, prepared, server, client, TURN)
    objects = []
    for (server, client), of_pairing in found.items():
        for n in SIZES:
            each = [times for size, times in of_pairing if size == n]
            objects.append({"server": server, "client": client, "n": n, "rounds": each,
                            "median": medians(each)})
    return objects


def instructions(bench, prepared, system, rounds):
    """Returns the five icount objects of one system as server; its client is the image."""
    served, _ = exchange(bench, prepared, system, "bare", rounds, icount=True)
    found = []
    for n in SIZES:
        of_size = [r for r in served if r["n"] == n]
        each = [{key: r[key] for key in ("d2", "d3", "w2", "w3")} for r in of_size]
        overhead = statistics.median((r["d3"] - r["d2"]) / BURST for r in of_size)
        work = statistics.median((r["d3"] - r["w3"] - r["d2"] + r["w2"]) / BURST for r in of_size)
        found.append({"system": system, "n": n, **medians(each), "overhead": round(overhead, 1),
                      "work": round(work, 1), "rounds": rounds})
    return found


def ccm(bench, prepared):
    """Returns CCM alone, on both systems by instructions, and at native speed if there is KVM."""
    def objects(system, accelerator, aes, lines):
        return [{"system": system, "accelerator": accelerator, "aes": aes, "n": o["n"],
                 "seal": o["seal"], "open": o["open"]} for o in lines]

    found = objects("bare", "tcg-icount", "AES-NI", counts.take(bench))
    with linux_guest.boot(bench, prepared, ["role=count", f"key={KEY}"], [], icount=True) as machine:
        check(machine.wait_exit(300) == 0, f"Linux does not count: {machine.lines[-3:]}")
        found += objects("linux", "tcg-icount", "AES-NI", machine.objects())
    if pathlib.Path("/dev/kvm").exists():
        try:
            found += objects("bare", "kvm", *ticks(bench))
        except Failed as e:
            print(f"measure: no times of KVM: {e}", flush=True)
    return found


def ticks(bench):
    """Returns the AES in use and what the image measures under KVM, in time-stamp counter ticks."""
    # `host` without the capabilities register, which QEMU 7.2 does not get through some KVMs.
    with bench.bare(["role=count", f"key={KEY}"], cpu="host,-arch-capabilities",
                    extra=["-enable-kvm"]) as machine:
        check(machine.wait_exit(60) == DONE, f"the image ends: {machine.lines[-3:]}")
        said = next(line for line in machine.lines if line.startswith("AES "))
        aes, mhz, _ = said.removeprefix("AES ").split(", ")
        mhz = int(mhz.split()[0])
        return aes, [{"n": o["n"], "seal": o["seal"] * mhz // 1000,
                      "open": o["open"] * mhz // 1000} for o in machine.objects()]


def verdict(pairings, icount, alone):
    """Returns whether the bar holds by the paper's D3 - D2, and what instructions say beside it."""
    def timed(server, client, n):
        o = next(o for o in pairings if (o["server"], o["client"], o["n"]) == (server, client, n))
        return int(statistics.median(r["d3"] - r["d2"] for r in o["rounds"]))

    def counted(what, system, n):
        return next(o[what] for o in icount if (o["system"], o["n"]) == (system, n))

    def judged(rows):
        return {"holds": all(row["bare"] <= row["linux"] for row in rows), "n": rows}

    def by(what):
        return judged([{"n": n, "bare": counted(what, "bare", n),
                        "linux": counted(what, "linux", n)} for n in SIZES])

    def sealing(system, n):
        return next(o["seal"] for o in alone
                    if (o["system"], o["accelerator"], o["n"]) == (system, "tcg-icount", n))

    ccm_alone = [{"n": n, "bare": sealing("bare", n), "linux": sealing("linux", n)} for n in SIZES]
    times = [{"n": n, "client": client, "bare": timed("bare", client, n),
              "linux": timed("linux", client, n)} for client in ("bare", "linux") for n in SIZES]
    return {"bar": "bare's encryption overhead <= Linux's at every n", "by": "time",
            **judged(times), "ccm": judged(ccm_alone), "instructions": by("overhead"),
            "work": by("work")}


def text(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "unknown"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def measure(bench, out, rounds):
    prepared = linux_guest.prepare(bench)
    pairings = all_pairings(bench, prepared, rounds)
    icount = []
    for system in ("bare", "linux"):
        print(f"measure: instructions of {system}", flush=True)
        icount += instructions(bench, prepared, system, rounds)
    print("measure: CCM alone", flush=True)
    alone = ccm(bench, prepared)
    document = {
        "schema": 1,
        "commit": text("git", "rev-parse", "HEAD"),
        "machine": processor(),
        "qemu": text("qemu-system-x86_64", "--version"),
        "kernel": linux_guest.kernel_version(prepared),
        "taken": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "m": BURST,
        "accelerator": "tcg",
        "pairings": pairings,
        "icount": icount,
        "ccm": alone,
        "verdict": verdict(pairings, icount, alone),
    }
    pathlib.Path(out).write_text(json.dumps(document, indent=1) + "\n")
    for o in document["verdict"]["n"]:
        bare, linux = (o[system] / 1e6 for system in ("bare", "linux"))
        print(f"n = {o['n']}, {o['client']} client: overhead bare {bare:.1f} ms, Linux {linux:.1f} ms")
    print(f"measure: wrote {out}", flush=True)
