"""(f) Invalid settings: each name of deploy/configuration.md with words, signs, huge numbers and unsuitable files. A
gateway must refuse them with exit code 78 and a line that names the setting or the value; it must neither crash nor start
as if nothing were set. An empty value counts as not set."""

from __future__ import annotations

import os
import random
import re
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import bounds
from findings import Tally
from processes import Process
from setting_kinds import EITHER, FILES, KINDS, NUMBERS, REFUSED, SECRETS, STARTS, WORDS, Kind, documented, kind
from stage import enroute

NAME = "settings"
AT_ONCE = 3
WRONG_CONFIGURATION, UNAVAILABLE = 78, 69
DONE_CODES = {0, 64, 65, UNAVAILABLE, WRONG_CONFIGURATION}
# `"": it counts as not set` is not tried for these: without them a gateway does not start, or they need others.
NEVER_EMPTY = {
    "MODE",
    "TILES_URL",
    "TLS",
    "TLS_CERTIFICATE_FILE",
    "TLS_KEY_FILE",
    "REDIS_LIVE_URL",
    "TOKEN_SECRET",
    "TOKEN_PUBLIC_KEY_FILES",
    "TILES_ATTRIBUTION",
    "LISTEN_PORT",
    "LISTEN_PROXY_PROTOCOL_FROM",
    "MANAGEMENT_PORT",
    "REPLAY_TOKEN",
    "CLIENT_URL",
    "CLIENT_TOKEN",
    "CLIENT_CA_FILE",
    "CLIENT_FOLDER",
}


def variable(name: str) -> str:
    """The name of the environment variable."""
    return name if name.startswith("AWS_") else f"ENROUTE_{name}"


@dataclass(frozen=True)
class Case:
    name: str
    value: str
    kind: Kind
    outcome: str
    file: str | None = None
    says: str | None = None

    def __str__(self) -> str:
        return f"--config with {self.file!r}" if self.file else f"{variable(self.name)}={self.value!r}"


def cases() -> tuple[list[Case], list[str]]:
    """Every case, and the names of unknown kind."""
    all_cases, strange = [], []
    names = documented()
    for name in list(names) + [name for name in KINDS if name not in names]:
        default = names.get(name, "")
        known = KINDS.get(name)
        if known is None:
            if re.fullmatch(r"\d+", default):
                known = kind(NUMBERS)
            elif default in ("on", "off"):
                known = kind(WORDS)
            else:
                known = kind(["word", "-1", "/nonexistent", "ä", "https://", "{garbage}"], EITHER)
                strange.append(name)
        all_cases += [Case(name, value, known, known.outcome) for value in known.wrong]
        secret = name.removesuffix("_FILE")
        if name.endswith("_FILE") and secret in SECRETS:
            # Beside the setting itself: an empty name of a file is not set, and any other contradicts it.
            all_cases.append(Case(name, "", kind([]), STARTS))
            all_cases.append(Case(name, "{word}", kind([], **(SECRETS[secret] | {secret: "x"})), REFUSED))
        elif name not in NEVER_EMPTY:
            all_cases.append(Case(name, "", known, STARTS))
    for text, says in FILES.items():
        all_cases.append(Case("", "", kind([]), REFUSED, f"# a comment\n{text}\n", says))
    return all_cases, strange


