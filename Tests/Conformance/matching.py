"""Compares what happened with what a script expects, and fills in the values that scripts cannot know."""

from __future__ import annotations

import json
import re

MISSING = object()


def matches(expected, found) -> bool:
    """Whether `found` has everything that `expected` contains. In objects, members that are not named may be there; a
    member that is expected to be null may be missing. {"from": a, "to": b} is a range of numbers, {"any": true} any
    value."""
    if isinstance(expected, dict) and expected.keys() == {"from", "to"}:
        return is_number(found) and expected["from"] <= found <= expected["to"]
    if expected == {"any": True}:
        return found is not None and found is not MISSING
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(matches(value, found.get(name)) for name, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(expected) == len(found) and all(map(matches, expected, found))
    if is_number(expected) and is_number(found):
        return abs(expected - found) < 1e-6
    return expected == found


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def filled(value, names: dict):
    """Replaces texts that start with `$`: `$name` by its value, `$name+5000` by the value and so many more."""
    if isinstance(value, dict):
        return {name: filled(one, names) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(one, names) for one in value]
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    name, more = re.fullmatch(r"\$(.*?)([+-]\d+)?", value).groups()
    found = names[name]
    found = found() if callable(found) else found
    return found + int(more) if more else found


def shown(value) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:297] + "..."
