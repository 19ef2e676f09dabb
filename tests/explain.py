#!/usr/bin/env python3
"""Holds the predictions in reports of `matmul --explain --json` against what was measured.

    tests/explain.py REPORT.json…

Prints a line for each size and mode, and fails unless every mode that copies is predicted within 25 % and the predicted
winner is the measured one, or took at most 3 % longer than it, which `matmul` calls even.
"""
import json
import sys

WITHIN = 25.0
TIE = 1.03
failed = False


def verdict(good):
    global failed
    failed |= not good
    return "OK" if good else "FAILED"


for path in sys.argv[1:]:
    report = json.load(open(path))
    if "predicted_by" not in report:
        print(f"{path}: nothing was predicted: {report['notes']}")
        failed = True
        continue
    for size in report["sizes"]:
        what = f"{report['kernel']} {size['m']}x{size['n']}x{size['k']}"
        found = size["comparison"]
        for mode in found["modes"]:
            stages = ", ".join(
                f"{stage} {mode[f'predicted_{stage}_ms']:.4g} / {mode[f'measured_{stage}_ms']:.4g}"
                for stage in ("allocate", "h2d", "kernel", "d2h", "total")
            )
            off = mode["total_deviation_percent"]
            said = verdict(abs(off) <= WITHIN) if mode["copies"] else "not asked"
            print(f"{what} {mode['mode']}: predicted / measured ms: {stages}; total off by {off:+.0f} %: {said}")
        predicted, measured = found["predicted_winner"], found["measured_winner"]
        totals = {mode["mode"]: mode["measured_total_ms"] for mode in found["modes"]}
        behind = totals[predicted] / totals[measured]
        even = f" ({behind:.3f} times its time)" if predicted != measured else ""
        print(f"{what}: predicted winner {predicted}, measured winner {measured}{even}: {verdict(behind <= TIE)}")
sys.exit(failed)
