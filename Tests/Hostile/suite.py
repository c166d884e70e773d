"""Starts the stages, runs the drivers on them, and reports: a table of what was sent, and each finding with its seed. Exits with 0
when it finds nothing except all entries of known.py."""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import random
import re
import shutil
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import shared  # noqa: F401, must come before the shared modules
import bystander
import known
from findings import Tally
from stage import enroute
from stages import OPEN, USUAL, HeldStage, Stage, Watch
from target import Target

# Resources that a stage may still hold after an attack, and for how long: closing sockets, a link's viewer lease.
PATIENCE_SECONDS = 20
WORKER_SECONDS = 2_400


@dataclass
class Attack:
    """One driver on one stage: the amounts of the lean and the full run, and the number of workers."""

    driver: str
    stage: str
    lean: int
    full: int
    workers: int = 1
    # Resident memory may grow by this much: allocators retain memory, so this is a limit, not a measurement.
    megabytes: int = 150
    settings: dict = field(default_factory=dict)


@dataclass
class StageKind:
    is_secure: bool
    settings: dict
    has_bystander: bool = True


STAGES = {
    "open": StageKind(False, OPEN),
    "secure": StageKind(True, OPEN),
    "usual": StageKind(True, USUAL),
    "held": StageKind(False, OPEN | {"LIMIT_SIGN_IN_SECONDS": None}, has_bystander=False),
}
ATTACKS = [
    Attack("messages", "open", 6_000, 160_000, 2),
    Attack("messages", "secure", 2_000, 60_000, 2),
    Attack("requests", "open", 6_000, 180_000, 2),
    Attack("requests", "secure", 1_000, 25_000, 2),
    Attack("raw", "secure", 500, 20_000, 2),
    Attack("raw", "open", 800, 36_000, 2),
    Attack("floods", "usual", 1, 10, 1),
    Attack("streams", "usual", 1, 12),
    Attack("repeats", "open", 3, 200),
    Attack("early", "held", 3, 20),
    # None in the lean run.
    Attack("clients", "open", 0, 1),
    Attack("settings", "none", 90, 100_000),
]


def main() -> int:
    options = _options()
    size = "lean" if options.lean else "full"
    attacks = [one for one in ATTACKS if not options.only or one.driver in options.only.split(",")]
    attacks = [one for one in attacks if getattr(one, size)]
    for one in attacks:
        importlib.import_module(f"drive_{one.driver}")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    is_good = _attack(attacks, options, size, seed)
    if not is_good and os.environ.get("CI"):
        # Machines of CI may pause for seconds. A defect recurs with the same seed.
        print("a second look: something was found, and everything runs again with the same seed", flush=True)
        is_good = _attack(attacks, options, size, seed)
    return 0 if is_good else 1


def _attack(attacks: list[Attack], options: argparse.Namespace, size: str, seed: int) -> bool:
    print(f"hostile suite, {size}, seed {seed}, {enroute()}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="enroute-hostile-"))
    begun = time.monotonic()
    run = Run(folder, size, seed, options.times)
    wanted = list(dict.fromkeys(one.stage for one in attacks))
    with ThreadPoolExecutor(len(wanted)) as pool:
        # Stages run in parallel, the drivers of one stage one after the other: memory and sockets are measured per driver.
        for outcome in [pool.submit(run.stage, name, [one for one in attacks if one.stage == name]) for name in wanted]:
            outcome.result()
    is_good = report(run, time.monotonic() - begun, seed, complete=not options.only)
    if is_good and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"logs: {folder}")
    return is_good


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tests/Hostile/run", description="Attacks gateways that it starts itself.")
    parser.add_argument("--lean", action="store_true", help="run for seconds, as in `make test`")
    parser.add_argument(
        "--only", help="comma-separated drivers: " + ", ".join(dict.fromkeys(one.driver for one in ATTACKS))
    )
    parser.add_argument("--seed", type=int, help="the seed of a run to repeat")
    parser.add_argument("--times", type=float, default=1, help="factor for the amount of work")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    return parser.parse_args()


