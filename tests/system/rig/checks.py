"""What an outsider with a perfect capture can tell apart. Each returns findings; none is good."""

from collections import Counter
from math import sqrt

# docs/protocol.md: the carrier ends and the 16-byte address begins here, counted from the 802.11
# frame control field.
CARRIER = 28
ADDRESS = 16


def carrier(frames):
    """Finds bytes before the address that are not the same in every frame."""
    first = frames[0].dot11[:CARRIER]
    found = []
    for at in range(CARRIER):
        values = Counter(f.dot11[at] for f in frames if len(f.dot11) > at)
        if len(values) > 1:
            found.append(f"carrier byte {at} takes {len(values)} values")
    if any(len(f.dot11) < CARRIER + ADDRESS for f in frames):
        found.append("a frame is shorter than carrier and address")
    if len(first) < CARRIER:
        found.append("the first frame has no whole carrier")
    return found


def wrapping(frames):
    """Finds differences in the radiotap header as it was sent (wired airs carry it unchanged)."""
    kinds = {f.radiotap for f in frames}
    return [] if len(kinds) == 1 else [f"{len(kinds)} different radiotap headers"]


def address(frame):
    return frame.dot11[CARRIER:CARRIER + ADDRESS]


def repeated_addresses(frames):
    """Returns the addresses that were seen in more than one frame, with those frames."""
    seen = {}
    for f in frames:
        seen.setdefault(address(f), []).append(f)
    return {a: fs for a, fs in seen.items() if len(fs) > 1}


def repeated_bodies(frames):
    """Finds sealed frames (all past the address) that were seen more than once."""
    seen = Counter(f.dot11[CARRIER + ADDRESS:] for f in frames)
    return [f"a sealed frame of {len(body)} bytes was sent {n} times"
            for body, n in seen.items() if n > 1]


def stable_bytes(frames, depth=64):
    """Finds positions past the carrier, from either end, whose values are not spread evenly.

    The most frequent of 256 values may stand 8 standard deviations above its share: below that,
    chance explains it (the probability for one position is under 1e-12).
    """
    found = []
    for name, at in (*((f"byte {i} past the carrier", CARRIER + i) for i in range(depth)),
                     *((f"byte {i} from the end", -i) for i in range(1, 17))):
        need = CARRIER + ADDRESS + 1 if at < 0 else at + 1
        values = Counter(f.dot11[at] for f in frames if len(f.dot11) >= need)
        total = sum(values.values())
        if total < 200:
            continue
        share = total / 256
        value, most = values.most_common(1)[0]
        if most > share + 8 * sqrt(share) + 8:
            found.append(f"{name} is {value:#04x} in {most} of {total} frames")
    return found


def contains(frames, secret):
    """Returns how many frames carry `secret` (bytes) in the clear."""
    return sum(secret in f.dot11 for f in frames)
