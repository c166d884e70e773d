#!/usr/bin/env python3
"""Checks that the benchmarks still run, each for a second or two, with a gateway that was built before. It does not measure
speed; it fails when a benchmark does not start, loses a message, or measures nothing. Only Python's standard library.

    smoke.py ENROUTE --programs FOLDER        FOLDER: where enroute-load and enroute-peers were built
    smoke.py --list                           lists what it runs, and what it skips and why
"""
import argparse, json, os, subprocess, sys, tempfile
from recovery import SECRET, free_port, wait_for
from smoke_node_ws import node_ws
from smoke_processes import Failed, Server, is_up, redis, run

FOLDER = os.path.dirname(os.path.abspath(__file__))
FOLLOWERS = 4

# Every program of this folder is in one of these two lists; a test compares them with the folder.
RUNS = [
    "availability.py", "enroute-instructions", "enroute-load", "enroute-peers", "field.py", "fit.py", "fleet/checker.py",
    "fleet/fleet.py", "fleet/timing.py", "peers/node-ws", "pool.py", "readme.py", "recovery.py", "riders.py", "scaling.py",
    "status.py", "storm.py", "streets.py", "tracking.py", "twin.py",
]
LEFT_OUT = {
    "fleet/clients.py": "is a part of fleet/fleet.py",
    "fleet/connection.py": "is a part of fleet/fleet.py",
    "fleet/crowd.py": "fleet/fleet.py starts it",
    "fleet/experiment.py": "is a part of fleet/fleet.py",
    "fleet/faults.py": "is a part of fleet/fleet.py",
    "fleet/measure.py": "is a part of fleet/fleet.py",
    "fleet/orders.py": "fleet/fleet.py starts it",
    "fleet/report.py": "is a part of fleet/fleet.py",
    "fleet/servers.py": "is a part of fleet/fleet.py",
    "fleet/wire.py": "is a part of fleet/fleet.py",
    "fleet/worker.py": "is a part of fleet/fleet.py",
    "measured.py": "is a part of field.py and scaling.py",
    "peers/install": "downloads the peers",
    "peers/nats": "peers/install downloads it",
    "peers/nchan": "peers/install builds it",
    "peers/python-websockets": "peers/install downloads it",
    "peers/socketio": "peers/install downloads it",
    "peers/verify.py": "requires what peers/install downloads",
    "peers/contract.py": "is a part of the Python peers",
    "plot.py": "is a part of scaling.py",
    "smoke_node_ws.py": "is a part of smoke.py",
    "smoke_processes.py": "is a part of smoke.py",
    "specialised.py": "reads a release build; make bench-gate runs it",
    "stage.py": "is a part of field.py and scaling.py",
    "storm_clients.py": "is a part of storm.py",
}


def scripts(enroute):
    def script(name, *words):
        return run(name, sys.executable, f"{FOLDER}/{name}", *words)

    script("status.py", enroute, "--jobs", "10", "--rate", "50", "--seconds", "1")
    script("pool.py", enroute, "--riders", "20", "--rate", "50", "--seconds", "1")
    script("availability.py", enroute, "--riders", "20", "--rate", "20", "--seconds", "1")
    script("recovery.py", enroute, "--jobs", "20", "--rounds", "1")
    script("riders.py", "--riders", "50", "--questions", "100")
    script("fleet/checker.py")
    script("fleet/timing.py")
    # Not a path with "..": the folder of a build is a symbolic link.
    script("twin.py", os.path.normpath(f"{os.path.dirname(enroute)}/../debug.yaml"))


def streets(enroute, folder):
    """A small town: every route is found."""
    output = f"{folder}/streets.md"
    run("streets.py", sys.executable, f"{FOLDER}/streets.py", "--program", enroute, "--edges", "2000", "--queries", "20",
        "--output", output)
    with open(output, encoding="utf-8") as file:
        if "| car | 20 |" not in file.read():
            raise Failed("streets.py: a route is missing")


