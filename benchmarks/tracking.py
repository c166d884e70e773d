#!/usr/bin/env python3
"""What followers see of generated and recorded trips with faults, for each finding of issue 23: false places, inaccurate
readings, fast trains, wrong clocks, and the movement of the marker on the customer's page. Needs Node; only Python's
standard library.

    tracking.py [--page-only] [--recordings folder] [--results results]

--page-only: without the Swift tests, which must be built. --recordings: your recordings (GPX, CSV, NMEA) instead of those in
../shared; ideally with one reading per second, as phones record.
"""
import argparse, json, os, re, subprocess, sys, tempfile
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
# The findings of issue 23 that this program measures: the finding, what was measured before, and rows of TrackingFigureTests'
# figures (name, what it is, digits).
FINDINGS = (
    ("any distance was believed after 10 s of agreement", "a place 3 km away shown after 14 s", (
        ("false_place_300", "a place 300 m away for 14 s, m shown", 0),
        ("false_place_3000", "a place 3 km away for 14 s, m shown", 0),
        ("false_place_20000", "a place 20 km away for 14 s, m shown", 0),
        ("false_place_early", "a place 3 km away for 14 s, 5 s after the start of the trip, m shown", 0),
        ("spike", "a single reading 55 m away, m shown", 1))),
    ("accuracy below 200 m was ignored", "a walk of 0.8 km drawn as 13.5 km (17 times)", (
        ("length_walk_50", "a walk with an accuracy of 50 m, shown by true way", 1),
        ("length_walk_100", "a walk with an accuracy of 100 m, shown by true way", 1),
        ("length_raw_walk_100", "the same without the filter", 1),
        ("length_bicycle_100", "a bicycle with an accuracy of 100 m, shown by true way", 1),
        ("length_raw_bicycle_100", "the same without the filter", 1),
        ("length_car_100", "a car with an accuracy of 100 m, shown by true way", 1),
        ("length_raw_car_100", "the same without the filter", 1),
        ("fastest_car_100", "the fastest step of that car, m/s", 0))),
    ("readings above 216 km/h never agreed", "20 min of silence on a fast train", (
        ("train_missing", "a train at 300 km/h, % of 20 min missing", 1),
        ("tunnel", "readings shown over 10 m away after a tunnel of 90 s", 0))),
    ("a phone clock 60 s slow or 30 s fast made the rider invisible", "244 of 244 refused", (
        ("clock_missing_fast_30", "a clock 30 s fast, % missing", 1),
        ("clock_missing_fast_60", "a clock 60 s fast, % missing", 1),
        ("clock_missing_fast_75", "a clock 75 s fast, % missing", 1),
        ("clock_missing_slow_60", "a clock 60 s slow, % missing", 1),
        ("clock_missing_slow_75", "a clock 75 s slow, % missing", 1))),
    ("without `spd`, a rider at 11 m/s was asked for a report every 8 s", "8 s, should be 1 s", (
        ("asked_untold", "a rider without `spd` at 11 m/s near its destination, s", 0),
        ("asked_told", "the same with `spd`, s", 0))),
    ("no reading without a fault may be lost", "none lost", (("clean_missing", "trips without faults, % missing", 1),)),
)
# The findings that other programs and tests measure.
ELSEWHERE = (
    ("two phones of one rider make the marker jump", "5 km every half second",
     "the tests of one device per trip (GatewayTests)"),
    ("arrival times only fit cars, and are too early", "signed median at 20 min: cars −338, bicycles −635, walkers −867 s",
     "`enroute score`, [ETA](../../Sources/ETA/README.md#accuracy)"),
    ("an estimator with a bicycle prior and a street search are better", "bicycles 635 s, Rome 527 s at 20 min",
     "`enroute score`, [ETA](../../Sources/ETA/README.md#accuracy)"),
    ("a mistaken `delivered` is final", "operations 403, service 409", "`Tests/Swift/run --filter CorrectionTests`"),
    ("events overtaken by later ones leave no trace", "635 to 665 of 1,090 job logs miss steps",
     "`Tests/Swift/run --filter LateEventTests`"),
    ("a geocoder outage is permanent for the job", "no retry", "`Tests/Swift/run --filter GeocodingTests`"),
)


