#!/usr/bin/env python3
"""Latency from POST status to the follower: 1,000 followed jobs, 200 changes a second, each timed from its scheduled time
to its frame. One gateway over loopback without TLS, one redis-server. Only Python's standard library.

    status.py ENROUTE [--jobs 1000] [--rate 200] [--seconds 30]
"""
import argparse, asyncio, json, os, resource, socket, subprocess, tempfile, time
from recovery import SECRET, answers, free_port, token, wait_for

# Two statuses that can alternate forever.
CIRCLE = ["allocation_failed", "preparing"]


async def websocket(port, job):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((
        "GET /v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: enroute.v1\r\n"
        f"Authorization: Bearer {token('anna', 'customer')}\r\n\r\n").encode())
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    text = json.dumps(dict(type="subscribe", job=job)).encode()
    writer.write(bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text)
    return reader, writer


async def frame(reader):
    head = await reader.readexactly(2)
    length = head[1] & 127
    if length == 126:
        length = int.from_bytes(await reader.readexactly(2), "big")
    return head[0] & 15, await reader.readexactly(length)


async def follow(port, job, sent, times, ready):
    reader, writer = await websocket(port, job)
    while True:
        kind, payload = await frame(reader)
        if kind == 9:
            writer.write(bytes([0x8A, 0x80 | len(payload)]) + b"\0\0\0\0" + payload)
        elif payload.startswith(b'{"type":"status"'):
            times.append(time.perf_counter() - sent.pop(job))
        elif payload.startswith(b'{"type":"subscribed"'):
            ready.append(job)


class Caller:
    """One keep-alive connection of the order system."""

    async def ask(self, port, method, path, body, bearer):
        if not hasattr(self, "writer"):
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        text = json.dumps(body)
        self.writer.write((
            f"{method} /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bearer}\r\n"
            f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        lines = head.decode().lower().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length"))
        answer = await self.reader.readexactly(length)
        assert lines[0].split()[1] in ("200", "201"), answer
        return answer


async def run(options, port):
    bearer = token("orders", "service")
    callers = [Caller() for _ in range(16)]

    async def make(caller, numbers):
        for number in numbers:
            await caller.ask(port, "POST", "jobs", dict(job=f"job-{number}", kind="delivery", customer="anna"), bearer)
            for status in ("accepted", "preparing"):
                await caller.ask(port, "POST", f"jobs/job-{number}/status", dict(status=status), bearer)

    await asyncio.gather(*(make(c, range(i, options.jobs, 16)) for i, c in enumerate(callers)))
    sent, times, ready, followers = {}, [], [], []
    for number in range(options.jobs):
        followers.append(asyncio.create_task(follow(port, f"job-{number}", sent, times, ready)))
        if number % 50 == 49:
            await asyncio.sleep(0.05)
    while len(ready) < options.jobs:
        await asyncio.sleep(0.05)
    answered, idle, lag = [], asyncio.Queue(), 0.0
    for caller in callers:
        idle.put_nowait(caller)

    async def change(caller, number, status):
        due = sent[f"job-{number}"]
        await caller.ask(port, "POST", f"jobs/job-{number}/status", dict(status=status), bearer)
        answered.append(time.perf_counter() - due)
        idle.put_nowait(caller)

    total, begin = options.rate * options.seconds, time.perf_counter()
    for index in range(total):
        due = begin + index / options.rate
        await asyncio.sleep(max(0, due - time.perf_counter()))
        lag = max(lag, time.perf_counter() - due)
        number = index % options.jobs
        while f"job-{number}" in sent:
            await asyncio.sleep(0.001)
        sent[f"job-{number}"] = due
        asyncio.create_task(change(await idle.get(), number, CIRCLE[index // options.jobs % 2]))
    took = time.perf_counter() - begin
    while sent:
        await asyncio.sleep(0.01)
    for task in followers:
        task.cancel()

    print(f"{options.jobs} followed jobs; {total / took:.0f} changes/s of {options.rate} requested")
    say("POST to follower", times)
    say("POST to its response", answered)
    print(f"the generator was up to {lag * 1000:.1f} ms late, which the figures include")


def say(name, values):
    values = sorted(values)
    p50, p95, p99 = (values[int(len(values) * share)] * 1000 for share in (0.5, 0.95, 0.99))
    print(f"{name:<24} {len(values)} times: p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms")


def with_gateway(enroute, run, **limits):
    """Runs `run(port)` with a separate gateway and redis-server."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(20_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    with tempfile.TemporaryDirectory() as folder:
        path, port = f"{folder}/redis.sock", free_port()
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket", path, "--save", "",
             "--appendonly", "no", "--dir", folder], stdout=subprocess.DEVNULL)
        wait_for("redis", lambda: answers(path))
        environment = dict(
            PATH=os.environ["PATH"], ENROUTE_REDIS_LIVE_URL=f"unix:{path}", ENROUTE_TLS="off", ENROUTE_LISTEN_PORT=str(port),
            ENROUTE_LISTEN_HOST="127.0.0.1", ENROUTE_MANAGEMENT="off", ENROUTE_TOKEN_SECRET=SECRET.decode(),
            ENROUTE_MODE="development", ENROUTE_LOG_LEVEL="critical", ENROUTE_OVERLOAD_LOOP_LAG_MS="60000")
        for limit in ("SESSIONS_PER_PERSON", "SESSIONS_PER_ADDRESS", "CONNECTIONS_PER_ADDRESS", "NEW_CONNECTIONS_PER_SECOND"):
            environment[f"ENROUTE_LIMIT_{limit}"] = "0"
        # Every follower is the same person here.
        for limit in ("PER_PERSON_", "PER_ADDRESS_"):
            environment[f"ENROUTE_LIMIT_MESSAGES_{limit}PER_SECOND"] = "100000"
            environment[f"ENROUTE_LIMIT_MESSAGES_{limit}BURST"] = "100000"
        environment |= {f"ENROUTE_LIMIT_{name}": value for name, value in limits.items()}
        gateway = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", enroute, "serve"], env=environment)
        try:
            def is_up():
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", port)) == 0
            wait_for("the gateway", is_up)
            asyncio.run(run(port))
        finally:
            for process in (gateway, server):
                process.kill()
                process.wait()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("enroute")
    options.add_argument("--jobs", type=int, default=1000)
    options.add_argument("--rate", type=int, default=200)
    options.add_argument("--seconds", type=int, default=30)
    options = options.parse_args()
    with_gateway(options.enroute, lambda port: run(options, port))


if __name__ == "__main__":
    main()