def fleet(enroute, folder):
    """A small fleet loses a gateway and drains another. Three statuses are tampered with, which must be noticed."""
    run("fleet/fleet.py", sys.executable, f"{FOLDER}/fleet/fleet.py", enroute, "--followers", "60", "--riders", "20", "--phases",
        "kill,drain", "--single-redis", "--processes", "2", "--before", "1", "--during", "2", "--after", "1",
        "--drain-accept-seconds", "4", "--drain-seconds", "2", "--rate", "10", "--sabotage", "--results", folder)
    with open(f"{folder}/fleet.json") as file:
        phases = {phase["phase"]: phase for phase in json.load(file)["phases"]}
    if any(phases[name]["disconnects"]["followers"] == 0 for name in ("kill", "drain")):
        raise Failed("fleet/fleet.py: a gateway that was killed or drained had no followers")


def storm(enroute, folder):
    """A few clients lose their gateway and are live again on the other one, the second time with resumed sessions."""
    clients = 40
    run("storm.py", sys.executable, f"{FOLDER}/storm.py", enroute, "--clients", str(clients), "--results", folder)
    with open(f"{folder}/storm.json") as file:
        runs = json.load(file)["runs"]
    if [run["resumed"] for run in runs] != [0, clients]:
        raise Failed(f"storm.py: not every session was resumed, or one was that should not be: {runs}")


def load(enroute, programs, folder):
    """Both ways to publish, with one follower each: every published message must arrive."""
    redis_port, port = free_port(), free_port()
    with redis(redis_port, folder):
        wait_for("redis", lambda: is_up(redis_port))
        environment = dict(
            PATH=os.environ["PATH"], ENROUTE_REDIS_LIVE_URL=f"redis://127.0.0.1:{redis_port}", ENROUTE_TLS="off",
            ENROUTE_LISTEN_PORT=str(port), ENROUTE_LISTEN_HOST="127.0.0.1", ENROUTE_MANAGEMENT="off", ENROUTE_MODE="development",
            ENROUTE_TOKEN_SECRET=SECRET.decode(), ENROUTE_LOG_LEVEL="critical",
            ENROUTE_OVERLOAD_LOOP_LAG_MS="60000")
        with Server(enroute, "serve", env=environment, stdout=subprocess.DEVNULL):
            wait_for("the gateway", lambda: is_up(port))
            for way in ("redis", "riders"):
                report = f"{folder}/{way}.json"
                said = run(
                    f"enroute-load --publish {way}", f"{programs}/enroute-load", "--url", f"ws://127.0.0.1:{port}", "--redis",
                    f"127.0.0.1:{redis_port}", "--token-secret", SECRET.decode(), "--publish", way, "--connections",
                    str(FOLLOWERS), "--rate", str(FOLLOWERS), "--seconds", "1", "--warmup", "0", "--json", report)
                with open(report) as file:
                    figures = json.load(file)
                figures = figures["messages"]
                if figures["delivered"] < 1 or figures["missing"] > 0:
                    raise Failed(f"enroute-load --publish {way}: {figures['missing']} messages are missing:\n{said}")


def scenes(enroute, programs, folder):
    """Small scenes: with zones on a cluster, and two points of the scaling curves. Every location must arrive."""
    report = f"{folder}/field.json"
    run("field.py", sys.executable, f"{FOLDER}/field.py", enroute, "--programs", programs, "--riders", "4", "--jobs-per-rider", "2",
        "--followers-per-job", "2", "--interval", "1", "--warmup", "1", "--seconds", "2", "--masters", "3", "--json", report)
    with open(report) as file:
        figures = json.load(file)
    messages, redis = figures["messages"], figures["redis"]
    if messages["delivered"] < 4 * 2 * 2 or messages["missing"] > 0 or redis["scriptsPerLocation"] < 1:
        raise Failed(f"field.py: {messages}, {redis['scriptsPerLocation']} scripts per location")
    run("scaling.py", sys.executable, f"{FOLDER}/scaling.py", enroute, "--programs", programs, "--riders", "4", "--only",
        "interval-1,followers-0", "--warmup", "1", "--seconds", "2", "--results", folder)
    for name, expected in (("scaling.json", '"followers-0"'), ("scaling.md", "| interval-1 |"), ("scaling.svg", "</svg>")):
        with open(f"{folder}/{name}") as file:
            if expected not in file.read():
                raise Failed(f"scaling.py: {name} lacks {expected}")


