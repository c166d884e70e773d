"""The conformance kit: plays every script with a client and prints a table. Exits with 0 when the client passes all of them.

    Tests/Conformance/run                                  this project's clients, and that the kit finds wrong ones
    Tests/Conformance/run --client "python3 my_driver.py"  your client
    Tests/Conformance/run --client … --only resume --transcript
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPT_SECONDS = 300  # Real ones, also for a client that cannot run faster.
# Scripts played at the same time.
AT_ONCE = 12
# In CI (CI=1), up to this many scripts that failed beside the others are played again, one at a time and slower. One pause of
# the machine may fail all that are being played. More of them are a defect, not a busy machine.
SECOND_LOOKS = AT_ONCE
SLOWER = 4
PYTHON = f"{sys.executable} -B {HERE / 'python/driver.py'}"
PYTHON_WRONG = f"{sys.executable} -B {HERE / 'python/wrong.py'}"
JAVASCRIPT = f"node {HERE / 'javascript/driver.mjs'}"
SWIFT = HERE.parent.parent / ".build/debug/conformance-driver"
# The scripts that this project's clients cannot play: enroute.js follows no job from a stored cursor.
LACKS = {JAVASCRIPT: {"resume-after-restart"}}

from moments import Broken
from player import Player, Skipped


@dataclass
class Result:
    script: str
    outcome: str  # passed, failed or skipped
    detail: str = ""
    seconds: float = 0
    transcript: tuple = ()


def scripts(only: list[str]) -> list[dict]:
    """All scripts; one with `cases` becomes one script for each, whose steps have it instead of `$case`."""
    found = []
    for file in sorted((HERE / "scripts").glob("*.json")):
        script = json.loads(file.read_text())
        for case in script.get("cases", [None]):
            name = file.stem + ("" if case is None else f" {case}")
            if not only or any(word in name for word in only):
                found.append(json.loads(json.dumps(script).replace('"$case"', json.dumps(case))) | {"name": name})
    return found


async def played(script: dict, command: str, speed: float, slack: float) -> Result:
    player, start = Player(script, command, speed, slack), time.monotonic()
    try:
        async with asyncio.timeout(SCRIPT_SECONDS):
            await player.play()
        outcome, detail = "passed", ""
    except TimeoutError:
        outcome, detail = "failed", f"the script was not over after {SCRIPT_SECONDS} s"
    except Broken as broken:
        outcome, detail = "failed", str(broken)
    except Skipped as skipped:
        outcome, detail = "skipped", f"the client has no {skipped}"
    except Exception:  # A mistake in the script or in the kit.
        outcome, detail = "failed", traceback.format_exc()
    noise = [f"{'':12}stderr  {line}" for line in player.driver.noise]
    return Result(script["name"], outcome, detail, time.monotonic() - start, (*player.transcript, *noise))


async def all_played(wanted: list[dict], commands: list[str], options) -> list[tuple[str, list[Result]]]:
    """The tables: the scripts with each client and, for the kit itself, with wrong clients."""
    turns = asyncio.Semaphore(options.jobs)

    async def one(script: dict, command: str, speed: float) -> Result:
        async with turns:
            return await played(script, command, speed, options.slack)

    async def found(client: str, name: str, speed: float) -> Result:
        """A wrong client that passes is a failure of the kit."""
        script = next(script for script in scripts([]) if script["name"] == name)
        result = await one(script, f"{PYTHON_WRONG} {client}", speed)
        result.script = f"{client}: {name}"
        if result.outcome == "failed" and "Traceback" not in result.detail:
            result.outcome = "found"
        else:
            result.outcome, result.detail = "failed", f"the kit does not find it: {result.outcome} {result.detail}"
        return result

    tables = [(command, [partial(one, script, command) for script in wanted]) for command in commands]
    if options.self_test:
        sys.path.insert(0, str(HERE / "python"))
        import wrong

        tables.append(("wrong clients", [
            partial(found, client.__name__, name) for client, names in wrong.WRONG.items() for name in names]))
    results = await asyncio.gather(*(asyncio.gather(*(play(options.speed) for play in plays)) for _, plays in tables))
    if "CI" in os.environ:
        for (_, plays), table in zip(tables, results):
            await second_looks(table, plays, options.speed / SLOWER)
    return [(title, list(result)) for (title, _), result in zip(tables, results)]


async def second_looks(results: list[Result], plays: list, speed: float) -> None:
    """Plays failed scripts again. Those that succeed now count, with the reason for the first failure."""
    failed = [index for index, result in enumerate(results) if result.outcome == "failed"]
    for index in failed if len(failed) <= SECOND_LOOKS else []:
        again = await plays[index](speed)
        if again.outcome != "failed":
            again.detail = f"alone and slower; at first: {results[index].detail}"
            results[index] = again


def print_table(title: str, results: list[Result], shows_transcript: bool) -> None:
    print(f"\n{title}")
    for result in results:
        print(f"  {result.outcome:8}{result.script:32}{result.seconds:5.1f} s  {result.detail}")
    for result in results:
        if result.outcome == "failed" or shows_transcript:
            print(f"\n  {result.script}: what happened, in seconds of the protocol")
            print("\n".join(f"    {line}" for line in result.transcript))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", action="append", default=[], help="the command of a client's program")
    parser.add_argument("--only", action="append", default=[], help="plays scripts whose name contains this")
    parser.add_argument("--speed", type=float, default=20, help="how many times faster than real (20)")
    parser.add_argument("--slack", type=float, default=2, help="real seconds by which anything may be late (2)")
    parser.add_argument("--jobs", type=int, default=AT_ONCE, help=f"scripts at a time ({AT_ONCE})")
    parser.add_argument("--transcript", action="store_true", help="prints what happened in every script")
    parser.add_argument("--no-skips", action="store_true", help="a script that the client cannot play is a failure")
    parser.add_argument("--self-test", action="store_true", help="also proves that the kit finds wrong clients")
    parser.add_argument("--list", action="store_true", help="lists the scripts and what they require")
    options = parser.parse_args()
    wanted = scripts(options.only)
    if options.list:
        for script in wanted:
            print(f"{script['name']:32}{script['claim']}")
        return 0
    if not wanted:
        sys.exit(f"no script has a name that contains {' or '.join(options.only)}")
    commands = options.client or own_clients(options)
    failures = 0
    for title, results in asyncio.run(all_played(wanted, commands, options)):
        print_table(title, results, options.transcript)
        counts = {outcome: sum(result.outcome == outcome for result in results)
                  for outcome in ("passed", "found", "failed", "skipped")}
        print("\n  " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count))
        failures += counts["failed"] + (counts["skipped"] if options.no_skips else 0)
        skipped = {result.script for result in results if result.outcome == "skipped"} - LACKS.get(title, set())
        if skipped and not options.client:
            print(f"  error: a client of this project has lost an ability; it skipped {', '.join(sorted(skipped))}")
            failures += len(skipped)
    return 1 if failures else 0


def own_clients(options) -> list[str]:
    """This project's clients, which `make test-conformance` checks together with the kit."""
    if not SWIFT.exists():
        sys.exit(f"{SWIFT} is missing: run `swift build --product conformance-driver`, or name a client with --client")
    options.self_test = True
    return [PYTHON, JAVASCRIPT, str(SWIFT)]


if __name__ == "__main__":
    sys.exit(main())
