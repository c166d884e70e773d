"""The parts of a request to an operation of /openapi.json: paths, queries and header values, each valid or faulty."""

from __future__ import annotations

import random
from urllib.parse import quote

from bad_headers import HEADERS
from interface import Operation
from mutations import NUMBERS, TEXTS
from target import JOBS, PEOPLE, ZONE


def good_value(name: str, person: int, chance: random.Random) -> str:
    """Returns a value that is valid for a parameter of a path."""
    if name == "job":
        return f"visit-{chance.randrange(JOBS // PEOPLE) * PEOPLE + person}"
    if name == "rider":
        return f"rider-{person}"
    if name == "id":
        # A person and an object that this suite does not need.
        return chance.choice(["nobody-1", "nobody-2", "0123456789abcdef0123456789abcdef", "nothing-1"])
    if name in ("z", "x", "y"):
        return str(chance.choice([0, 1, 14, 20, 8760]))
    return {"zone": ZONE, "file": chance.choice(["track.js", "page.css", "rider.js", "nothing.js"])}.get(name, "a")


def path_of(operation: Operation, person: int, chance: random.Random, is_wrong: bool) -> bytes:
    path = operation.template
    names = [one["name"] for one in operation.parameters if one["in"] == "path"]
    broken = chance.choice(names) if names and is_wrong else None
    for name in names:
        good = good_value(name, person, chance)
        if name == broken and operation.name.startswith("revoke"):
            value = chance.choice(["a" * 300, "%00", "ä", "nobody-1%20", "%C3%A4-1", "%25", "nobody-3%0A"])
        elif name == broken:
            value = chance.choice(
                [
                    quote(str(chance.choice(TEXTS + NUMBERS)).encode("utf-8", "replace"), safe="{}*!$&'()+,;=:@~"),
                    good + "%20",
                    good.upper(),
                    good + "%2F..",
                    "%2e%2e",
                    "%ff",
                    "%",
                    "%zz",
                    "me",
                    good + "%00",
                    "..",
                    ".",
                    "available",
                    good + ";a=b",
                    "%74rack",
                    good[:1] + "%2D" + good[2:],
                ]
            )
        else:
            value = good
        path = path.replace("{%s}" % name, value)
    if is_wrong and not names:
        path = chance.choice(
            [
                path + "/",
                path + "/x",
                path.upper(),
                "/" + path,
                path.replace("/", "//", 2),
                path + "%20",
                path[:-1],
                "/./" + path[1:],
                path + "/../" + path[1:],
                path + "#a",
            ]
        )
    return path.encode("utf-8", "replace")


def query_of(operation: Operation, chance: random.Random, is_wrong: bool) -> bytes:
    parts = []
    for parameter in operation.parameters:
        if parameter["in"] == "query" and chance.random() < (0.9 if is_wrong else 0.4):
            parts.append(
                f"{parameter['name']}="
                + quote(text_of(parameter, chance, is_wrong).encode("utf-8", "replace"), safe=",-:*")
            )
    if is_wrong:
        parts += chance.sample(
            [
                "a=b",
                "token=x",
                "%74oken=x",
                "access_token=a",
                "=",
                "&&",
                "limit=1",
                "near=85.06,14",
                "near=-90,180",
                "near=0,0",
                "near=1e1,2",
                "radius=nan",
                "since=0",
                "since=-1",
                "limit=9e9",
                "since=99999999999999999999",
                "after=%00",
                "lang=%F0%9F%98%80",
                "x=" + "y" * 1500,
            ],
            k=chance.randint(0, 2),
        )
        chance.shuffle(parts)
    return ("?" + "&".join(parts)).encode() if parts else b""


def text_of(parameter: dict, chance: random.Random, is_wrong: bool) -> str:
    if is_wrong and chance.random() < 0.7:
        return str(chance.choice(HEADERS.get(parameter["name"], []) + [str(one) for one in TEXTS + NUMBERS]))
    schema = parameter.get("schema", {})
    good = (
        schema.get("examples", [])
        + schema.get("enum", [])
        + [schema[name] for name in ("default", "minimum", "maximum") if name in schema]
        + [parameter.get("example", "1")]
    )
    return str(chance.choice(good))
