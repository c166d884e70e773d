#!/usr/bin/env python3
"""How the cost of a location scales: with connections, jobs per rider, followers per job, the interval between reports, event
loops and Redis masters. Each point is a scene of enroute-load on a fresh gateway and Redis, about a minute. Writes
results/scaling.json, .md and .svg; points that are not measured again keep their figures. Only Python's standard library.

    scaling.py ENROUTE [--programs FOLDER] [--only base,interval-1] [--results FOLDER]
    scaling.py --list
    scaling.py --render [--results FOLDER]        writes table and plot again
"""
import argparse, json, os, sys
from dataclasses import asdict, dataclass
from measured import FOLDER, figures, provenance, summary
from plot import plot
from stage import Failed, Stage


@dataclass(frozen=True)
class Point:
    riders: int = 2500
    jobs: int = 1
    followers: int = 1
    interval: float = 5
    loops: int = 1
    masters: int = 1

    @property
    def connections(self):
        return self.riders * (1 + self.jobs * self.followers)


POINTS = {
    "base": Point(),
    "connections-1000": Point(riders=500), "connections-10000": Point(riders=5000),
    "jobs-2": Point(riders=500, jobs=2), "jobs-5": Point(riders=500, jobs=5), "jobs-10": Point(riders=500, jobs=10),
    "followers-0": Point(followers=0), "followers-10": Point(riders=450, followers=10),
    "followers-100": Point(riders=49, followers=100), "followers-1000": Point(riders=5, followers=1000),
    "followers-5000": Point(riders=1, followers=5000),
    "interval-1": Point(interval=1), "interval-2": Point(interval=2), "interval-8": Point(interval=8),
    # For the fit: the cost of an idle gateway, and of deliveries when there are many.
    "idle": Point(riders=10), "deliveries": Point(riders=10, followers=500, interval=1),
    "loops-2": Point(loops=2), "masters-3": Point(masters=3),
    # fit.py does not use it: it shows how far off the model is elsewhere.
    "check": Point(riders=1500, followers=3, interval=3),
}
# Title, what is varied, unit of the x axis, whether that axis is logarithmic, points.
AXES = [
    ("Connections", "connections", "riders and followers", False, ["connections-1000", "base", "connections-10000"]),
    ("Jobs per rider", "jobs", "jobs", False, ["connections-1000", "jobs-2", "jobs-5", "jobs-10"]),
    ("Followers per job", "followers", "followers", True,
     ["base", "followers-10", "followers-100", "followers-1000", "followers-5000"]),
    ("Interval", "interval", "seconds between reports", False, ["interval-1", "interval-2", "base", "interval-8"]),
    ("Event loops", "loops", "loops", False, ["base", "loops-2"]),
    ("Redis masters", "masters", "masters", False, ["base", "masters-3"]),
]


def measure(options, point):
    with Stage(options.enroute, options.programs, point.loops, point.masters) as stage:
        report, said = stage.play(
            "--scene", "field", "--riders", point.riders, "--jobs-per-rider", point.jobs, "--followers-per-job", point.followers,
            "--interval", point.interval, "--warmup", max(options.warmup, 1.5 * point.interval), "--seconds", options.seconds)
    print(said, end="", flush=True)
    return dict(asdict(point), connections=point.connections, **figures(report), **provenance())


def load(folder):
    try:
        with open(f"{folder}/scaling.json") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"points": {}}


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(points):
    def number(value, digits=1):
        return "–" if value is None else f"{value:,.{digits}f}"

    head = ["point", "riders", "jobs each", "followers per job", "interval s", "loops", "masters", "gateway µs per location",
            "µs per delivery", "Redis µs per location", "scripts", "commands", "p50 ms", "p99 ms", "KB per connection",
            "gateway core %", "Redis core %", "others core %"]
    rows = []
    for name in POINTS:
        if name not in points:
            continue
        found = points[name]
        rows.append([
            name, *(f"{found[key]:,}" for key in ("riders", "jobs", "followers")), f"{found['interval']:g}", str(found["loops"]),
            str(found["masters"]), number(found["gateway_us"]),
            number(found["gateway_us"] / found["followers"] if found["followers"] else None), number(found["redis_us"]),
            number(found["scripts"], 2), number(found["commands"]), number(found.get("p50_ms"), 2), number(found.get("p99_ms")),
            number(found["kb_per_connection"]), number(found["gateway_core_percent"], 0), number(found["redis_core_percent"], 0),
            number(found["others_core_percent"], 0)])
    return [row(head), row(["---"] + ["---:"] * (len(head) - 1)), *map(row, rows)]


def render(record, folder):
    points = record["points"]
    groups = {}
    for name in POINTS:
        if name in points:
            groups.setdefault(summary(points[name]), []).append(name)
    lines = [
        "# How the cost of a location scales", "",
        "Riders in zones, jobs with destinations, one gateway, TLS. A rider's report for several jobs is one location for each. "
        "`make -C benchmarks scaling` measures it; README.md explains the figures. *Others* is what else ran on the machine: "
        "above 15 % of a core it disturbs latencies.", "", "![plot](scaling.svg)", "", *table(points), ""]
    lines += [f"- {where}: {', '.join(names)}." for where, names in groups.items()]
    with open(f"{folder}/scaling.md", "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(f"{folder}/scaling.svg", "w") as file:
        file.write(plot([
            (title, unit, is_logarithmic, [
                (points[name][key], points[name]["gateway_us"], points[name]["redis_us"], points[name]["followers"])
                for name in names if name in points])
            for title, key, unit, is_logarithmic, names in AXES]))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("enroute", nargs="?")
    options.add_argument("--programs", default=f"{FOLDER}/.build/release", help="where enroute-load was built")
    options.add_argument("--only", help="comma-separated names of points; all by default")
    options.add_argument("--seconds", type=float, default=40)
    options.add_argument("--warmup", type=float, default=10)
    options.add_argument("--results", default=f"{FOLDER}/results")
    options.add_argument("--list", action="store_true", help="list the points")
    options.add_argument("--render", action="store_true", help="only write table and plot from scaling.json")
    options.add_argument("--riders", type=int, help="fewer riders at every point, to try it out")
    options = options.parse_args()
    if options.list:
        print("\n".join(f"{name}: {point}, {point.connections} connections" for name, point in POINTS.items()))
        return
    record = load(options.results)
    if not options.render:
        if not options.enroute:
            sys.exit("scaling.py: name the gateway's program, or --list or --render")
        options.enroute, options.programs = os.path.abspath(options.enroute), os.path.abspath(options.programs)
        names = options.only.split(",") if options.only else list(POINTS)
        if unknown := [name for name in names if name not in POINTS]:
            sys.exit(f"scaling.py: --only names {', '.join(unknown)}; --list lists the points")
        for name in names:
            point = POINTS[name]
            if options.riders:
                point = Point(**asdict(point) | dict(riders=min(options.riders, point.riders), followers=min(3, point.followers)))
            try:
                record["points"][name] = measure(options, point)
            except Failed as failure:
                sys.exit(f"{name}: {failure}")
            # After each point, so that none is lost.
            with open(f"{options.results}/scaling.json", "w") as file:
                json.dump(record, file, indent=1, sort_keys=True)
                file.write("\n")
    render(record, options.results)
    print(f"written to {options.results}/scaling.json, .md and .svg")


if __name__ == "__main__":
    main()
