"""The memory of a page, by the DevTools protocol: the JavaScript heap after a collection, and live nodes and
listeners."""

from dataclasses import dataclass

from playwright.sync_api import Page


@dataclass(frozen=True)
class Occupied:
    """One measurement, after a garbage collection."""

    heap_bytes: int
    nodes: int
    listeners: int


class Heap:
    """The heap of one page."""

    def __init__(self, page: Page):
        self._devtools = page.context.new_cdp_session(page)
        self._devtools.send("HeapProfiler.enable")

    def look(self) -> Occupied:
        """Collects twice, because the first collection may release references to more garbage."""
        for _ in range(2):
            self._devtools.send("HeapProfiler.collectGarbage")
        counters = self._devtools.send("Memory.getDOMCounters")
        used = self._devtools.send("Runtime.getHeapUsage")["usedSize"]
        return Occupied(int(used), counters["nodes"], counters["jsEventListeners"])