def generated(folder):
    """Figures in documents and code are those of the result files."""
    run("readme.py", sys.executable, f"{FOLDER}/readme.py", "--check")
    run("fit.py", sys.executable, f"{FOLDER}/fit.py", "--check")
    recordings = f"{folder}/recordings"
    os.mkdir(recordings)
    with open(f"{recordings}/north.csv", "w") as file:
        file.write("unix_ms,lat,lon\n" + "".join(f"{second * 1000},{48 + second / 11_000},16\n" for second in range(400)))
    said = run("tracking.py", sys.executable, f"{FOLDER}/tracking.py", "--recordings", recordings)
    if "| recorded: north" not in said:
        raise Failed(f"tracking.py has no row of the recording:\n{said}")


def peers(enroute, programs, folder):
    """Enroute beside node-ws, which needs only Debian's packages: neither is skipped, and no message is missing. At a higher rate, a
    busy machine publishes two positions of a job at once, of which Enroute sends the newer one."""
    said = run(
        "enroute-peers", f"{programs}/enroute-peers", "--enroute", enroute, "--peers", f"{FOLDER}/peers", "--only",
        "enroute,node-ws", "--rounds", "1", "--connections", "20", "--works", "one-to-one,fan-out,whole-road", "--rate", "20",
        "--seconds", "1", "--results", folder)
    with open(f"{folder}/latest.json") as file:
        summary = json.load(file)
    if summary["leftOut"]:
        raise Failed(f"enroute-peers skipped {summary['leftOut']}:\n{said}")
    delivered = {
        (record["contestant"], record["work"]): record["report"]["messages"] for record in summary["records"]
        if record.get("report", {}).get("messages")}
    if len(delivered) != 6:
        raise Failed(f"enroute-peers measured only {sorted(delivered)}:\n{said}")
    for measured, messages in delivered.items():
        if messages["delivered"] < 1 or messages["missing"] > 0:
            raise Failed(f"enroute-peers, {measured}: {messages['missing']} messages are missing:\n{said}")


def instructions(enroute):
    """The counts of a debug build are meaningless; only their existence is checked."""
    for figure in ("delivered_message", "redis_instructions_per_location_every_second"):
        said = run(
            f"enroute-instructions --only {figure}", f"{os.path.dirname(enroute)}/enroute-instructions", "--enroute", enroute,
            "--followers", "2", "--repetitions", "50", "--seconds", "4", "--only", figure)
        if figure not in said:
            raise Failed(f"enroute-instructions did not measure {figure}:\n{said}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("enroute", nargs="?")
    options.add_argument("--programs", help="the folder of the benchmarks' own programs, built in debug")
    options.add_argument("--list", action="store_true", help="list what is run, and what is skipped and why")
    options = options.parse_args()
    if options.list:
        print("\n".join([*RUNS, *(f"not {name}: {reason}" for name, reason in LEFT_OUT.items())]))
        return
    if not options.enroute or not options.programs:
        sys.exit("usage: smoke.py ENROUTE --programs FOLDER")
    enroute, programs = os.path.abspath(options.enroute), os.path.abspath(options.programs)
    try:
        for part in (
            lambda folder: scripts(enroute), node_ws, lambda folder: load(enroute, programs, folder),
            lambda folder: scenes(enroute, programs, folder), generated,
            lambda folder: peers(enroute, programs, folder), lambda folder: instructions(enroute),
            lambda folder: fleet(enroute, folder), lambda folder: storm(enroute, folder),
            lambda folder: streets(enroute, folder),
        ):
            with tempfile.TemporaryDirectory() as folder:
                part(folder)
    except (Failed, subprocess.TimeoutExpired) as failure:
        sys.exit(f"a benchmark does not run: {failure}")


if __name__ == "__main__":
    main()
