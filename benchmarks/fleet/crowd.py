#!/usr/bin/env python3
"""One process with a share of the clients. It reads commands from standard input and answers each on standard output, one JSON
object a line; fleet.py starts it."""
import asyncio, gc, json, ssl, sys, time
from collections import Counter, defaultdict

from checker import Chain
from clients import Follower, Rider

SWEEP_SECONDS = 1.0
LINE_BYTES = 1 << 20


class Crowd:
    def __init__(self, plan):
        self.loop = asyncio.get_running_loop()
        self.addresses = [("127.0.0.1", port) for port in plan["ports"]]
        self.tls = ssl.create_default_context(cafile=plan["authority"]) if plan["authority"] else None
        self.events, self.spans, self.latencies, self.counters = [], [], [], Counter()
        self.lags = []
        self.clients = [Follower(self, *client) for client in plan["followers"]]
        self.clients += [Rider(self, *client, plan["interval"]) for client in plan["riders"]]
        for number, verdict in plan["sabotage"].items():
            next(c for c in self.clients if c.number == int(number)).sabotage = verdict
        self.sweeper = asyncio.create_task(self.sweep())

    def address(self, number):
        return self.addresses[number % len(self.addresses)]

    # What clients report

    def record(self, *event):
        self.events.append((time.time(), *event))

    def interrupted(self, client, start, end, why):
        self.spans.append((client.number, client.is_follower, start, end, why))

    def arrived(self, kind, now, late):
        self.latencies.append((now, kind, int(max(0.0, late) * 1000)))

    def count(self, name, number=1):
        self.counters[name] += number

    async def sweep(self):
        """The heartbeat of all clients. It also measures how late this process is."""
        due = self.loop.time() + SWEEP_SECONDS
        while True:
            await asyncio.sleep(due - self.loop.time())
            self.lags.append((time.time(), self.loop.time() - due))
            now = time.monotonic()
            for client in self.clients:
                client.check(now)
            due = max(due + SWEEP_SECONDS, self.loop.time())

    # Commands

    async def connect(self, rate):
        """Connects all clients for the first time, `rate` a second."""
        begin = self.loop.time()
        # Riders last: their travel mode then has followers.
        for number, client in enumerate(self.clients):
            await asyncio.sleep(max(0.0, begin + number / rate - self.loop.time()))
            client.connect()
        return {}

    def state(self):
        down = [client for client in self.clients if not client.is_live]
        return {
            "down": len(down), "followers down": sum(client.is_follower for client in down),
            "refused": sum(client.is_refused for client in self.clients)}

    def collect(self, windows):
        """Everything since the last call: events and interruptions, and latencies by window, as histograms in ms."""
        histograms = {name: defaultdict(Counter) for name, _, _ in windows}
        for at, kind, late in self.latencies:
            for name, start, end in windows:
                if start <= at < end:
                    histograms[name][kind][late] += 1
        lag = {name: max((lag for at, lag in self.lags if start <= at < end), default=0.0) for name, start, end in windows}
        answer = {
            "events": self.events, "spans": self.spans, "latencies": histograms, "lag": lag, "counters": self.counters}
        self.events, self.spans, self.latencies, self.lags, self.counters = [], [], [], [], Counter()
        return answer

    def verify(self, path):
        """Compares what followers received with the chains in a file. Returns each verdict with its time and the follower."""
        with open(path) as file:
            chains = {job: Chain([tuple(event) for event in events]) for job, events in json.load(file).items()}
        found, expected = [], 0
        for client in self.clients:
            if client.is_follower and client.job in chains:
                found += [(verdict, at, client.number) for verdict, at in client.statuses.verdicts(chains[client.job])]
                expected += len(chains[client.job].events)
        return {"verdicts": found, "expected": expected}

    def behind(self, path):
        """How many followers have not received the newest status yet."""
        with open(path) as file:
            heads = {job: events[-1][0] for job, events in json.load(file).items() if events}
        return {"behind": sum(
            client.seen != heads[client.job] for client in self.clients if client.is_follower and client.job in heads)}


async def obey(make):
    """Calls `make` with the plan that the first line of standard input names, and the methods of the result by command."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    with open(json.loads(await reader.readline())["plan"]) as file:
        made = make(json.load(file))
    while line := await reader.readline():
        command = json.loads(line)
        answer = getattr(made, command.pop("do"))(**command)
        if asyncio.iscoroutine(answer):
            answer = await answer
        print(json.dumps(answer), flush=True)


def crowd(plan):
    made = Crowd(plan)
    # Thousands of clients live as long as the process, so the collector need not look at them.
    gc.collect()
    gc.freeze()
    return made


if __name__ == "__main__":
    asyncio.run(obey(crowd))
