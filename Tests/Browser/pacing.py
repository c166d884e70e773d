"""How long a page's main thread is busy at once. The browser's trace says for each task how long it took by the
clock and how much of that it computed: on a machine that others use, only the second is the page's own doing."""

import json
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

LONG_MS = 50.0
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")


@dataclass(frozen=True)
class Tasks:
    """Of the page's main thread, in ms, in the order they ran."""

    clock: list[float]
    computing: list[float]

    @property
    def long(self) -> list[float]:
        """Those that computed for longer than LONG_MS: a finger on the screen waits for them."""
        return [each for each in self.computing if each > LONG_MS]


class Trace:
    """`with Trace(browser, page) as trace:` …, then `trace.tasks`. One at a time in a browser."""

    def __init__(self, browser: Browser, page: Page):
        self._browser, self._page = browser, page
        self.tasks = Tasks([], [])

    def __enter__(self) -> "Trace":
        self._browser.start_tracing(page=self._page, categories=["toplevel", "disabled-by-default-devtools.timeline",
                                                                 "devtools.timeline", "__metadata"])
        return self

    def __exit__(self, failure, *_) -> None:
        trace = self._browser.stop_tracing()
        if failure is None:
            self.tasks = main_thread_tasks(json.loads(trace))


def main_thread_tasks(trace: dict) -> Tasks:
    """Of the renderer that ran most script: the page's, since its service workers and blank pages run hardly any.

    A trace without times on the processor fails the test: it would find no task long."""
    events = trace["traceEvents"]
    mains = {(event["pid"], event["tid"]) for event in events
             if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"}
    by_thread: dict[tuple[int, int], list[dict]] = {thread: [] for thread in mains}
    for event in events:
        if event["name"] in TASKS and event.get("ph") == "X" and (event["pid"], event["tid"]) in mains:
            by_thread[event["pid"], event["tid"]].append(event)
    assert by_thread, "the trace holds no page"
    busiest = max(by_thread.values(), key=lambda tasks: sum(task.get("tdur", 0) for task in tasks))
    assert sum(task.get("tdur", 0) for task in busiest) > 0, "the trace does not say how long any task computed"
    return Tasks([task["dur"] / 1000 for task in busiest], [task.get("tdur", 0) / 1000 for task in busiest])
