"""Waits for something that nothing announces, by asking again and again until a bound."""

import time
from collections.abc import Callable

import bounds


def until(
    answers: Callable, what: Callable[[], str] | str, seconds: float = bounds.START_SECONDS,
    every: float = bounds.POLL_SECONDS,
):
    """Calls `answers()` until the result is truthy, and returns it. Raises TimeoutError with `what` after some seconds."""
    end = time.monotonic() + seconds
    while True:
        if answer := answers():
            return answer
        if time.monotonic() > end:
            raise TimeoutError(what() if callable(what) else what)
        time.sleep(every)
