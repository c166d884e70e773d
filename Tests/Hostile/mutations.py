"""Valid JSON made invalid, or valid in an unexpected way: types, extremes, repeated names, depth, text that is not text, and
the bytes themselves. Everything is derived from one `random.Random`, so that a seed repeats it."""

from __future__ import annotations

import json
import random
from typing import Any


class Raw(str):
    """Inserted into the JSON unchanged."""


class Members(list):
    """An object as a list of members, so that a name may occur twice."""


def _deep(text: str, end: str, count: int) -> Raw:
    return Raw(text * count + "1" + end * count)


NUMBERS = [
    0, 1, -1, 2, 50, 51, 255, 65_536, 2**31 - 1, 2**31, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -2**63, -2**63 - 1,
    2**64, 10**30, 0.5, -0.5, 1e-320, 1.7976931348623157e308, 90.0000001, 180.0000001, -180.5, 85.06, 41.9, 12.5,
    Raw("-0"), Raw("-0.0"), Raw("1e400"), Raw("-1e400"), Raw("1E+2"), Raw("0e0"), Raw("1e-400"), Raw("01"), Raw("+1"),
    Raw("1."), Raw(".5"), Raw("0x10"), Raw("NaN"), Raw("Infinity"), Raw("-"), Raw("1e"), Raw("9" * 400),
    Raw("0." + "1" * 400), Raw("1" + "0" * 310),
]
TEXTS = [
    "", " ", "a", "A", "-", "_", ".", "..", "/", "a" * 64, "a" * 65, "a" * 300, "a" * 3000, "null", "true", "0", "1e3",
    "\0", "a\0b", "\r\n", "\t", "\x7f", "\u0080", "ä", "é", "日本", "😀", "‮abc", "\ufeff", "\ufffd", "\uffff",
    "{visit-1}", "visit-1}", "{}", "*", "?", "[a-z]", "%00", "%2e%2e", "${jndi}", "'; --", "<script>", "\\", '"',
    "1795248617611-0", "0-0", "-", "$", ">", "18446744073709551616-0", "9223372036854775807-9223372036854775807",
    "rider-1", "customer-1", "visit-0", "online", "offline", "in_transit", "completed", "cancelled",
    Raw('"\\ud800"'), Raw('"\\udc00\\ud800"'), Raw('"\\u0000"'), Raw('"\\u12"'), Raw('"\\x41"'), Raw('"\\'),
    Raw('"a\nb"'), Raw('"\\/"'), Raw('"\\u0061"'),
]
OTHERS = [
    None, True, False, [], {}, [[]], [None], [{}], {"": None}, {"type": "ping"}, Members([("a", 1), ("a", 2)]),
    _deep("[", "]", 20), _deep("[", "]", 600), _deep('{"a":', "}", 20), _deep('{"a":', "}", 500), Raw(""), Raw("nul"),
    Raw("[1,]"), Raw('{"a":1,}'), Raw("[1 2]"), Raw('{"a" 1}'), Raw("{a:1}"), Raw("'a'"), Raw("/**/1"), Raw("undefined"),
]
NAMES = ["type", "job", "jobs", "fixes", "at", "lat", "lon", "token", "since", "", "__proto__", "a" * 200, "\0", "Ä", "replyTo"]


def dumps(value: Any, spaced: bool = False, ascii_only: bool = False) -> str:
    """JSON of a value that may contain `Raw` and `Members`."""
    comma, colon = (" ,\n ", " :\t") if spaced else (",", ":")

    def text(value: Any) -> str:
        if isinstance(value, Raw):
            return str(value)
        if isinstance(value, (dict, Members)):
            members = value.items() if isinstance(value, dict) else value
            return "{" + comma.join(quoted(name) + colon + text(member) for name, member in members) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + comma.join(map(text, value)) + "]"
        return json.dumps(value, ensure_ascii=ascii_only)

    def quoted(name: Any) -> str:
        return str(name) if isinstance(name, Raw) else json.dumps(str(name), ensure_ascii=ascii_only)

    return text(value)


def copy(value: Any) -> Any:
    """A copy in which every object is a `Members`."""
    if isinstance(value, (dict, Members)):
        members = value.items() if isinstance(value, dict) else value
        return Members([name, copy(member)] for name, member in members)
    if isinstance(value, list):
        return [copy(member) for member in value]
    return value


