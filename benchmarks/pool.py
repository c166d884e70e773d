#!/usr/bin/env python3
"""Latency from a rider change to the pool feed: 5,000 riders in a zone, 500 changes a second, each timed from its scheduled
time to the watchers' `rider` frame, and to the script's reply. The changes are set_rider_online and set_rider_offline,
sent to Redis as a gateway would. One gateway over loopback without TLS, one redis-server. Only Python's standard library.

    pool.py ENROUTE [--riders 5000] [--rate 500] [--seconds 30] [--watchers 2]
"""
import argparse, asyncio, hashlib, json, os, pathlib, subprocess, tempfile, time
from recovery import SECRET, answers, free_port, token, wait_for

ZONE = "rome"
REACH = 90_000
LUA = pathlib.Path(__file__).parent.parent / "lua"


class Redis:
    """One connection; replies arrive in the order of the commands."""

    async def open(self, path):
        self.reader, self.writer = await asyncio.open_unix_connection(path)
        self.waiting, self.digests = asyncio.Queue(), {}
        self.task = asyncio.create_task(self.listen())
        return self

    async def listen(self):
        while True:
            answer = await self.answer()
            (await self.waiting.get()).set_result(answer)

    async def answer(self):
        line = (await self.reader.readuntil(b"\r\n"))[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else (await self.reader.readexactly(int(rest) + 2))[:-2]
        if kind == b"*":
            return [await self.answer() for _ in range(int(rest))]
        assert kind != b"-", line
        return int(rest) if kind == b":" else rest

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.writer.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        done = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait(done)
        return done

    async def load(self, script):
        text = (LUA / f"{script}.lua").read_bytes()
        self.digests[script] = hashlib.sha1(text).hexdigest()
        assert (await self.send("SCRIPT", "LOAD", text)).decode() == self.digests[script]

    def change(self, script, rider, keys, *arguments):
        names = [f"rider:{{{ZONE}}}:{rider}", f"rider:{{{ZONE}}}:{rider}:tasks", *(
            f"riders:{{{ZONE}}}:{name}" for name in ("available", "audit", "changes")), f"request:{{{ZONE}}}:{rider}:"]
        names += [f"riders:{{{ZONE}}}:{name}" for name in keys]
        return self.send("EVALSHA", self.digests[script], len(names), *names, ZONE, rider, rider, "", *arguments)

    def turn(self, rider, online):
        if online:
            return self.change("set_rider_online", rider, ["due"], "", REACH)
        return self.change("set_rider_offline", rider, ["due"], "", "")


async def frame(reader):
    head = await reader.readexactly(2)
    length = head[1] & 127
    if length > 125:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    return head[0] & 15, await reader.readexactly(length)


async def watch(port, sent, times, ready):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    writer.write((
        "GET /v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: enroute.v1\r\n"
        f"Authorization: Bearer {token('allocation', 'service')}\r\n\r\n").encode())
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    text = json.dumps(dict(type="watch", zone=ZONE)).encode()
    writer.write(bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text)
    seen = None
    while True:
        kind, payload = await frame(reader)
        if kind == 9:
            writer.write(bytes([0x8A, 0x80 | len(payload)]) + b"\0\0\0\0" + payload)
        elif payload.startswith(b'{"type":"rider"'):
            now, message = time.perf_counter(), json.loads(payload)
            assert message["prev"] == seen, "a change is missing"
            seen = message["version"]
            times.append(now - sent[message["rider"]])
        elif payload.startswith(b'{"type":"pool"'):
            message = json.loads(payload)
            assert seen is None, "the pool was reset"
            seen = message["version"]
            ready.append((len(message["riders"]), len(payload)))


async def run(options, path, port):
    redis = await Redis().open(path)
    for script in ("describe_rider", "set_rider_online", "set_rider_offline"):
        await redis.load(script)
    riders = [f"rider-{number}" for number in range(options.riders)]
    await redis.send("SADD", "zones", ZONE)
    await asyncio.gather(*(redis.change("describe_rider", rider, [], 1, 1, "") for rider in riders))
    await asyncio.gather(*(redis.turn(rider, True) for rider in riders))
    sent, times, answered, ready, lag = {}, [], [], [], 0.0
    watchers = [asyncio.create_task(watch(port, sent, times, ready)) for _ in range(options.watchers)]
    while len(ready) < options.watchers:
        await asyncio.sleep(0.05)
        for watcher in watchers:
            if watcher.done():
                watcher.result()
    total, begin = options.rate * options.seconds, time.perf_counter()
    for index in range(total):
        due = begin + index / options.rate
        await asyncio.sleep(max(0, due - time.perf_counter()))
        lag = max(lag, time.perf_counter() - due)
        rider = riders[index % options.riders]
        sent[rider] = due
        done = redis.turn(rider, index // options.riders % 2 == 1)
        done.add_done_callback(lambda _, due=due: answered.append(time.perf_counter() - due))
    took = time.perf_counter() - begin
    end = time.perf_counter() + 30
    while len(times) < total * options.watchers and time.perf_counter() < end:
        await asyncio.sleep(0.01)
        for watcher in watchers:
            if watcher.done():
                watcher.result()
    for task in [*watchers, redis.task]:
        task.cancel()

    def say(name, values):
        values = sorted(values)
        p50, p95, p99 = (values[int(len(values) * share)] * 1000 for share in (0.5, 0.95, 0.99))
        print(f"{name:<24} {len(values)} times: p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms")

    members, size = ready[0]
    print(f"{members} riders in the pool, {size / 1024:.0f} KiB; {options.watchers} watchers; "
          f"{total / took:.0f} changes/s of {options.rate} requested")
    say("change to pool feed", times)
    say("change to its reply", answered)
    print(f"{total * options.watchers - len(times)} missing; "
          f"the generator was up to {lag * 1000:.1f} ms late, which the figures include")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("enroute")
    options.add_argument("--riders", type=int, default=5000)
    options.add_argument("--rate", type=int, default=500)
    options.add_argument("--seconds", type=int, default=30)
    options.add_argument("--watchers", type=int, default=2)
    options = options.parse_args()
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
        gateway = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", options.enroute, "serve"], env=environment)
        try:
            def is_up():
                import socket
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", port)) == 0
            wait_for("the gateway", is_up)
            asyncio.run(run(options, path, port))
        finally:
            for process in (gateway, server):
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
