"""Decides after the end of a connection whether and when to connect again. Seconds throughout."""

import base64
import json
from dataclasses import dataclass

STEADY = 10  # A session that lasted so long starts the delays again.
FIRST, CEILING = 3, 30
TOO_MANY_SESSIONS_DELAY = 40
SPREAD = 0.3  # Added to a time that the gateway sent to many clients.
GOAWAY_GRACE = 2
PING_AFTER, GIVE_UP_AFTER = 20, 40  # Seconds without a message.
REFRESH_AHEAD = 60


@dataclass(frozen=True)
class End:
    """How a connection ended: with a close code, an HTTP status instead of an upgrade, or neither (1006)."""

    code: int = 1006
    reason: str = ""
    http: int | None = None
    retry_in: float | None = None  # The time that the gateway requested, from now.
    lasted: float = 0


def is_final(end):
    """Whether connecting again is useless."""
    if end.http is not None:
        return end.http in (400, 403)
    return 4500 <= end.code <= 4999


def needs_new_token(end):
    """Whether the same token is useless."""
    return end.code == 4005 or end.http == 401


def delay_range(end, failures, is_first=True):
    """Returns the shortest and the longest delay. `failures` counts the ends since the last steady session, this one too.
    `is_first`: the token before this one had not expired too."""
    if end.retry_in is not None:
        return end.retry_in, end.retry_in + SPREAD
    if end.code == 4009:
        return TOO_MANY_SESSIONS_DELAY, TOO_MANY_SESSIONS_DELAY
    if needs_new_token(end) and is_first:
        return 0, 0
    return 0, FIRST if failures <= 1 else min(CEILING, 2 ** (failures - 1))


def expiry(token):
    """Returns when a JWT expires, in seconds since the epoch by the server's clock, or None."""
    try:
        payload = token.split(".")[1]
        return float(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def refresh_in(expires, server_now):
    """Returns after how many seconds to send `refresh`: a minute before the expiry, or half-way if less is left."""
    left = expires - server_now
    return max(0, left - REFRESH_AHEAD if left > 2 * REFRESH_AHEAD else left / 2)
