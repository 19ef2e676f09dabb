"""Holds what `cpu bandwidth --json` measured against the peers in CUDA C++, line by line.

    python3 bandwidth.py bandwidth.json copy.log zero_copy.log

Exit code 1 if a ratio is below what it must be.
"""
import json
import sys

MIB = 1 << 20


def main(document, copy_log, zero_copy_log):
    with open(document) as file:
        document = json.load(file)
    with open(copy_log) as file:
        peer = {int(line.split()[0]): [float(word) for word in line.split()[5:7]] for line in file}
    with open(zero_copy_log) as file:
        rows = [(name, int(blocks), float(rate)) for name, blocks, rate in (line.split() for line in file)]
    of_peer = {}
    for name, _, rate in rows:
        of_peer[name] = max(rate, of_peer.get(name, 0))

    def figures(step, memory):
        return [one for one in document["measurements"] if (one["step"], one["memory"]) == (step, memory)]

    def at(step, memory, size):
        return next((one["gb_per_s"] for one in figures(step, memory) if one["size_bytes"] == size), None)

    good = True

    def ratio(what, ours, theirs, least=None):
        nonlocal good
        value = ours / theirs
        verdict = "" if least is None else f", at least {least}: {'ok' if value >= least else 'TOO LOW'}"
        good = good and (least is None or value >= least)
        print(f"{what}: {ours:.2f} / {theirs:.2f} GB/s = {value:.3f}{verdict}")

    for size, rates in peer.items():
        for step, theirs in zip(("h2d", "d2h"), rates):
            ours = at(step, "pinned", size)
            if ours and size >= 64 * MIB:
                ratio(f"pinned {step} {size // MIB} MiB over cudaMemcpy", ours, theirs, 0.99)

    size = figures("read", "mapped")[0]["size_bytes"]
    read, write = at("read", "mapped", size), at("write", "mapped", size)
    ratio("zero-copy read over our pinned H2D", read, at("h2d", "pinned", size), 0.92)
    ratio("zero-copy write over our pinned D2H", write, at("d2h", "pinned", size), 0.94)
    ratio("zero-copy read over the peer's", read, of_peer["read"])
    ratio("zero-copy write over the peer's", write, of_peer["write"])
    ratio("the peer's own read over its H2D", of_peer["read"], of_peer["h2d"])
    ratio("the peer's own write over its D2H", of_peer["write"], of_peer["d2h"])

    both = figures("both", "pinned")[-1]
    one = max(at("h2d", "pinned", both["size_bytes"]), at("d2h", "pinned", both["size_bytes"]))
    ratio(f"both directions over one, {both['size_bytes'] // MIB} MiB", both["gb_per_s"], one, 1.75)
    ratio("the peer's both over one", of_peer["both"], max(of_peer["h2d"], of_peer["d2h"]))

    for name in ("reading", "writing"):
        grid = document["findings"][f"smallest_{name}_grid"]
        key = {"reading": "read", "writing": "write"}[name]
        theirs = next(blocks for kind, blocks, rate in rows if kind == key and rate >= 0.99 * of_peer[key])
        print(f"smallest grid for {name}: {grid['blocks']} blocks ({grid['gb_per_s']:.2f} GB/s), the peer's {theirs}")
    return 0 if good else 1


sys.exit(main(*sys.argv[1:4]))