class Driver:
    def __init__(self, seed: int, worker: int):
        self.seed, self.tally, self.lock = seed, Tally(NAME), threading.Lock()
        self.chance = random.Random(f"{seed}:{NAME}:{worker}")
        self.folder = Path(tempfile.mkdtemp(prefix="enroute-settings-"))
        self.files = self._files()
        socket = self.folder / "redis.sock"
        self.redis = Process(
            "redis-server",
            [
                "redis-server",
                "--port",
                "0",
                "--unixsocket",
                str(socket),
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                str(self.folder),
            ],
            self.folder / "redis.log",
        )
        self.redis.wait_until(socket.exists, "its socket")
        self.base = {
            "MODE": "development",
            "REDIS_LIVE_URL": f"unix:{socket}",
            "LISTEN_HOST": "127.0.0.1",
            "LISTEN_PORT": "0",
            "MANAGEMENT_PORT": "0",
            "TLS": "off",
            "TOKEN_SECRET": "0123456789abcdef" * 4,
            "DRAIN_SECONDS": "0",
            "DRAIN_ACCEPT_SECONDS": "0",
            "EVENT_LOOPS": "1",
        }

    def _files(self) -> dict[str, str]:
        made = {
            name: self.folder / name
            for name in (
                ["garbage", "empty", "list", "key", "certificate", "other_key", "public"]
                + ["blank", "word", "two_lines", "large"]
            )
        }
        made["blank"].write_text(" \n\n")
        made["word"].write_text("word\n")
        made["two_lines"].write_text("word\nword\n")
        made["large"].write_text("x" * 65_537)
        made["garbage"].write_bytes(random.Random(1).randbytes(3_000))
        made["empty"].write_bytes(b"")
        made["list"].write_text("[1, 2]")
        for key in ("key", "other_key"):
            subprocess.run(
                ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(made[key])],
                check=True,
                capture_output=True,
            )
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-key",
                str(made["key"]),
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-out",
                str(made["certificate"]),
            ],
            check=True,
            capture_output=True,
        )
        subprocess.run(
            ["openssl", "ec", "-in", str(made["key"]), "-pubout", "-out", str(made["public"])],
            check=True,
            capture_output=True,
        )
        return {name: str(path) for name, path in made.items()}

    def run(self, amount: int) -> Tally:
        wanted, strange = cases()
        self.tally.counts["settings"] = len({one.name for one in wanted})
        self.tally.counts["settings of unknown kind"] = len(strange)
        files = [one for one in wanted if one.file]
        rest = [one for one in wanted if not one.file]
        if amount < len(rest):
            rest = self.chance.sample(rest, amount)
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(self._try, files + rest))
        finally:
            self.redis.end()
        if not self.tally.counts["starts"]:
            self.tally.found("no gateway was started", f"{len(files + rest)} cases were not tried", f"{self.seed}:{NAME}")
        return self.tally

    def _try(self, case: Case) -> None:
        settings = self.base | dict(case.kind.beside)
        if case.name:
            settings[case.name] = case.value
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ENROUTE_", "AWS_"))}
        for name, value in settings.items():
            if name != case.name or "{{" in value or re.search(r"\{[a-z_]+\}", value):
                value = value.format(**self.files)
            environment[variable(name)] = value
        command = [str(enroute()), "serve"]
        if case.file:
            path = self.folder / f"file-{abs(hash(case.file))}.env"
            path.write_text(case.file)
            # Mistakes in a file are tested with `check`, which exists for that.
            command = [str(enroute()), "check", "--config", str(path)]
        output = self.folder / f"out-{threading.get_ident()}-{time.monotonic_ns()}"
        try:
            with output.open("wb") as out:
                child = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment
                )
            has_started = self._until_known(child, output)
            if has_started:
                child.terminate()
            try:
                code = child.wait(bounds.END_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                code = None
            self._judge(
                case, code, has_started, output.read_text(errors="replace"), environment.get(variable(case.name), "")
            )
        except (OSError, ValueError):
            # A value that an environment variable cannot have.
            with self.lock:
                self.tally.counts["not tried"] += 1
        finally:
            output.unlink(missing_ok=True)

    @staticmethod
    def _until_known(child: subprocess.Popen, output: Path) -> bool:
        """Waits until it listens (True) or has exited; also True after a time limit, as it may be waiting for a dependency."""
        end = time.monotonic() + bounds.END_SECONDS
        while time.monotonic() < end and child.poll() is None:
            if b"listening on" in output.read_bytes():
                return True
            time.sleep(0.02)
        return child.poll() is None

    def _judge(self, case: Case, code: int | None, has_started: bool, said: str, value: str) -> None:
        def found(what: str) -> None:
            self.tally.found(f"{what} ({case})", f"ended with {code}\n{said[-1500:]}", f"{self.seed}:{NAME}")

        with self.lock:
            self.tally.counts["starts"] += 1
            self.tally.counts["refused"] += not has_started
            if code is None:
                return found("a gateway does not exit")
            if code < 0 and not (has_started and code == -15) or "Fatal error" in said or code in (132, 133, 134, 139):
                return found("a setting crashes the process")
            if case.file:
                if code == 0 and (case.says or "") not in said or code not in DONE_CODES:
                    found("a file that is not settings is accepted silently")
            elif case.outcome == STARTS and not has_started:
                found("an empty setting does not count as not set")
            elif case.outcome == REFUSED and has_started:
                found("a gateway starts with an invalid setting")
            elif case.outcome == REFUSED and code not in (WRONG_CONFIGURATION, UNAVAILABLE):
                found(f"an invalid setting exits with {code}")
            elif (
                not has_started
                and case.outcome != STARTS
                # An error in the content of a file names the setting itself.
                and variable(case.name).removesuffix("_FILE") not in said
                and not any(part and part in said for part in value.split(","))
            ):
                found("an error names neither the setting nor its value")
            elif has_started and code not in (0, -15, 143):
                found("a gateway that started does not exit cleanly")


def attack(target, amount: int, seed: int, worker: int) -> Tally:
    return Driver(seed, worker).run(amount)
