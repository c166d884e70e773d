"""Between a page's socket and its gateway: everything passes as it is, and a test may say to the page what a gateway
would say when something outside it is so or so: an arrival in 72 minutes, a service that does not answer."""

import json
import time

from playwright.sync_api import Page, WebSocketRoute

LONGEST_WAIT_SECONDS = 30


class Wire:
    """Of one page that follows one job; it must be there before the page opens its socket."""

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
        """What the gateway says of this kind does not arrive from now on; it is ours to say."""
        self._held.add(kind)

    def comes(self, kind: str) -> None:
        """Waits until the gateway has said something of a kind that is held back."""
        until = time.monotonic() + LONGEST_WAIT_SECONDS
        while kind not in self._kept:
            assert time.monotonic() < until, f"the gateway said no {kind}"
            self._answer()

    def let_through(self, kind: str) -> None:
        """What was held back of a kind arrives, the newest of it, and what is said from now on."""
        self._held.discard(kind)
        self._route.send(self._kept.pop(kind))

    def say(self, kind: str, **members) -> None:
        """To the page, as if the gateway had; once the page follows, since before that nothing is said of a job."""
        message = json.dumps({"type": kind} | members)
        if self._follows:
            self._route.send(message)
        else:
            self._waiting.append(message)

    def close(self, code: int) -> None:
        """As if the gateway had ended the connection so."""
        self._server.close()
        self._route.close(code=code)

    def comes_back(self, connections: int = 2) -> None:
        """Waits until the page has opened so many sockets, the first one too."""
        until = time.monotonic() + LONGEST_WAIT_SECONDS
        while self._connections < connections:
            assert time.monotonic() < until, f"the page has opened {self._connections} sockets"
            self._answer()

    def arrival(self, job: str, minutes: float | None = None, state: str = "ok", **members) -> None:
        """The rider arrives in so many minutes by this machine's clock."""
        self.hold_back("eta")
        now = time.time_ns() // 1_000_000
        when = {} if minutes is None else {"arrivesAt": now + round(minutes * 60_000), "seconds": round(minutes * 60)}
        self.say("eta", job=job, state=state, at=now, **when, **members)

    def rate(self, seconds: int) -> None:
        """How often the rider's page is to report; what the gateway itself would ask for does not arrive."""
        self.hold_back("rate")
        self.say("rate", intervalSeconds=seconds)

    def position(self, job: str, place: tuple[float, float], accuracy: float) -> None:
        """The newest position of the rider, which no gateway of ours would let through."""
        now = time.time_ns() // 1_000
        self.say("location", id=str(now), job=job, at=now // 1_000, received=now // 1_000, lat=place[0], lon=place[1],
                 acc=accuracy)

    def _answer(self) -> None:
        """What came meanwhile is taken while the page answers."""
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
    """Waits until `Markers` has recorded more than so many frames."""
    page.wait_for_function("(frames) => window.recorded.length > frames", arg=frames)