def page(rides=None):
    """Returns what the page shows; `rides`: a file with rides as the gateway shows them."""
    command = ["node", f"{FOLDER}/tracking.mjs"] + ([rides] if rides else [])
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def validation(rides, recordings):
    """Returns the figures that TrackingFigureTests print, and writes rides as the gateway shows them."""
    chosen = {"ENROUTE_RECORDINGS": os.path.abspath(recordings)} if recordings else {}
    done = subprocess.run(
        [f"{FOLDER}/../Tests/Swift/run", "--filter", "TrackingFigureTests"], capture_output=True, text=True,
        cwd=f"{FOLDER}/..", env=dict(os.environ, ENROUTE_REPORT="1", ENROUTE_RIDES=rides) | chosen)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return {name: float(value) for name, value in re.findall(r"figure (\w+) ([-\d.e]+)", done.stdout)}


def findings(figures):
    lines = ["", "## The findings of issue 23", "", "*Before* is what the issue measured.", "",
             "| finding | before | trip | after |", "|---|---|---|---|"]
    for finding, before, rows in FINDINGS:
        for index, (name, what, digits) in enumerate(rows):
            first = f"{finding} | {before}" if index == 0 else " | "
            lines.append(f"| {first} | {what} | {figures[name]:.{digits}f} |")
    return lines


def asked(rides):
    def number(value, digits):
        # In a recording with a reading every few seconds, no place in between is known.
        return "–" if value is None else f"{value:.{digits}f}"

    def percent(share):
        return None if share is None else 100 * share

    frozen = [ride["frozen"] for ride in rides if ride["frozen"] is not None]
    return [
        "", "## The marker at the interval that the gateway asks for", "",
        "Before, a marker was frozen for 11 % of the moving time, and the p99 of its speed was 1.6 times the rider's. The",
        "rides have stops, turns and an accuracy of 5 m. Recorded cars have no `spd`, and their readings count as the",
        "truth.", "",
        f"On average, a marker is frozen for {100 * sum(frozen) / len(frozen):.1f} % of the moving time.", "",
        "| ride | report every, s | frozen, % | speed p99 | error p95, m |", "|---|---|---|---|---|"
    ] + [f"| {ride['name']} | {ride['interval']:.1f} | {number(percent(ride['frozen']), 1)} | {number(ride.get('haste'), 2)} | "
         f"{number(ride.get('error'), 1)} |" for ride in rides]


def elsewhere():
    return ["", "## Findings that are measured elsewhere", "", "| finding | before | measured by |", "|---|---|---|"] + [
        f"| {finding} | {before} | {by} |" for finding, before, by in ELSEWHERE]


def document(shown, figures):
    lines = ["# What followers see", "", f"`make bench BENCH=tracking`: {summary(provenance())}."]
    if figures:
        lines += findings(figures) + asked(shown["gateway"]) + elsewhere()
    lines += [
        "", "## The marker at constant intervals", "",
        "Generated rides of ten minutes with stops, turns and reports that are up to 200 ms late. *Before* is commit",
        "75b1f82d. Frozen: the marker stands still while the rider moves. Speed: p99 of the marker's by that of the rider.", "",
        "| ride, report every | frozen, % | before | speed | before | error p95, m | before |", "|---|---|---|---|---|---|---|"]
    for ride in shown["rides"]:
        was = PAGE_BEFORE[ride["vehicle"], ride["interval"]]
        lines.append(
            f"| {ride['vehicle']}, {ride['interval'] // 1000} s | {100 * ride['frozen']:.1f} | {was[0]} | {ride['haste']:.2f} | "
            f"{was[1]:.2f} | {ride['error']:.1f} | {was[2]} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page-only", action="store_true")
    parser.add_argument("--recordings", help="a folder with recordings")
    parser.add_argument("--results", help="a folder; without it, the figures are only printed")
    arguments = parser.parse_args()
    if arguments.page_only:
        text = document(page(), {})
    else:
        with tempfile.TemporaryDirectory() as folder:
            rides = f"{folder}/rides.json"
            figures = validation(rides, arguments.recordings)
            text = document(page(rides), figures)
    print(text)
    if arguments.results:
        with open(f"{arguments.results}/tracking.md", "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
