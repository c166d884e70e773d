"""The Python client with a real gateway and a real Redis: what it was written for. Prints what happened; exits with 0 if all of it did.

A customer follows a job and a rider travels to it. Then the gateway is killed, the status changes on another gateway, and the
first one starts again: the customer's application receives each status exactly once."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "Stage"), str(HERE / "python")]

from enroute import Client, Refused
from order_system import OrderSystem
from stage import Site
from tokens import token

PATIENCE_SECONDS = 30
STATUSES = ["on_the_way", "work_in_progress", "completed"]


class Application:
    """The events that one application saw."""

    def __init__(self, site: Site, port: int, role: str, person: str, lifetime: int = 3_600):
        self.views, self.statuses, self.states, self.errors = [], [], [], []

        async def credential():
            return {"token": token(site.secret, role, person, lifetime)}

        self.client = Client(
            f"ws://127.0.0.1:{port}/v1", credential, on_view=self.views.append,
            on_status=lambda event: self.statuses.append(event["status"]),
            on_connection=lambda state, end: self.states.append(state), on_error=lambda *error: self.errors.append(error))
        self.running = asyncio.create_task(self.client.run())


async def until(what: str, look):
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := look()):
        if time.monotonic() > end:
            raise SystemExit(f"failed: {what}")
        await asyncio.sleep(0.02)
    print(f"  {what}")
    return found


async def run(site: Site) -> None:
    # The order system and the others use the first gateway; the second one is killed.
    safe, killed = (gateway.port for gateway in site.gateways)
    job = OrderSystem(site).visit(customer="anna", rider="rider-7")
    customer = Application(site, killed, "customer", "anna")
    customer.client.follow(job.name)
    await until("the customer sees the job", lambda: customer.views and customer.views[-1].status == "assigned")
    job.status("on_the_way")
    await until("the customer sees that the technician is on the way", lambda: customer.statuses == STATUSES[:1])

    rider = Application(site, killed, "rider", "rider-7")
    await until("the rider is signed in", lambda: rider.states[-1:] == ["open"])
    deadline = await rider.client.rider.travel(job.name)
    assert deadline / 1000 > time.time()
    for step in range(3):
        # The gateway smooths the path of a rider that jumps, so a position is recognized by its time.
        at = int(time.time() * 1000)
        rider.client.rider.report([job.name], {"at": at, "lat": 41.9 + step * 0.0001, "lon": 12.5, "acc": 5})
        await until(f"the customer sees position {step + 1}", lambda: customer.views[-1].position
                    and customer.views[-1].position["at"] == at)
    assert customer.views[-1].tracking == "live" and not rider.errors, rider.errors
    answer = await customer.client.request({"type": "refresh", "token": token(site.secret, "customer", "anna", 7_200)})
    assert answer["deadline"] / 1000 > time.time() + 7_000
    try:
        await customer.client.request({"type": "travel", "job": job.name, "active": True})
        raise SystemExit("failed: a customer switched travel mode on")
    except Refused as refused:
        assert refused.code == "forbidden", refused.code
    print("  the customer renewed its sign-in, and may not travel")

    site.gateways[1].process.kill()
    await until("the customer lost its gateway", lambda: customer.states[-1] == "waiting")
    job.status("work_in_progress")
    site.gateways[1].start()
    await until("the customer is back", lambda: customer.states[-1] == "open")
    await until("the customer saw the status that it missed", lambda: customer.statuses == STATUSES[:2])
    job.status("completed")
    await until("the customer sees the end", lambda: customer.views[-1].ended == "completed" and customer.views[-1].position is None)
    assert customer.statuses == STATUSES, customer.statuses

    stranger = Application(site, safe, "customer", "bert")
    stranger.client.follow(job.name)
    await until("another customer may not follow the job", lambda: stranger.errors == [(job.name, "not_found")])
    made_up = {"token": token("forged" * 8, "ops", "eve")}
    forged = Client(f"ws://127.0.0.1:{safe}/v1", lambda: asyncio.sleep(0, made_up))
    ends = []
    forged._on_connection = lambda state, end: ends.append((state, end))
    running = asyncio.create_task(forged.run())
    await until("a forged token is refused", lambda: ends and ends[-1][0] == "refused")
    for application in (customer, rider, stranger):
        await application.client.stop()
        await application.running
    await running


def main() -> int:
    print("\nthe Python client and a real gateway")
    with tempfile.TemporaryDirectory(prefix="enroute-real-") as folder:
        site = Site(Path(folder), gateways=2)
        try:
            asyncio.run(run(site))
        finally:
            site.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
