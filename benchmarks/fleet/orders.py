#!/usr/bin/env python3
"""The order system of the fleet, as a process: creates the jobs, changes statuses over REST at a fixed rate, and records the
answers. A change that failed is repeated with the same Idempotency-Key, so it happens once. Commands as in crowd.py."""
import asyncio, json, ssl, sys, time, uuid

from checker import Chain
from crowd import obey

# Two statuses that can alternate forever.
CIRCLE = ("allocation_failed", "preparing")
HOME = {"lat": 42.1, "lon": 12.5}
ANSWER_WITHIN, PAUSE, GIVE_UP_AFTER = 5.0, 0.25, 90.0


class Failed(Exception):
    pass


class Caller:
    """One keep-alive connection."""

    def __init__(self, port, tls):
        self.port, self.tls, self.writer = port, tls, None

    async def ask(self, method, path, body, bearer, key=None):
        """Returns the HTTP status and the response, or raises OSError or TimeoutError."""
        try:
            return await asyncio.wait_for(self._ask(method, path, body, bearer, key), ANSWER_WITHIN)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
            self.close()
            raise Failed(type(error).__name__) from error

    async def _ask(self, method, path, body, bearer, key):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(
                "127.0.0.1", self.port, ssl=self.tls, server_hostname="localhost" if self.tls else None)
        text = json.dumps(body) if body is not None else ""
        self.writer.write((
            f"{method} /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bearer}\r\n"
            + (f"Idempotency-Key: {key}\r\n" if key else "") + f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length")), None)
        answer = await (self.reader.read() if length is None else self.reader.readexactly(length))
        if length is None or "connection: close" in lines:
            self.close()
        status = int(lines[0].split()[1])
        return status, json.loads(answer) if answer.startswith(b"{") else {}

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.writer = None


class OrderSystem:
    def __init__(self, plan):
        self.plan, self.bearer = plan, plan["bearer"]
        self.idle, self.callers = asyncio.Queue(), plan["callers"]
        for number in range(self.callers):
            self.idle.put_nowait(Caller(plan["ports"][number % len(plan["ports"])], plan["tls"]))
        # By job: id -> (the id before it, at). Everything that was answered with success.
        self.answered = {job: {} for job, *_ in plan["waiting"]}
        self.turns = {job: 0 for job, *_ in plan["waiting"]}
        self.busy, self.tasks, self.driver = set(), set(), None
        self.counts = {"sent": 0, "retries": 0, "unconfirmed": 0, "skipped": 0, "failed": 0, "late ms": 0}

    async def request(self, method, path, body, key=None):
        """Repeats the request until it succeeds. Returns the HTTP status and the response."""
        end, caller = time.monotonic() + GIVE_UP_AFTER, await self.idle.get()
        try:
            while True:
                try:
                    status, answer = await caller.ask(method, path, body, self.bearer, key)
                    if status < 300:
                        return status, answer
                    why = f"{method} {path}: {status} {answer}"
                    in_progress = answer.get("code") == "request_in_progress"
                    if status < 500 and status != 429 and not in_progress:
                        raise SystemExit(why)
                except Failed as error:
                    why = f"{method} {path}: {error}"
                if time.monotonic() > end:
                    raise Failed(why)
                self.counts["retries"] += 1
                await asyncio.sleep(PAUSE)
        finally:
            self.idle.put_nowait(caller)

    async def create(self):
        """Jobs that wait circle between two statuses; those that travel are followed for their positions."""
        async def make(job, kind, customer, rider, *statuses):
            await self.request("PUT", f"jobs/{job}", dict(kind=kind, customer=customer, rider=rider, destination=HOME))
            for status in statuses:
                answer = await self.request(
                    "POST", f"jobs/{job}/status", dict(status=status), key=f"{job}-{status}")
                self.remember(job, *answer)

        async def several(jobs):
            for job in jobs:
                await make(*job)

        jobs = [(job, "delivery", customer, rider, "accepted", "preparing") for job, customer, rider in self.plan["waiting"]]
        jobs += [(job, "service", customer, rider, "on_the_way") for job, customer, rider in self.plan["travelling"]]
        await asyncio.gather(*(several(jobs[number::self.callers]) for number in range(self.callers)))
        return {}

    def remember(self, job, status, event):
        if job in self.answered:
            self.answered[job][event["id"]] = (event.get("prev"), event["at"])
        self.counts["unconfirmed"] += status == 202

    def start(self, rate):
        """Changes statuses, `rate` a second, at times that are fixed in advance."""
        self.driver = asyncio.create_task(self.drive(rate))
        return {}

    async def drive(self, rate):
        jobs, begin, number = [job for job, *_ in self.plan["waiting"]], time.time(), 0
        while True:
            due = begin + number / rate
            await asyncio.sleep(max(0.0, due - time.time()))
            self.counts["late ms"] = max(self.counts["late ms"], int(1000 * (time.time() - due)))
            job = jobs[number % len(jobs)]
            number += 1
            # Statuses of one job have an order, so the next one waits for the previous one.
            if job in self.busy:
                self.counts["skipped"] += 1
                continue
            self.busy.add(job)
            task = asyncio.create_task(self.change(job, due))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def change(self, job, due):
        status = CIRCLE[self.turns[job] % 2]
        self.counts["sent"] += 1
        try:
            self.remember(job, *await self.request(
                "POST", f"jobs/{job}/status", dict(status=status, occurredAt=int(due * 1000)), key=uuid.uuid4().hex))
            self.turns[job] += 1
        except Failed as error:
            self.counts["failed"] += 1
            print(error, file=sys.stderr, flush=True)
        self.busy.discard(job)

    async def stop(self):
        """Stops the changes and waits for those under way."""
        self.driver.cancel()
        while self.tasks:
            await asyncio.wait(set(self.tasks))
        return self.counts

    async def truth(self, path):
        """Writes the chain of every job that waits, as Redis has it now, and returns how many answered changes it has not."""
        chains, vanished = {}, 0

        async def read(jobs):
            nonlocal vanished
            for job in jobs:
                _, log = await self.request("GET", f"jobs/{job}/log", None)
                known = dict(self.answered[job])
                for event in log["events"]:
                    known[event["id"]] = (event.get("prev"), event["at"])
                chain = Chain.built(log["events"][-1]["id"], known)
                chains[job] = chain.events
                vanished += sum(id not in chain.index for id in self.answered[job])

        jobs = list(self.answered)
        await asyncio.gather(*(read(jobs[number::self.callers]) for number in range(self.callers)))
        with open(path, "w") as file:
            json.dump(chains, file)
        return {"vanished": vanished, "events": sum(map(len, chains.values()))}


def order_system(plan):
    plan["tls"] = ssl.create_default_context(cafile=plan["authority"]) if plan["authority"] else None
    return OrderSystem(plan)


if __name__ == "__main__":
    asyncio.run(obey(order_system))
