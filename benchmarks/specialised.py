#!/usr/bin/env python3
"""Checks that the release build does not call generic code of another target through runtime metadata for every follower.

    specialised.py [FOLDER]        FOLDER: .build/release

Reads the object files of the targets that relay messages. A generic type of Fanout must be copied for the types it is used
with: then the objects contain copies ("generic specialization of ...") and need no function of the original. Why that
requires `@inlinable public`: Sources/Fanout/decisions/public-generics.md.
"""
import pathlib
import re
import subprocess
import sys

CALLERS = ["Realtime", "TrafficControl", "REST", "Gateway"]
GENERIC_TYPE = re.compile(r"^public (?:struct|class|enum) (\w+)<", re.M)
# Read once at program start or when a value is created: not a call per message.
DESCRIPTION = re.compile(r"^(nominal type descriptor|type metadata|protocol conformance descriptor|value witness)")


def symbols(objects, *words):
    listed = subprocess.run(["nm", *words, *map(str, objects)], capture_output=True, text=True, check=True).stdout
    names = [words[-1] for words in map(str.split, listed.splitlines()) if len(words) > 1]
    plain = subprocess.run(["swift", "demangle", "--compact"], input="\n".join(names), capture_output=True, text=True, check=True)
    return plain.stdout.splitlines()


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else top / ".build/release"
    types = sorted({name for file in (top / "Sources/Fanout").glob("*.swift") for name in GENERIC_TYPE.findall(file.read_text())})
    objects = [found for target in CALLERS for found in sorted((build / f"{target}.build").rglob("*.o"))]
    if not types or not objects:
        sys.exit(f"error: {'no generic type in Sources/Fanout' if not types else f'no objects in {build}: run make release'}")

    original = re.compile(r"^(?:static )?Fanout\.(" + "|".join(types) + r")\b")
    called = {name for name in symbols(objects, "-u") if original.match(name) and not DESCRIPTION.match(name)}
    copied = {name for name in symbols(objects, "--defined-only") if "specialization" in name and "Fanout." in name}
    missing = [name for name in types if not any(f"Fanout.{name}" in copy for copy in copied)]
    for name in sorted(called):
        print(f"called through runtime metadata: {name}")
    for name in missing:
        print(f"has no specialised copy in {', '.join(CALLERS)}: Fanout.{name}")
    if called or missing:
        sys.exit("error: generic code on the hot path is not specialised (Sources/Fanout/decisions/public-generics.md)")
    print(f"{', '.join(types)}: {len(copied)} specialised copies in {len(objects)} objects, and no call through metadata")


main()