def _places(value: Any, places: list) -> list:
    """All (container, index) pairs below a copied value."""
    for index, member in enumerate(value):
        places.append((value, index))
        child = member[1] if isinstance(value, Members) else member
        if isinstance(child, list):
            _places(child, places)
    return places


def structural(value: Any, chance: random.Random, most: int = 3) -> Any:
    """A copy with one to `most` faults."""
    root = [copy(value)]
    for _ in range(chance.randint(1, most)):
        places = _places(root, [])
        container, index = chance.choice(places)
        _break(container, index, chance)
        if not root:
            break
    return root[0] if root else Raw("")


def _break(container: list, index: int, chance: random.Random) -> None:
    is_object = isinstance(container, Members)
    old = container[index][1] if is_object else container[index]

    def put(new: Any) -> None:
        container[index] = [container[index][0], new] if is_object else new

    kind = chance.randrange(14)
    if kind < 3:
        put(chance.choice(NUMBERS))
    elif kind < 6:
        put(chance.choice(TEXTS))
    elif kind == 6:
        put(copy(chance.choice(OTHERS)))
    elif kind == 7 and len(container) > 1:
        del container[index]
    elif kind == 8:
        # Twice, or fifty times.
        for _ in range(chance.choice([1, 1, 1, 8, 50])):
            container.append(copy(container[index]) if not is_object else [container[index][0], copy(old)])
    elif kind == 9 and is_object:
        container[index] = [chance.choice(NAMES), old]
    elif kind == 10:
        extra = copy(chance.choice(OTHERS + TEXTS + NUMBERS))
        container.insert(index, [chance.choice(NAMES), extra] if is_object else extra)
    elif kind == 11:
        put([old] if chance.random() < 0.5 else Members([["a", old]]))
    elif kind == 12 and isinstance(old, str) and not isinstance(old, Raw):
        put(_text(old, chance))
    elif isinstance(old, (int, float)) and not isinstance(old, bool):
        put(chance.choice([old + 1, old - 1, -old, str(old), float(old), old * 1000, Raw(f"{old}e0"), Raw(f"{old}.0")]))
    else:
        put(_text(old, chance) if isinstance(old, str) and not isinstance(old, Raw) else None)


def _text(old: str, chance: random.Random) -> str:
    at = chance.randint(0, len(old))
    return chance.choice([
        old[:at], old + chance.choice(TEXTS[:40]), old[:at] + chance.choice("\0 äß😀{}:\n") + old[at:], old.upper(),
        old * 2, f" {old}", f"{old} ", old[::-1],
    ])


def of_bytes(data: bytes, chance: random.Random, others: list[bytes] = [b"{}"]) -> bytes:
    """Mutates the bytes: bit flips, cuts, insertions, and combinations."""
    if not data:
        return chance.randbytes(chance.randint(1, 40))
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) or 1)
        kind = chance.randrange(8)
        if kind == 0 and changed:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and changed:
            changed[at] = chance.randrange(256)
        elif kind == 2:
            del changed[at:at + chance.randint(1, 12)]
        elif kind == 3:
            changed[at:at] = chance.randbytes(chance.randint(1, 8))
        elif kind == 4:
            changed[at:at] = changed[at:at + chance.randint(1, 30)]
        elif kind == 5:
            del changed[at:]
        elif kind == 6:
            other = chance.choice(others)
            changed[at:] = other[chance.randrange(len(other) + 1):]
        else:
            changed[at:at] = chance.choice([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\0", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80"])
    return bytes(changed)


def message(value: Any, chance: random.Random, others: list[bytes] = [b"{}"]) -> bytes:
    """A mutated JSON text: sometimes valid, mostly with structural faults, sometimes with invalid characters. It is UTF-8."""
    kind = chance.random()
    if kind < 0.10:
        return dumps(value, spaced=chance.random() < 0.3).encode()
    if kind < 0.80:
        return dumps(structural(value, chance), chance.random() < 0.1, chance.random() < 0.3).encode("utf-8", "replace")
    return of_bytes(dumps(value).encode(), chance, others).decode("utf-8", "replace").encode()
