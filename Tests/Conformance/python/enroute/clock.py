"""Time. A test has a clock that runs faster and shows another time."""

import asyncio
import time


class Clock:
    def __init__(self, speed=1, now=None):
        """`now`: the clock's first time, in seconds since the epoch."""
        self.speed = speed
        self._now, self._start = now or time.time(), time.monotonic()

    def now(self):
        return self._now + self.elapsed()

    def elapsed(self):
        """Seconds, by a clock that is never set."""
        return (time.monotonic() - self._start) * self.speed

    async def sleep(self, seconds):
        await asyncio.sleep(max(0, seconds) / self.speed)
