#!/usr/bin/env python3
"""Writes the table of performance figures in the project's README.md from the newest comparison with the peers. Only Python's
standard library.

    readme.py [--results FOLDER]     writes the table; its row of titles begins with the text of `TITLE`
    readme.py --check                fails if the table differs from the results
"""
import argparse, json, os, sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(FOLDER, "..", "README.md")
TITLE = "| [CPU µs per message](benchmarks/results/peers.md) |"
ROWS = {
    "fan-out": "to {count} followers of one job", "bursts": "to {count} jobs with one follower each, in bursts",
    "whole-road": "from {count} riders to one follower each, with the position stored",
}
NAMES = {
    "enroute": "Enroute", "twin": "Enroute on NIOSSL", "nats": "NATS", "nchan": "nchan", "node-ws": "Node.js, ws",
    "python-websockets": "Python, websockets", "socketio": "Socket.IO in Python",
}
# A server with more messages missing than this could not keep up, so its CPU time is meaningless.
MOST_MISSING = 0


def figure(record, contestant, work, name):
    found = record["figures"].get(f"{contestant}/{work}/{name}")
    return None if found is None else found["median"]


def cell(record, contestant, work):
    cost = figure(record, contestant, work, "cpu_us")
    if cost is None:
        return "–"
    if (figure(record, contestant, work, "missing") or 0) > MOST_MISSING:
        return "too slow"
    return f"{cost:.1f}" if cost < 100 else f"{cost:.0f}"


def table(record):
    """Returns the lines of the table."""
    works = sorted({record["work"] for record in record["records"]})
    lines = [f"{TITLE} " + " | ".join(NAMES.get(name, name) for name in record["contestants"]) + " |",
             "|---|" + "---:|" * len(record["contestants"])]
    for work, words in ROWS.items():
        counts = sorted(int(name.split("/")[1]) for name in works if name.startswith(work + "/"))
        if counts:
            cells = [cell(record, name, f"{work}/{counts[0]}") for name in record["contestants"]]
            lines.append(f"| {words.format(count=f'{counts[0]:,}')} | " + " | ".join(cells) + " |")
    return lines


def place(lines):
    """Returns the first line of the table, and the line after it."""
    first = next((number for number, line in enumerate(lines) if line.startswith(TITLE)), None)
    if first is None:
        sys.exit(f"README.md has no table that begins with '{TITLE}'")
    last = first
    while lines[last].startswith("|"):
        last += 1
    return first, last


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--results", default=f"{FOLDER}/results")
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    with open(f"{options.results}/peers.json") as file:
        wanted = table(json.load(file))
    with open(README) as file:
        lines = file.read().split("\n")
    first, last = place(lines)
    if options.check:
        if lines[first:last] != wanted:
            sys.exit("README.md's figures are not those of benchmarks/results/peers.json: run benchmarks/readme.py")
        return
    with open(README, "w") as file:
        file.write("\n".join(lines[:first] + wanted + lines[last:]))
    print("\n".join(wanted))


if __name__ == "__main__":
    main()
