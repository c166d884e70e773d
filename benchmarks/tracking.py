#!/usr/bin/env python3
"""What followers see of generated trips with faults, before and after trips were validated by evidence: false places, fast
trains, wrong clocks, and the movement of the marker on the customer's page. Needs Node; only Python's standard library.

    tracking.py [--page-only] [--results results]        --page-only: without the Swift tests, which must be built
"""
import argparse, json, os, re, subprocess, sys
from measured import FOLDER, provenance, summary

# The page at commit 75b1f82d, by tracking.mjs with its track-movement.js: frozen %, displayed by true speed p99, error p95 m.
PAGE_BEFORE = {
    ("walker", 1000): (25.2, 1.99, 1.6), ("bicycle", 1000): (0.7, 1.30, 0.9), ("car", 1000): (0.6, 1.12, 1.2),
    ("car without spd", 1000): (1.0, 1.22, 2.9), ("fast car", 1000): (0.6, 1.04, 1.6), ("walker", 2000): (57.2, 3.44, 2.6),
    ("bicycle", 2000): (1.5, 1.88, 1.9), ("car", 2000): (1.5, 1.42, 3.2), ("car without spd", 2000): (2.3, 1.82, 6.6),
    ("fast car", 2000): (1.3, 1.17, 4.3), ("walker", 3000): (70.1, 4.80, 3.5), ("bicycle", 3000): (2.3, 2.45, 3.4),
    ("car", 3000): (2.0, 1.88, 6.1), ("car without spd", 3000): (3.6, 2.70, 11.6), ("fast car", 3000): (1.9, 1.37, 8.1),
    ("walker", 5000): (82.3, 8.05, 5.8), ("bicycle", 5000): (5.4, 4.10, 8.1), ("car", 5000): (5.4, 3.44, 14.8),
    ("car without spd", 5000): (7.5, 5.08, 26.1), ("fast car", 5000): (4.9, 2.27, 21.5),
}
# Figures of TrackingFigureTests: what they are, and the same before, as far as it follows from the rules at that commit.
FIGURES = {
    "false_place_300": ("a place 300 m away for 14 s, m shown", "300"),
    "false_place_3000": ("a place 3 km away for 14 s, m shown", "3,000"),
    "false_place_20000": ("a place 20 km away for 14 s, m shown", "20,000"),
    "train_missing": ("a train at 300 km/h, % of 20 minutes missing", "over 80"),
    "clock_missing_fast_30": ("a clock 30 s fast, % missing", "0"),
    "clock_missing_fast_60": ("a clock 60 s fast, % missing", "100"),
    "clock_missing_fast_75": ("a clock 75 s fast, % missing", "100"),
    "clock_missing_slow_60": ("a clock 60 s slow, % missing", "100"),
    "clock_missing_slow_75": ("a clock 75 s slow, % missing", "100"),
    "clean_missing": ("trips without faults, % missing", "0"),
}


def page():
    done = subprocess.run(["node", f"{FOLDER}/tracking.mjs"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def validation():
    """Returns the figures that TrackingFigureTests print."""
    done = subprocess.run(
        [f"{FOLDER}/../Tests/Swift/run", "--filter", "TrackingFigureTests"], capture_output=True, text=True,
        cwd=f"{FOLDER}/..", env=dict(os.environ, ENROUTE_REPORT="1"))
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return {name: float(value) for name, value in re.findall(r"figure (\w+) ([-\d.e]+)", done.stdout)}


def document(rides, figures):
    lines = [
        "# What followers see", "", f"`make bench BENCH=tracking`: {summary(provenance())}.", "",
        "Generated rides of ten minutes with stops, turns and reports that are up to 200 ms late. *Before* is commit",
        "75b1f82d. Frozen: the marker stands still while the rider moves. Speed: p99 of the marker's by that of the rider.", "",
        "| ride, report every | frozen, % | before | speed | before | error p95, m | before |", "|---|---|---|---|---|---|---|"]
    for ride in rides:
        was = PAGE_BEFORE[ride["vehicle"], ride["interval"]]
        lines.append(
            f"| {ride['vehicle']}, {ride['interval'] // 1000} s | {100 * ride['frozen']:.1f} | {was[0]} | {ride['haste']:.2f} | "
            f"{was[1]:.2f} | {ride['error']:.1f} | {was[2]} |")
    if figures:
        lines += ["", "| trip | after | before |", "|---|---|---|"]
        lines += [f"| {what} | {figures[name]:.1f} | {before} |" for name, (what, before) in FIGURES.items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page-only", action="store_true")
    parser.add_argument("--results", help="a folder; without it, the figures are only printed")
    arguments = parser.parse_args()
    figures = {} if arguments.page_only else validation()
    text = document(page(), figures)
    print(text)
    if arguments.results:
        with open(f"{arguments.results}/tracking.md", "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
