#!/usr/bin/env python3
"""A gateway whose 20,000 followed jobs lose their channels: the time until all are subscribed and resynced, the latency of
Redis meanwhile, and the gateway's memory over 200 rounds. Only Python's standard library.

    recovery.py ENROUTE [--jobs 20000] [--rounds 200]
"""
import argparse, base64, hashlib, hmac, json, os, socket, statistics, struct, subprocess, tempfile, threading, time
import urllib.request

SECRET = b"a secret of at least thirty-two bytes"
JOBS_PER_SESSION = 200  # the limit of jobs that an ops connection may follow


def token(person, role):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")
    now = int(time.time())
    claims = dict(iss="enroute", aud="enroute", sub=person, role=role, jti=person, iat=now, exp=now + 7200)
    text = part(dict(alg="HS256", typ="JWT")) + b"." + part(claims)
    return (text + b"." + base64.urlsafe_b64encode(hmac.new(SECRET, text, hashlib.sha256).digest()).rstrip(b"=")).decode()


class Redis:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    @staticmethod
    def command(*words):
        encoded = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded)

    def send(self, *words):
        self.socket.sendall(self.command(*words))
        return self.read()

    def read(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest


class Follower:
    """One ops WebSocket that follows many jobs and counts what it receives."""

    def __init__(self, port, number, jobs):
        self.counts = dict(subscribed=0, reset=0, degraded=0, restored=0, error=0)
        self.is_open = True
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall((
            "GET /v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: enroute.v1\r\n"
            f"Authorization: Bearer {token(f'ops-{number}', 'ops')}\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        status = self.file.readline()
        assert b" 101 " in status, status
        while self.file.readline() != b"\r\n":
            pass
        for job in jobs:
            self.send(json.dumps(dict(type="subscribe", job=job)))
        threading.Thread(target=self.listen, daemon=True).start()

    def send(self, text, code=1):
        payload = text.encode() if isinstance(text, str) else text
        head = bytes([0x80 | code, 0x80 | len(payload)]) if len(payload) < 126 else (
            bytes([0x80 | code, 0x80 | 126]) + struct.pack(">H", len(payload)))
        self.socket.sendall(head + b"\0\0\0\0" + payload)

    def listen(self):
        while head := self.file.read(2):
            length = head[1] & 127
            if length == 126:
                length = struct.unpack(">H", self.file.read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.file.read(8))[0]
            payload = self.file.read(length)
            if head[0] & 15 == 9:
                self.send(payload, 10)
            elif head[0] & 15 == 1:
                kind = payload[9:payload.index(b'"', 9)].decode()
                if kind in self.counts:
                    self.counts[kind] += 1
        self.is_open = False


class Pinger(threading.Thread):
    """PINGs Redis every 5 ms and records the time from the scheduled time to the reply."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.redis, self.times, self.is_running = Redis(path), [], True
        self.start()

    def run(self):
        due = time.perf_counter()
        while self.is_running:
            due += 0.005
            time.sleep(max(0, due - time.perf_counter()))
            self.redis.send("PING")
            self.times.append(time.perf_counter() - due)


def gauge(port, line):
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    return sum(float(row.split()[-1]) for row in text.splitlines() if row.startswith(line))


def wait_for(what, is_so, seconds=120):
    end = time.perf_counter() + seconds
    while not is_so():
        if time.perf_counter() > end:
            raise SystemExit(f"never: {what}")
        time.sleep(0.01)


def answers(path):
    """Whether the server is listening: the socket file exists slightly earlier."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("enroute")
    options.add_argument("--jobs", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=200)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, port, management = f"{folder}/redis.sock", free_port(), free_port()
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket", path, "--save", "",
             "--appendonly", "no", "--dir", folder], stdout=subprocess.DEVNULL)
        wait_for("redis", lambda: answers(path))
        redis = Redis(path)
        for number in range(options.jobs):
            redis.socket.sendall(Redis.command(
                "HSET", f"job:{{job-{number}}}", "kind", "service", "customer", "anna", "rider", "", "zone", "",
                "destination", "", "vendor", "", "status", "assigned", "status_at", 1_700_000_000_000, "epoch", "e",
                "head", "1700000000000-0"))
            redis.read()
        environment = dict(
            PATH=os.environ["PATH"], ENROUTE_REDIS_LIVE_URL=f"unix:{path}", ENROUTE_TLS="off", ENROUTE_LISTEN_PORT=str(port),
            ENROUTE_LISTEN_HOST="127.0.0.1", ENROUTE_MANAGEMENT_PORT=str(management), ENROUTE_TOKEN_SECRET=SECRET.decode(),
            ENROUTE_MODE="development", ENROUTE_LOG_LEVEL="critical", ENROUTE_OVERLOAD_LOOP_LAG_MS="60000")
        for limit in ("SESSIONS_PER_PERSON", "SESSIONS_PER_ADDRESS", "CONNECTIONS_PER_ADDRESS", "NEW_CONNECTIONS_PER_SECOND"):
            environment[f"ENROUTE_LIMIT_{limit}"] = "0"
        for limit in ("", "PER_PERSON_", "PER_ADDRESS_"):
            environment[f"ENROUTE_LIMIT_MESSAGES_{limit}PER_SECOND"] = "100000"
            environment[f"ENROUTE_LIMIT_MESSAGES_{limit}BURST"] = "100000"
        gateway = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", options.enroute, "serve"], env=environment, stdout=subprocess.PIPE)
        gateway.stdout.readline()
        try:
            measure(options, path, redis, port, management)
        finally:
            gateway.kill()
            server.kill()


def measure(options, path, redis, port, management):
    began = time.perf_counter()
    followers = []
    for number in range(0, options.jobs, JOBS_PER_SESSION):
        jobs = [f"job-{n}" for n in range(number, min(number + JOBS_PER_SESSION, options.jobs))]
        followers.append(Follower(port, number, jobs))
    total = lambda kind: sum(f.counts[kind] for f in followers)
    wait_for("all subscribed", lambda: total("subscribed") >= options.jobs)
    print(f"{options.jobs} jobs followed over {len(followers)} connections in {time.perf_counter() - began:.1f} s")
    time.sleep(2)
    quiet = Pinger(path)
    time.sleep(5)
    quiet.is_running = False

    times, pings, memory = [], Pinger(path), []
    for number in range(options.rounds):
        before, began = total("reset"), time.perf_counter()
        redis.send("CLIENT", "KILL", "TYPE", "pubsub")
        wait_for(f"round {number}: all reset", lambda: total("reset") >= before + options.jobs)
        times.append(time.perf_counter() - began)
        if number % 10 == 9 or number == 0:
            memory.append(gauge(management, "process_resident_memory_bytes") / 1e6)
        if number == 9:
            pings.is_running = False
    checks = gauge(management, 'enroute_resyncs_total{kind="job",reason="check"}')

    def percentile(values, share):
        return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1000

    print(f"all subscribed and resynced after CLIENT KILL TYPE pubsub, {options.rounds} rounds: "
          f"median {statistics.median(times):.2f} s, worst {max(times):.2f} s")
    print(f"PING of Redis: p99 {percentile(pings.times, .99):.1f} ms during the first ten rounds "
          f"(worst {max(pings.times) * 1000:.1f}), p99 {percentile(quiet.times, .99):.1f} ms before")
    print("resident memory of the gateway, MB, every ten rounds: " + " ".join(f"{m:.0f}" for m in memory))
    print(f"clients disconnected: {sum(not f.is_open for f in followers)}; checks done: {checks:.0f}; "
          f"degraded sent: {total('degraded')}; errors: {total('error')}")


if __name__ == "__main__":
    main()
