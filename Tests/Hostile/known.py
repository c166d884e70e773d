"""Known findings: a row of found.md, and the start of the finding as reported. An entry that no longer occurs fails the
run, so that the list never outlives its defects."""

from __future__ import annotations

KNOWN: dict[str, str] = {}


def row(what: str) -> str | None:
    return next((row for beginning, row in KNOWN.items() if what.startswith(beginning)), None)


def gone(kinds: dict[str, int]) -> list[str]:
    return [beginning for beginning in KNOWN if not any(what.startswith(beginning) for what in kinds)]
