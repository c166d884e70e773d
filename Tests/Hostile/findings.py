"""The results of a driver: how much it sent and received, and every finding with its seed and the command that repeats it. The
tallies of several workers are added up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

# This many findings of one kind are stored in full; the others are counted.
KEPT = 3
LONGEST = 2_000


@dataclass
class Finding:
    """`what` is the same text for the same fault, so that a hundred faults become one line; `detail` differs."""

    driver: str
    what: str
    detail: str
    seed: str

    def __str__(self) -> str:
        detail = self.detail if len(self.detail) <= LONGEST else self.detail[:LONGEST] + "…"
        return f"{self.driver}: {self.what}\n    seed {self.seed}\n    " + detail.replace("\n", "\n    ")


@dataclass
class Tally:
    driver: str
    counts: Counter = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    kinds: Counter = field(default_factory=Counter)
    # Trace ids of 500 responses: each must be in the gateway's log.
    traces: list[tuple[str, str]] = field(default_factory=list)
    # Maximum measured values, by name.
    peaks: dict[str, float] = field(default_factory=dict)

    def found(self, what: str, detail: str, seed: str) -> None:
        self.kinds[what] += 1
        if self.kinds[what] <= KEPT:
            self.findings.append(Finding(self.driver, what, detail, seed))

    def peak(self, name: str, value: float) -> None:
        self.peaks[name] = max(value, self.peaks.get(name, value))

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        for finding in other.findings:
            if sum(one.what == finding.what for one in self.findings) < KEPT:
                finding.driver = self.driver
                self.findings.append(finding)
        self.kinds += other.kinds
        self.traces += other.traces
        for name, value in other.peaks.items():
            self.peak(name, value)
