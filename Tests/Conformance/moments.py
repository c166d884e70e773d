"""Time in the protocol's seconds, which pass `speed` times as fast as real ones, and the failure of a step."""

from __future__ import annotations

import asyncio
import time

LOOK_AGAIN = 0.005


class Broken(Exception):
    """A client did not do what a script expects."""


class Clock:
    """The gateway's clock. `slack` is by how much a busy machine may delay things, in real seconds."""

    def __init__(self, speed: float, slack: float):
        self.speed, self.slack = speed, slack
        self._wall, self._start = time.time(), time.monotonic()

    def seconds(self) -> float:
        """Protocol seconds since the start."""
        return (time.monotonic() - self._start) * self.speed

    def now_ms(self) -> int:
        return int((self._wall + self.seconds()) * 1000)

    @property
    def slack_seconds(self) -> float:
        """The slack in protocol seconds."""
        return self.slack * self.speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)

    async def until(self, look, within: float):
        """Returns the result of `look` once it is truthy; the last result if it is not after `within` seconds and the
        slack."""
        end = time.monotonic() + within / self.speed + self.slack
        while True:
            found = look()
            if found or time.monotonic() > end:
                return found
            await asyncio.sleep(LOOK_AGAIN)
