#!/usr/bin/env python3
"""Deliberately wrong clients: the Python client with one mistake each. `run --self-test` proves that the kit finds them all."""

import asyncio
import os
import sys

sys.dont_write_bytecode = True

from enroute import Client, client, reconnecting, views
from enroute.errors import Disconnected, Refused
from driver import Driver


class NoSince(Client):
    """Does not send which status it has seen."""

    def _send(self, message):
        super()._send({name: value for name, value in message.items() if name != "since"})


class StatusTwice(Client):
    """Treats the status of each snapshot as a new one."""

    def _receive(self, message):
        if message["type"] in ("subscribed", "reset"):
            snapshot = message["snapshot"]
            snapshot["missed"] = [*snapshot["missed"], {name: snapshot[name] for name in ("epoch", "id", "status")}]
        super()._receive(message)


class LosesStatuses(Client):
    """Does not read the events that it missed."""

    def _receive(self, message):
        if "snapshot" in message:
            message["snapshot"]["missed"] = []
        super()._receive(message)


class IgnoresGoaway(Client):
    def _receive(self, message):
        if message["type"] != "goaway":
            super()._receive(message)


class TrustsEveryGateway(Client):
    """Does not notice that nothing arrives any longer."""

    async def _watch_silence(self, socket):
        pass


class StopsAtUnknown(Client):
    """Closes the connection when it does not know a message."""

    def _receive(self, message):
        if message["type"] not in (*client.OF_A_JOB, "ok", "error", "goaway", "degraded", "restored", "rate", "pong"):
            raise client.ConnectionClosed(None, None)
        super()._receive(message)


class NeverRefreshes(Client):
    async def _refresh(self):
        pass


class FollowsTheEnded(Client):
    """Subscribes again to jobs that are over."""

    def _receive(self, message):
        job = self._jobs.get(message.get("job"))
        super()._receive(message)
        if message["type"] == "ended" and job:
            self._jobs[message["job"]] = job


class ResumesForever(Client):
    """Resumes journeys that were switched off elsewhere."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.rider.forget = lambda _: None


class StartsLater(Client):
    """Starts a journey that failed without a connection, as soon as there is one."""

    is_open = True


class StaysSubscribed(Client):
    """Believes that every `unsubscribe` arrives."""

    async def _leave_later(self, job, seconds):
        pass


class ResumesOnce(Client):
    """Does not repeat a `resume` that is refused for the moment."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.rider._resume = self._resume_once

    async def _resume_once(self, job):
        try:
            await self.rider._switch(job, True, resume=True)
        except (Refused, Disconnected):
            pass


class ShowsHidden(Client):
    """Continues to show the rider while tracking is paused."""


class ShowsOldLocations(Client):
    def _receive(self, message):
        if message["type"] == "location" and message["job"] in self._jobs:
            self._jobs[message["job"]]._newest_location = 0
        super()._receive(message)


class OwnClock(Client):
    """Believes that its clock is right."""

    def clock_error(self):
        return 0


class FloodsGateway(Client):
    """Waits neither between attempts nor between messages."""


class AlwaysComesBack(Client):
    """Connects again after every close code."""


class ComesTooEarly(Client):
    """Ignores that 4009 needs more time, and the time that the gateway requests."""


class NeverComesBack(Client):
    """Treats every close code as final."""


# Each with the scripts that must find it.
WRONG = {
    NoSince: ["resume", "resume-again"], StatusTwice: ["resume"], LosesStatuses: ["resume", "slow-reader"],
    IgnoresGoaway: ["goaway-without-close", "goaway-early-close"], TrustsEveryGateway: ["half-open"], StopsAtUnknown: ["unknown"],
    ResumesForever: ["travel-refused-later"], StartsLater: ["travel-unsent"], StaysSubscribed: ["unfollow-refused"],
    ResumesOnce: ["resumption-dropped"],
    NeverRefreshes: ["refresh"], FollowsTheEnded: ["ended"], ShowsHidden: ["hidden paused", "hidden ended"],
    ShowsOldLocations: ["old-location"], OwnClock: ["report-wrong-clock 2"],
    FloodsGateway: ["upgrade-refused", "many-jobs", "lower-limits"],
    AlwaysComesBack: ["close-for-good 4502", "close-for-good 4777", "refused-sign-in"],
    ComesTooEarly: ["too-many-sessions", "overload"], NeverComesBack: ["close 4000", "close 1001"],
}

if __name__ == "__main__":
    name = sys.argv[1]
    if name == "ShowsHidden":
        views.HIDDEN = ()
    elif name == "FloodsGateway":
        reconnecting.delay_range = lambda *_: (0.5, 0.5)
        client.BURST = client.SHARE = 1_000_000
    elif name == "AlwaysComesBack":
        reconnecting.is_final = lambda _: False
    elif name == "NeverComesBack":
        reconnecting.is_final = lambda _: True
    elif name == "ComesTooEarly":
        reconnecting.delay_range = lambda *_: (0, 3)
    found = next(wrong for wrong in WRONG if wrong.__name__ == name)
    asyncio.run(Driver(found).run())
    os._exit(0)
