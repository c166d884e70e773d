"""Streets: compiles a generated town and measures routes. Writes results/streets.md.

The town has avenues, streets and lanes on a crooked grid, every third one one-way, with bends between crossings. It is
written as GeoJSON, compiled by `enroute streets build`, and measured by `enroute streets measure` in a process of its
own, whose memory is the figure.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VEHICLES = ["foot", "bicycle", "car", "truck"]


def town(path, edges, seed=7):
    """A town with about this many directed edges."""
    side = max(4, round((edges / 4) ** 0.5))
    rng = random.Random(seed)
    corners = [
        [
            (12.0 + c * 0.0013 + rng.uniform(-3e-4, 3e-4), 41.5 + r * 0.001 + rng.uniform(-2.5e-4, 2.5e-4))
            for c in range(side)
        ]
        for r in range(side)
    ]

    def bends(line):
        for a, b in zip(line, line[1:]):
            yield a
            yield tuple(round((x + y) / 2 + rng.uniform(-1e-4, 1e-4), 6) for x, y in zip(a, b))
        yield line[-1]

    with open(path, "w", encoding="utf-8") as file:
        file.write('{"type":"FeatureCollection","attribution":"a generated town","features":[')
        lines = corners + [list(column) for column in zip(*corners)]
        for index, line in enumerate(lines):
            place = index % side
            # Stretches of some blocks, and now and then a gap: a railway, a park.
            start, stretches = 0, []
            while start < side - 1:
                end = min(side - 1, start + rng.randint(3, 20))
                stretches.append(line[start : end + 1])
                start = end + (1 if rng.random() < 0.1 else 0)
            for part, stretch in enumerate(stretches):
                kind = "primary" if place % 20 == 0 else "tertiary" if place % 5 == 0 else "residential"
                tags = {"highway": kind, "name": f"Street {index}"}
                if kind == "residential" and place % 3 == 0:
                    tags["oneway"] = "yes" if place % 2 else "-1"
                if kind != "residential":
                    tags["maxspeed"] = "50"
                feature = {
                    "type": "Feature",
                    "properties": tags,
                    "geometry": {"type": "LineString", "coordinates": [list(point) for point in bends(stretch)]},
                }
                file.write("," if index or part else "")
                json.dump(feature, file, separators=(",", ":"))
        file.write("]}")


def run(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def figure(text, name):
    found = re.search(rf"^{name}: ([0-9.]+)", text, re.MULTILINE)
    if not found:
        raise SystemExit(f"no {name} in:\n{text}")
    return float(found.group(1))


def measure(program, edges, queries):
    with tempfile.TemporaryDirectory() as folder:
        source, compiled = os.path.join(folder, "town.geojson"), os.path.join(folder, "town.streets")
        town(source, edges)
        built = run(program, "streets", "build", source, "--output", compiled)
        rows = {v: run(program, "streets", "measure", compiled, "--vehicle", v, "--queries", str(queries)) for v in VEHICLES}
    return built, rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=1_050_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--program", default=os.environ.get("ENROUTE_PROGRAM", "../.build/release/enroute"))
    parser.add_argument("--output", default=str(HERE / "results/streets.md"))
    options = parser.parse_args()
    built, rows = measure(options.program, options.edges, options.queries)
    text = f"""# Streets

A generated town, compiled and measured with `make -C benchmarks streets` (release build). Each vehicle is measured in a
process of its own: {options.queries} routes between random places, one after the other. Memory is the resident memory
of that process at its end, with all pages of the file.

- nodes: {figure(built, "nodes"):,.0f}
- directed edges: {figure(built, "directed edges"):,.0f}
- file: {figure(built, "bytes") / 1e6:.0f} MB
- time to compile: {figure(built, "seconds"):.1f} s

| vehicle | routes found | median (ms) | p95 (ms) | p99 (ms) | longest (ms) | memory (MB) | open (ms) |
|---|---|---|---|---|---|---|---|
"""
    for vehicle, row in rows.items():
        names = ["median ms", "p95 ms", "p99 ms", "longest ms"]
        text += f"| {vehicle} | {figure(row, 'routes found'):.0f} | "
        text += " | ".join(f"{figure(row, name):.1f}" for name in names)
        text += f" | {figure(row, 'resident MB'):.0f} | {figure(row, 'open ms'):.0f} |\n"
    pathlib.Path(options.output).write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