class Run:
    def __init__(self, folder: Path, size: str, seed: int, times: float):
        self.folder, self.size, self.seed, self.times = folder, size, seed, times
        self.tallies: list[tuple[Attack, Tally, float]] = []
        self._lock = threading.Lock()

    def stage(self, name: str, attacks: list[Attack]) -> None:
        if name == "none":
            for attack in attacks:
                self._attack(attack, None, None)
            return
        kind = STAGES[name]
        stage = (HeldStage if name == "held" else Stage)(self.folder / name, name, kind.is_secure, **kind.settings)
        try:
            stage.populate()
            if kind.has_bystander:
                bystander.prepare(stage)
            for attack in attacks:
                self._attack(attack, stage, kind)
            last = Tally(f"end of {name}")
            if wrong := stage.stop_cleanly():
                last.found("SIGTERM does not end the gateway cleanly", wrong, str(self.seed))
            for line in _loud(stage.target.logged):
                last.found(f"the log contains: {line[25:125]}", line[:600], str(self.seed))
            self._keep(Attack(f"end of {name}", name, 0, 0), last, 0)
        except Exception:
            failed = Tally(name)
            failed.found("the stage itself failed", traceback.format_exc(), str(self.seed))
            self._keep(Attack(name, name, 0, 0), failed, 0)
        finally:
            stage.close()

    def _attack(self, attack: Attack, stage: Stage | None, kind: StageKind | None) -> None:
        amount = max(1, int((attack.lean if self.size == "lean" else attack.full) * self.times))
        workers = 1 if self.size == "lean" else attack.workers
        begun = time.monotonic()
        target = stage.target if stage else None
        watch = Watch(target) if target else None
        good = bystander.Bystander(target) if stage and kind.has_bystander else None
        tally = Tally(attack.driver)
        try:
            for one in _work(attack, target, amount, workers, self.seed):
                tally.add(one)
        except Exception:
            tally.found("the driver itself failed", traceback.format_exc(), str(self.seed))
        if not sum(tally.counts.values()):
            tally.found("the driver has sent nothing", f"it was to do {amount}", str(self.seed))
        if good:
            tally.add(good.end())
        if watch:
            for wrong in watch.end(attack.megabytes, PATIENCE_SECONDS):
                what = wrong.split(":")[0] if "grew" not in wrong else "resident memory grew too much"
                tally.found(what, f"{wrong}\n{stage.gateway.process.tail(5)}", str(self.seed))
            tally.peak("memory, MB", watch.peak_megabytes)
            tally.peak("memory more, MB", watch.peak_megabytes - watch.before["megabytes"])
            log = target.logged if tally.traces else ""
            for trace, what in tally.traces:
                tally.counts["answers 500"] += 1
                if not trace or trace not in log:
                    tally.found("a 500 response is not logged", f"trace {trace}: {what}", str(self.seed))
        self._keep(attack, tally, time.monotonic() - begun)

    def _keep(self, attack: Attack, tally: Tally, seconds: float) -> None:
        with self._lock:
            self.tallies.append((attack, tally, seconds))
            if seconds:
                print(
                    f"  {attack.driver} on {attack.stage}: {seconds:.0f} s, "
                    f"{sum(tally.kinds.values())} findings of {len(tally.kinds)} kinds",
                    flush=True,
                )
            # Printed immediately, so that an aborted run has reported its findings.
            for finding in tally.findings:
                if not known.row(f"{finding.driver}: {finding.what}"):
                    print(f"\n{finding}\n", flush=True)


def _work(attack: Attack, target: Target | None, amount: int, workers: int, seed: int) -> list[Tally]:
    """Runs the driver in `workers` processes, each with its share."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()

    def work(worker: int) -> None:
        try:
            driver = importlib.import_module(f"drive_{attack.driver}")
            results.put(driver.attack(target, amount // workers or 1, seed, worker))
        except BaseException:
            tally = Tally(attack.driver)
            tally.found("the driver itself failed", traceback.format_exc(), f"{seed}:{attack.driver}:{worker}")
            results.put(tally)

    children = [context.Process(target=work, args=(worker,), daemon=False) for worker in range(workers)]
    for child in children:
        child.start()
    tallies = []
    try:
        for _ in children:
            tallies.append(results.get(timeout=WORKER_SECONDS))
    finally:
        for child in children:
            child.join(10)
            if child.is_alive():
                child.kill()
    return tallies


def _loud(log: str) -> list[str]:
    """Log lines of level error and critical, and traps: only the peers are misbehaving."""
    loud = re.compile(r"level=(error|critical)|Fatal error|Swift runtime failure|^\*\*\* ")
    return [line for line in log.splitlines() if loud.search(line)]


def report(run: Run, seconds: float, seed: int, complete: bool) -> bool:
    total: dict[str, int] = {}
    print(f"\n{'driver':<12} {'stage':<8} {'s':>5}  sent and received")
    for attack, tally, took in run.tallies:
        if not took:
            continue
        said = ", ".join(
            f"{count:,} {name}" for name, count in sorted(tally.counts.items()) if not name.startswith("closed")
        )
        peaks = ", ".join(f"{name} {value:,.1f}" for name, value in sorted(tally.peaks.items()))
        print(f"{attack.driver:<12} {attack.stage:<8} {took:>5.0f}  {said}\n{'':<28}{peaks}")
        for name, count in tally.counts.items():
            total[name] = total.get(name, 0) + count
    kinds: dict[str, int] = {}
    for _, tally, _ in run.tallies:
        for what, count in tally.kinds.items():
            kinds[f"{tally.driver}: {what}"] = kinds.get(f"{tally.driver}: {what}", 0) + count
    fresh = {what for what in kinds if not known.row(what)}
    print(
        "\ntotal:  "
        + ", ".join(f"{total.get(name, 0):,} {name}" for name in ("messages", "requests", "raw connections"))
        + f" in {seconds:.0f} s, seed {seed}"
    )
    for what, count in sorted(kinds.items()):
        print(f"  {'FOUND' if what in fresh else 'known ' + known.row(what)}  {count:>6} times  {what}")
    gone = known.gone(kinds) if complete else []
    for entry in gone:
        print(f"  GONE   an entry of known.py did not occur: {entry}")
    if not kinds and not gone:
        print("  nothing was found")
    return not fresh and not gone
