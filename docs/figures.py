#!/usr/bin/env python3
"""Rewrites the figures in README.md from what a GPU machine measured, so that no number is typed by hand.

    tests/gpu.sh carry RESULTS          (on the machine with the GPU)
    docs/figures.py RESULTS/matmul.json DATE
"""
import json
import re
import sys
from pathlib import Path


def three_digits(value):
    if value == 0:
        return "0"
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}" if abs(value) >= 1 else f"{value:.3f}"


def table(report):
    yield "| size | mode | allocate | H2D | kernel | D2H | total | link GB/s | TFLOP/s | total / pageable | largest error |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for size in report["sizes"]:
        for mode in size["modes"]:
            stages = [mode[stage]["median"] for stage in ("h2d_ms", "kernel_ms", "d2h_ms", "total_ms")]
            cells = [
                str(size["m"]),
                mode["mode"],
                three_digits(mode["host_allocation_ms"] + mode["device_allocation_ms"]),
                *map(three_digits, stages),
                three_digits(mode["link_gb_per_s"]),
                three_digits(mode["kernel_tflop_per_s"]),
                f"{mode['total_over_pageable']:.2f}",
                f"{mode['largest_absolute_error']:.1e}",
            ]
            yield "| " + " | ".join(cells) + " |"


def main():
    report, date = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]
    device, kind, link = report["device"], report["device"]["kind"], report["device"]["link"]
    runs = len(report["sizes"][0]["modes"][0]["total_ms"]["samples"])
    intro = (
        f"`cargo run --release -p cpu -- matmul --seed {report['inputs']['seed']}` on one {device['name']} "
        f"(PCIe {link['generation']}.0 x{link['width']}, driver for CUDA {kind['driver']}), {date}. M = N = K = size, "
        f"kernel `{report['kernel']}` ({device['kernels']['architecture']}, {device['kernels']['compiler']}), "
        f"ms, medians of {runs}:"
    )
    begin, end = "<!-- figures: matmul -->", "<!-- end of figures -->"
    text = "\n".join([begin, intro, "", *table(report), end])
    readme = Path(__file__).resolve().parent.parent / "README.md"
    old = readme.read_text()
    new, count = re.subn(re.escape(begin) + ".*?" + re.escape(end), lambda _: text, old, flags=re.DOTALL)
    if count != 1:
        sys.exit(f"README.md has {count} places for these figures, 1 was expected")
    readme.write_text(new)


main()
