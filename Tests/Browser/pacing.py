"""How long tasks block a page's main thread. The browser's trace contains each task's duration and processor time. On a
shared machine only the processor time is caused by the page."""

import json
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

LONG_MS = 50.0
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")


@dataclass(frozen=True)
class Tasks:
    """Processor times of the main thread's tasks in ms, in order."""

    clock: list[float]
    computing: list[float]

    @property
    def long(self) -> list[float]:
        """Tasks that computed for longer than LONG_MS and would delay a touch."""
        return [each for each in self.computing if each > LONG_MS]


class Trace:
    """`with Trace(browser, page) as trace:` …, then `trace.tasks`. Only one at a time per browser."""

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
    """Returns the tasks of the renderer that ran the most script, which is the page's.

    A trace without processor times fails the test, because it would find no long task."""
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
