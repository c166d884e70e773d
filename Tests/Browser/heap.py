"""What a page occupies, by the DevTools protocol: JavaScript heap after a collection, nodes and listeners that are
alive."""

from dataclasses import dataclass

from playwright.sync_api import Page


@dataclass(frozen=True)
class Occupied:
    """At one moment, after garbage was collected."""

    heap_bytes: int
    nodes: int
    listeners: int


class Heap:
    """Of one page."""

    def __init__(self, page: Page):
        self._devtools = page.context.new_cdp_session(page)
        self._devtools.send("HeapProfiler.enable")

    def look(self) -> Occupied:
        """Twice, since what a collection lets go may hold on to more."""
        for _ in range(2):
            self._devtools.send("HeapProfiler.collectGarbage")
        counters = self._devtools.send("Memory.getDOMCounters")
        used = self._devtools.send("Runtime.getHeapUsage")["usedSize"]
        return Occupied(int(used), counters["nodes"], counters["jsEventListeners"])
