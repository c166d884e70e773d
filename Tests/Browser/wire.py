"""Between a page's socket and its gateway: everything passes unchanged, and a test can send messages to the page that a
gateway would send in a certain situation: an arrival in 72 minutes, a service that does not answer."""

import json
import time

from playwright.sync_api import Page, WebSocketRoute

LONGEST_WAIT_SECONDS = 30


class Wire:
    """The wire of one page that follows one job. Create it before the page opens its socket."""

    def __init__(self, page: Page):
        self._page = page
        self._route: WebSocketRoute | None = None
        self._held: set[str] = set()
        self._kept: dict[str, str] = {}
        self._server: WebSocketRoute | None = None
        self._connections = 0
        self._follows = False
        self._waiting: list[str] = []
        page.route_web_socket("**/v1", self._connect)

    def hold_back(self, kind: str) -> None:
        """Holds the gateway's messages of a kind back, so that the test can send its own."""
        self._held.add(kind)

    def comes(self, kind: str) -> None:
        """Waits until the gateway has sent a message of a kind that is held back."""
        until = time.monotonic() + LONGEST_WAIT_SECONDS
        while kind not in self._kept:
            assert time.monotonic() < until, f"the gateway said no {kind}"
            self._answer()

    def let_through(self, kind: str) -> None:
        """Delivers the newest held message of a kind, and all later ones."""
        self._held.discard(kind)
        self._route.send(self._kept.pop(kind))

    def say(self, kind: str, **members) -> None:
        """Sends a message to the page as if from the gateway, once the page follows its job."""
        message = json.dumps({"type": kind} | members)
        if self._follows:
            self._route.send(message)
        else:
            self._waiting.append(message)

    def close(self, code: int) -> None:
        """Closes the page's connection as if the gateway had."""
        self._server.close()
        self._route.close(code=code)

    def comes_back(self, connections: int = 2) -> None:
        """Waits until the page has opened a number of sockets, including the first."""
        until = time.monotonic() + LONGEST_WAIT_SECONDS
        while self._connections < connections:
            assert time.monotonic() < until, f"the page has opened {self._connections} sockets"
            self._answer()

    def arrival(self, job: str, minutes: float | None = None, state: str = "ok", **members) -> None:
        """The rider arrives in a number of minutes by this machine's clock."""
        self.hold_back("eta")
        now = time.time_ns() // 1_000_000
        when = {} if minutes is None else {"arrivesAt": now + round(minutes * 60_000), "seconds": round(minutes * 60)}
        self.say("eta", job=job, state=state, at=now, **when, **members)

    def rate(self, seconds: int) -> None:
        """Sets the report interval of the rider's page. The gateway's own requests are held back."""
        self.hold_back("rate")
        self.say("rate", intervalSeconds=seconds)

    def position(self, job: str, place: tuple[float, float], accuracy: float) -> None:
        """Sends a position that no real gateway would let through."""
        now = time.time_ns() // 1_000
        self.say("location", id=str(now), job=job, at=now // 1_000, received=now // 1_000, lat=place[0], lon=place[1],
                 acc=accuracy)

    def _answer(self) -> None:
        """Processes pending messages while the page answers."""
        self._page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")

    def _connect(self, route: WebSocketRoute) -> None:
        self._route, self._follows = route, False
        self._connections += 1
        server = self._server = route.connect_to_server()
        server.on_message(lambda message: self._pass_on(route, message))

    def _pass_on(self, route: WebSocketRoute, message: str | bytes) -> None:
        kind = json.loads(message).get("type")
        if kind in self._held:
            self._kept[kind] = message
        else:
            route.send(message)
        if kind == "subscribed":
            self._follows = True
            for waiting in self._waiting:
                route.send(waiting)
            self._waiting.clear()


def moved(page: Page, frames: int) -> None:
    """Waits until `Markers` has recorded more than a number of frames."""
    page.wait_for_function("(frames) => window.recorded.length > frames", arg=frames)
