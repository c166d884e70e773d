"""The conformance kit: plays every script with a client and prints a table. Exits with 0 when the client passes all of them.

    Tests/Conformance/run                                  this project's clients, and that the kit finds wrong ones
    Tests/Conformance/run --client "python3 my_driver.py"  your client
    Tests/Conformance/run --client … --only resume --transcript
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPT_SECONDS = 300  # Real ones, also for a client that cannot run faster.
PYTHON = f"{sys.executable} -B {HERE / 'python/driver.py'}"
PYTHON_WRONG = f"{sys.executable} -B {HERE / 'python/wrong.py'}"
JAVASCRIPT = f"node {HERE / 'javascript/driver.mjs'}"
SWIFT = HERE.parent.parent / ".build/debug/conformance-driver"

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


async def played(script: dict, command: str, options) -> Result:
    player, start = Player(script, command, options.speed, options.slack), time.monotonic()
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


async def all_played(wanted: list[dict], command: str, options) -> list[Result]:
    turns = asyncio.Semaphore(options.jobs)

    async def one(script):
        async with turns:
            return await played(script, command, options)

    return await asyncio.gather(*map(one, wanted))


def print_table(title: str, results: list[Result], shows_transcript: bool) -> None:
    print(f"\n{title}")
    for result in results:
        print(f"  {result.outcome:8}{result.script:32}{result.seconds:5.1f} s  {result.detail}")
    for result in results:
        if result.outcome == "failed" or shows_transcript:
            print(f"\n  {result.script}: what happened, in seconds of the protocol")
            print("\n".join(f"    {line}" for line in result.transcript))


async def self_test(options) -> list[Result]:
    """Plays with each wrong client the scripts that must find it: a script that it passes is a failure of the kit."""
    sys.path.insert(0, str(HERE / "python"))
    import wrong

    turns, by_name = asyncio.Semaphore(options.jobs), {script["name"]: script for script in scripts([])}

    async def one(client: str, script: str) -> Result:
        async with turns:
            result = await played(by_name[script], f"{PYTHON_WRONG} {client}", options)
        is_found = result.outcome == "failed" and "Traceback" not in result.detail
        result.script = f"{client}: {script}"
        result.outcome, result.detail = ("found", result.detail) if is_found else (
            "failed", f"the kit does not find this wrong client: {result.outcome} {result.detail}")
        return result

    return await asyncio.gather(*(one(client.__name__, name) for client, names in wrong.WRONG.items() for name in names))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", action="append", default=[], help="the command of a client's program")
    parser.add_argument("--only", action="append", default=[], help="plays scripts whose name contains this")
    parser.add_argument("--speed", type=float, default=20, help="how many times faster than real (20)")
    parser.add_argument("--slack", type=float, default=2, help="real seconds by which anything may be late (2)")
    parser.add_argument("--jobs", type=int, default=8, help="scripts at a time (8)")
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
    failures = 0
    own = not options.client
    if own and not SWIFT.exists():
        print(f"{SWIFT} is missing: run `swift build --product conformance-driver`", file=sys.stderr)
        return 1
    for command in options.client or [PYTHON, JAVASCRIPT, str(SWIFT)]:
        results = asyncio.run(all_played(wanted, command, options))
        print_table(command, results, options.transcript)
        counts = {outcome: sum(result.outcome == outcome for result in results) for outcome in ("passed", "failed", "skipped")}
        print("\n  " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
        failures += counts["failed"] + (counts["skipped"] if options.no_skips else 0)
    if options.self_test or own:
        results = asyncio.run(self_test(options))
        print_table("wrong clients", results, options.transcript)
        failures += sum(result.outcome == "failed" for result in results)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
