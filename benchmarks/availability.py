#!/usr/bin/env python3
"""Riders that go online and offline with `PATCH riders/me/status`: 500 a second out of 5,000, each timed from its scheduled
time to its response, and to the frame in the pool feed. One gateway over loopback without TLS, one redis-server. Only
Python's standard library.

    availability.py ENROUTE [--riders 5000] [--rate 500] [--seconds 20]
"""
import argparse, asyncio, time
from pool import ZONE, watch
from recovery import token
from status import Caller, say, with_gateway

CALLERS = 32


async def run(options, port):
    service, callers = token("orders", "service"), [Caller() for _ in range(CALLERS)]
    riders = [f"rider-{number}" for number in range(options.riders)]
    tokens = {rider: token(rider, "rider") for rider in riders}

    async def register(caller, some):
        for rider in some:
            await caller.ask(port, "PUT", f"riders/{rider}", dict(zone=ZONE, approved=True), service)

    await asyncio.gather(*(register(caller, riders[index::CALLERS]) for index, caller in enumerate(callers)))
    sent, seen, answered, ready, lag = {}, [], [], [], 0.0
    watcher = asyncio.create_task(watch(port, sent, seen, ready))
    while not ready:
        await asyncio.sleep(0.05)
    idle = asyncio.Queue()
    for caller in callers:
        idle.put_nowait(caller)

    async def declare(caller, rider, status, due):
        await caller.ask(port, "PATCH", "riders/me/status", dict(status=status), tokens[rider])
        answered.append(time.perf_counter() - due)
        idle.put_nowait(caller)

    total, begin = options.rate * options.seconds, time.perf_counter()
    for index in range(total):
        due = begin + index / options.rate
        await asyncio.sleep(max(0, due - time.perf_counter()))
        lag = max(lag, time.perf_counter() - due)
        rider = riders[index % options.riders]
        sent[rider] = due
        status = "offline" if index // options.riders % 2 else "online"
        asyncio.create_task(declare(await idle.get(), rider, status, due))
    took = time.perf_counter() - begin
    wait_until = time.perf_counter() + 30
    while (len(seen) < total or len(answered) < total) and time.perf_counter() < wait_until and not watcher.done():
        await asyncio.sleep(0.01)
    watcher.cancel()

    print(f"{options.riders} riders in a zone; {total / took:.0f} changes/s of {options.rate} requested")
    say("PATCH to its response", answered)
    say("PATCH to pool feed", seen)
    print(f"the generator was up to {lag * 1000:.1f} ms late, which the figures include")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("enroute")
    options.add_argument("--riders", type=int, default=5000)
    options.add_argument("--rate", type=int, default=500)
    options.add_argument("--seconds", type=int, default=20)
    options = options.parse_args()
    with_gateway(options.enroute, lambda port: run(options, port), AVAILABILITY_CHANGES_PER_MINUTE="10000")


if __name__ == "__main__":
    main()
