"""Figures of a phase, from what the client processes recorded. Values decide here; nothing is started or awaited."""
import time
from collections import Counter

from checker import histogram_percentile, longest_interruptions, percentile

GROUPS = ("gateways", "haproxy", "redis", "clients", "orders")
BEFORE, DURING, AFTER = WINDOWS = ("before", "during", "after")


def machine_ticks():
    """Returns (busy, total) CPU ticks of the machine."""
    with open("/proc/stat") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


class Meter:
    """CPU time by group of processes, between marks."""

    def __init__(self):
        self.ended, self.marks = Counter(), []

    def mark(self, children):
        used = Counter(self.ended)
        for child in children:
            if child.process.returncode is None:
                used[child.group] += child.cpu()
        self.marks.append((time.monotonic(), used, machine_ticks()))

    def between(self, first, last):
        """Returns the mean number of busy cores by group, and the busy share of the machine."""
        (begin, used, (busy, ticks)), (end, used_later, (busy_later, ticks_later)) = self.marks[first], self.marks[last]
        cores = {group: round((used_later[group] - used[group]) / (end - begin), 2) for group in GROUPS}
        return cores | {"machine": round((busy_later - busy) / max(1, ticks_later - ticks), 2)}


def phase_figures(name, what, times, answers, fault_at, live_at, cpu):
    """Combines the answers of all client processes.

    - times: {window: (start, end)}, by the wall clock
    - answers: what each `Crowd.collect` returned
    """
    events = [event for answer in answers for event in answer["events"]]
    spans = [span for answer in answers for span in answer["spans"]]
    counters = sum((Counter(answer["counters"]) for answer in answers), Counter())
    lost = [event for event in events if event[1] == "disconnected" and event[0] >= fault_at]
    by_client = Counter(event[2] for event in lost)
    latencies = {}
    for window in WINDOWS:
        for kind in ("location", "status"):
            histogram = Counter()
            for answer in answers:
                histogram.update({int(ms): number for ms, number in answer["latencies"][window].get(kind, {}).items()})
            latencies[f"{kind} {window}"] = {
                "count": sum(histogram.values()), "p50": histogram_percentile(histogram, 0.5),
                "p99": histogram_percentile(histogram, 0.99), "max": max(histogram, default=None)}
    return {
        "phase": name, "what": what, "windows": {window: round(end - start, 1) for window, (start, end) in times.items()},
        "disconnects": {
            "followers": sum(event[3] for event in lost), "riders": sum(not event[3] for event in lost),
            "reasons": dict(Counter(str(event[4]) for event in lost))},
        "refused": dict(Counter(event[2] for event in events if event[1] == "refused")),
        "errors": dict(Counter(event[2] for event in events if event[1] == "error")),
        "reconnects per client": {
            "clients": len(by_client), "mean": round(len(lost) / len(by_client), 2) if by_client else 0,
            "max": max(by_client.values(), default=0)},
        "followers": interruptions([span for span in spans if span[1]], fault_at),
        "riders": interruptions([span for span in spans if not span[1]], fault_at),
        "all live after": round(live_at - fault_at, 1),
        "backwards": {
            how: sum(1 for event in events if event[1] == "backwards" and event[3] == how) for how in ("location", "reset")},
        "latency ms": latencies, "counters": dict(counters), "cpu": cpu,
        "generator late ms": {window: round(1000 * max(answer["lag"][window] for answer in answers)) for window in WINDOWS},
    }


def interruptions(spans, fault_at):
    """How long clients were not live: the longest interruption of each, in s, and when the last one of all was over."""
    affected = longest_interruptions([(who, start, end) for who, _, start, end, _ in spans if end >= fault_at])
    lengths = sorted(longest for longest, _ in affected.values())
    return {
        "affected": len(lengths), "median": rounded(percentile(lengths, 0.5)), "p99": rounded(percentile(lengths, 0.99)),
        "max": rounded(max(lengths, default=None)),
        "last over after": rounded(max((end for _, end in affected.values()), default=fault_at) - fault_at),
        "by cause": {cause: by_cause(spans, fault_at, cause) for cause in ("reconnect", "late")}}


def by_cause(spans, fault_at, cause):
    lengths = sorted(end - start for _, _, start, end, why in spans if end >= fault_at and why == cause)
    return {
        "interruptions": len(lengths), "median": rounded(percentile(lengths, 0.5)), "max": rounded(max(lengths, default=None))}


def rounded(seconds):
    return None if seconds is None else round(seconds, 2)


def verdicts_by_phase(verdicts, phases):
    """Counts verdicts on statuses by the phase in which the status happened; `phases` are (name, start, end) in s."""
    counted = {name: Counter() for name, _, _ in phases} | {"between phases": Counter()}
    for verdict, at, _ in verdicts:
        name = next((name for name, start, end in phases if at is not None and start <= at / 1000 < end), "between phases")
        counted[name][verdict] += 1
    return {name: dict(counts) for name, counts in counted.items()}
