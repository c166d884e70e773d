#!/usr/bin/env python3
"""A zone of 5,000 riders in a separate Redis: the time to find the ten nearest free riders within 3 km, the time of each
script, and the memory of a rider. Both roles are one instance here. Only Python's standard library.

    riders.py [--riders 5000] [--questions 20000]
"""
import argparse, os, random, socket, subprocess, tempfile, time
from recovery import answers, wait_for

ZONE, REACH = "berlin", 90_000
LUA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lua")


class Redis:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.digests = {}

    def send(self, *words):
        encoded = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
        return self.read()

    def read(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest

    def script(self, name, keys, *arguments):
        if name not in self.digests:
            with open(f"{LUA}/{name}.lua") as file:
                self.digests[name] = self.send("SCRIPT", "LOAD", file.read()).decode()
        return self.send("EVALSHA", self.digests[name], len(keys), *keys, *arguments)


def keys(rider, *more, request=""):
    own = f"rider:{{{ZONE}}}:{rider}"
    zone = [f"riders:{{{ZONE}}}:{word}" for word in ("available", "audit", "changes")]
    return [own, own + ":tasks", *zone, f"request:{{{ZONE}}}:{rider}:{request}",
            *[f"riders:{{{ZONE}}}:{word}" for word in more]]


def timed(what, count, call):
    times = []
    for number in range(count):
        begun = time.perf_counter_ns()
        call(number)
        times.append(time.perf_counter_ns() - begun)
    times.sort()
    p50, p99 = (times[int(len(times) * part)] / 1e6 for part in (0.5, 0.99))
    print(f"{what:46} {count:6} times   p50 {p50:.3f} ms   p99 {p99:.3f} ms   longest {times[-1] / 1e6:.3f} ms")


def measure(redis, riders, questions):
    chance = random.Random(7)
    place = lambda: (chance.uniform(13.1, 13.7), chance.uniform(52.35, 52.65))  # about 40 km by 33 km
    names = [f"rider-{number}" for number in range(riders)]
    geo = [f"riders:{{{ZONE}}}:geo", f"riders:{{{ZONE}}}:seen"]
    timed("describe_rider", riders, lambda n: redis.script(
        "describe_rider", keys(names[n]), ZONE, names[n], "service", "", 1, 1, ""))
    before = int(redis.send("MEMORY", "USAGE", keys(names[0])[0]))
    timed("set_rider_online, with a request id", riders, lambda n: redis.script(
        "set_rider_online", keys(names[n], "due", request="r"), ZONE, names[n], names[n], "r", "phone-1", REACH))
    timed("place_riders", riders, lambda n: redis.script("place_riders", geo, " ".join(map(str, (names[n], *place()))), 86_400_000))
    # Every fifth rider is busy.
    timed("assign_rider", riders // 5, lambda n: redis.script(
        "assign_rider", keys(names[5 * n], "tasks"), ZONE, names[5 * n], "service", "", f"job-{n}", REACH, "", "accepted"))
    timed("rider_heartbeat", riders, lambda n: redis.script(
        "rider_heartbeat", keys(names[n])[:5] + [f"riders:{{{ZONE}}}:due"], ZONE, names[n], "phone-1", 0, REACH))

    def nearest(_):
        found = redis.send("GEOSEARCH", geo[0], "FROMLONLAT", *place(), "BYRADIUS", 3, "km", "ASC", "COUNT", 30, "WITHDIST")
        if found:
            redis.send("ZMSCORE", f"riders:{{{ZONE}}}:available", *[entry[0].decode() for entry in found])

    timed("ten nearest free riders within 3 km", questions, nearest)
    timed("zone_snapshot of all", 200, lambda _: redis.script("zone_snapshot", keys("")[2:4], "", 10_000))
    usage = lambda key: int(redis.send("MEMORY", "USAGE", key, "SAMPLES", 0) or 0)
    zone = {word: usage(f"riders:{{{ZONE}}}:{word}") for word in ("available", "due", "tasks", "geo", "seen", "audit")}
    shared = sum(zone[word] for word in ("available", "due", "tasks")) / riders
    print(f"memory of a rider, bytes: record {usage(keys(names[1])[0])} ({before} before it was online), "
          f"one task {usage(keys(names[0])[1])}, its share of the zone {shared:.0f}, "
          f"its position {(zone['geo'] + zone['seen']) / riders:.0f}, a stored request {usage(keys(names[0], request='r')[5])}")
    entries = redis.send("XLEN", f"riders:{{{ZONE}}}:audit")
    print(f"a change in the log, bytes: {zone['audit'] / entries:.0f} ({entries} of them)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--riders", type=int, default=5000)
    parser.add_argument("--questions", type=int, default=20000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/redis.sock"
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket", path, "--save", "",
             "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            wait_for("redis", lambda: answers(path))
            measure(Redis(path), options.riders, options.questions)
        finally:
            server.kill()
            server.wait()


main()
