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
from shared import ROOT
from stage import enroute

NAME = "settings"
AT_ONCE = 3
WRONG_CONFIGURATION, UNAVAILABLE = 78, 69
REFUSED, STARTS, EITHER = "refused", "starts", "either"
DONE_CODES = {0, 64, 65, UNAVAILABLE, WRONG_CONFIGURATION}

NUMBERS = ["word", "-1", "99999999999999999999", "1.5", "0x10", "1e3", "٣", "1 2", "NaN", "1_000"]
WORDS = ["word", "ON", "1", "on off", "\u00e4"]
NO_FILES = ["/nonexistent/file", "/", "{garbage}", "{empty}", "/dev/null", "file\u00e4"]
NO_URLS = [
    "word",
    "ftp://127.0.0.1/",
    "https://",
    "http://",
    "://",
    "https://a b/",
    "http://evil.example/",
    "https://127.0.0.1:99999/",
    "https://[::1",
    "javascript:x",
    "//host/x",
    "https:///path",
]
NO_REDIS = [
    "word",
    "http://127.0.0.1:6379",
    "redis://",
    "redis://127.0.0.1:99999",
    "redis://127.0.0.1:word",
    "redis://[::1",
    "redis+sentinel://127.0.0.1",
    "rediss+what://127.0.0.1",
    "redis://127.0.0.1/x",
    "unix:",
    "redis://127.0.0.1:-1",
    "://",
]
TOKENS = {"TOKEN_SECRET": None}


@dataclass(frozen=True)
class Kind:
    """Invalid values of a setting, and other settings that are required for it to be read."""

    wrong: tuple[str, ...]
    beside: tuple[tuple[str, str], ...] = ()
    outcome: str = REFUSED


def kind(wrong, outcome=REFUSED, **beside) -> Kind:
    return Kind(tuple(wrong), tuple(beside.items()), outcome)


TLS = dict(TLS="on", TLS_CERTIFICATE_FILE="{certificate}", TLS_KEY_FILE="{key}")
SNS = dict(SNS_TOPICS="arn:aws:sns:eu-central-1:123456789012:orders")
OSRM = dict(ETA_OSRM_URL="http://127.0.0.1:5000")
SQS = dict(AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
# Kinds that a default does not reveal. A name of the reference that is not listed here, and whose default is not a number,
# on or off, is tried with values of all kinds; they may be refused or not, but must not crash the gateway.
KINDS: dict[str, Kind] = {
    "MODE": kind(["word", "PRODUCTION", "dev"]),
    "LOG_LEVEL": kind(["word", "INFO", "7"]),
    "LOG_FORMAT": kind(["word", "JSON", "7"]),
    "EVENT_LOOPS": kind(NUMBERS),
    "REDIS_LEDGER_WAIT_REPLICAS": kind(["word", "-1", "101", "1.5"]),
    "TLS_CERTIFICATE_FILE": kind(NO_FILES + ["{key}"], **TLS),
    "TLS_KEY_FILE": kind(NO_FILES + ["{certificate}", "{other_key}"], **TLS),
    "TLS_TICKET_KEY_FILES": kind(["/nonexistent", "{garbage}", "{empty}", "{garbage},{garbage}"], **TLS),
    "TLS_OCSP_RESPONSE_FILE": kind(["/nonexistent", "{garbage}", "{empty}"], EITHER, **TLS),
    "TLS_RECORD_LAYER": kind(["word", "BUILTIN", "own"], **TLS),
    "REDIS_LIVE_URL": kind(NO_REDIS),
    "REDIS_LEDGER_URL": kind(NO_REDIS),
    "REDIS_LIVE_ADMIN_URL": kind(NO_REDIS),
    "REDIS_LEDGER_ADMIN_URL": kind(NO_REDIS),
    "LISTEN_ALLOWED_ORIGINS": kind(["word", "https://a/path", "ftp://a", "https://a,word", "https://", "*"]),
    "REDIS_PREFIX": kind(["a b", "{{}}", "*", "x" * 65, "ä", "[a]"]),
    "TOKEN_PUBLIC_KEY_FILES": kind(NO_FILES + ["{certificate}"], TOKEN_SECRET=""),
    "TOKEN_SECRET": kind(["short", "x" * 31]),
    "TOKEN_KEY_IDS": kind(["a,b,c", "a,"], EITHER, TOKEN_PUBLIC_KEY_FILES="{public}"),
    "TOKEN_JWKS_URL": kind(NO_URLS),
    "TOKEN_JWKS_CA_FILE": kind(NO_FILES, TOKEN_JWKS_URL="https://127.0.0.1:9/keys"),
    "SNS_TOPICS": kind(
        ["word", "arn:aws:sqs:eu-central-1:123456789012:orders", "arn:aws:sns:eu-central-1:x:orders", "arn:"]
    ),
    "SNS_CERTIFICATE_HOSTS": kind(["a b", "https://host/", "host:99999", ":1"], **SNS),
    "SNS_CA_FILE": kind(NO_FILES, **SNS),
    "SQS_QUEUE_URL": kind(["word", "ftp://x", "http://evil.example/1/q", "https://"], **SQS),
    "ETA_OSRM_URL": kind(["word", "ftp://x", "http://", "://", "http://a b"]),
    "ETA_AZURE_KEY": kind(["a b", "ä", "a\tb"]),
    "ETA_MAPBOX_TOKEN": kind(["a b", "ä"]),
    "GEOCODING_MAPBOX_TOKEN": kind(["a b", "ä"]),
    "ETA_AZURE_KEY_FILE": kind(["/nonexistent"]),
    "ETA_MAPBOX_TOKEN_FILE": kind(["/nonexistent"]),
    "GEOCODING_MAPBOX_TOKEN_FILE": kind(["/nonexistent"]),
    "ETA_AZURE_URL": kind(["word", "http://evil.example"], ETA_AZURE_KEY="a"),
    "ETA_MAPBOX_URL": kind(["word", "http://evil.example"], ETA_MAPBOX_TOKEN="a"),
    "ETA_OSRM_DAILY_LIMIT": kind(NUMBERS, **OSRM),
    "ETA_AZURE_DAILY_LIMIT": kind(NUMBERS, ETA_AZURE_KEY="a"),
    "ETA_MAPBOX_DAILY_LIMIT": kind(NUMBERS, ETA_MAPBOX_TOKEN="a"),
    "GEOCODING_DAILY_LIMIT": kind(NUMBERS, GEOCODING_MAPBOX_TOKEN="a"),
    "ETA_PROVIDER_ORDER": kind(["word", "osrm,osrm", "mapbox"], **OSRM),
    "ETA_CA_FILE": kind(NO_FILES, **OSRM),
    "GATEWAY_NAME": kind(["a b", "ä", "x" * 254]),
    "PAGES_DIR": kind(["/nonexistent", "{garbage}"]),
    "PAGES_SIGN_IN_URL": kind(["word", "http://evil.example", "javascript:x", "https://"]),
    "PAGES_TRANSLATION_FILES": kind(["/nonexistent", "{garbage}", "{empty}", "{list}"]),
    "LISTEN_PROXY_PROTOCOL_FROM": kind(["word", "1.2.3.4/33"], LISTEN_PROXY_PROTOCOL="required"),
    "LISTEN_TRUSTED_PROXIES": kind(["word", "1.2.3.4/33", "1.2.3", "::1/129", "1.2.3.4,,word", "1.2.3.4/-1"]),
    "PAGES_STREETS_FILE": kind(["/nonexistent", "{garbage}"]),
    "TILES_URL": kind(["word", "http://evil.example/{{z}}/{{x}}/{{y}}.png", "https://a/"], TILES_ATTRIBUTION="a"),
    "TILES_ATTRIBUTION": kind(["a"]),
    "TILES_CA_FILE": kind(NO_FILES, TILES_URL="https://127.0.0.1:9/{{z}}/{{x}}/{{y}}.png", TILES_ATTRIBUTION="a"),
    "LISTEN_HOST": kind(["word word", "999.1.1.1", "[::1", "127.0.0.1:80"], EITHER),
    # Any text, and used only by replay.
    "TOKEN_ISSUER": kind([], STARTS),
    "TOKEN_AUDIENCE": kind([], STARTS),
    "REPLAY_TOKEN": kind([], STARTS),
    "PAGES_LEAFLET_DIR": kind(["/nonexistent"], EITHER),
}
# Files that are not settings, and the error that is expected for each (found.md, B14).
FILES = {
    "ENROUTE_LISTEN_PORTT=1": "ENROUTE_LISTEN_PORTT",
    "garbage line": "2",
    "ENROUTE_LISTEN_ALLOWED_ORIGIN=https://a.example": "ENROUTE_LISTEN_ALLOWED_ORIGIN",
    "enroute:\n  port: 1": "enroute",
    "ENROUTE_TRACKING_STALE_AFTER_SECONDS=word": "ENROUTE_TRACKING_STALE_AFTER_SECONDS",
    "=x": "2",
    "ENROUTE_LIMIT_MALFORMED_MESSAGE=1": "MALFORMED_MESSAGE",
}


@dataclass(frozen=True)
class Case:
    name: str
    value: str
    kind: Kind
    outcome: str
    file: str | None = None
    says: str | None = None

    def __str__(self) -> str:
        return f"--config with {self.file!r}" if self.file else f"ENROUTE_{self.name}={self.value!r}"


def documented() -> dict[str, str]:
    """Names of the configuration reference, without ENROUTE_, with their defaults."""
    names: dict[str, str] = {}
    for section in (ROOT / "deploy/configuration.md").read_text().split("\n### `")[1:]:
        name = section.split("`")[0]
        if name.startswith("ENROUTE_"):
            default = re.search(r"^- Default: `([^`]*)`", section, re.MULTILINE)
            names[name.removeprefix("ENROUTE_")] = default.group(1) if default else ""
    return names


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
        if name not in (
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
            "MANAGEMENT_PORT",
            "REPLAY_TOKEN",
        ):
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
            for name in ("garbage", "empty", "list", "key", "certificate", "other_key", "public")
        }
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
        return self.tally

    def _try(self, case: Case) -> None:
        settings = self.base | dict(case.kind.beside)
        if case.name:
            settings[case.name] = case.value
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ENROUTE_", "AWS_"))}
        for name, value in settings.items():
            if name != case.name or "{{" in value or re.search(r"\{[a-z_]+\}", value):
                value = value.format(**self.files)
            environment[name if name.startswith("AWS_") else f"ENROUTE_{name}"] = value
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
                case, code, has_started, output.read_text(errors="replace"), environment.get(f"ENROUTE_{case.name}", "")
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
                and f"ENROUTE_{case.name}" not in said
                and not any(part and part in said for part in value.split(","))
            ):
                found("an error names neither the setting nor its value")
            elif has_started and code not in (0, -15, 143):
                found("a gateway that started does not exit cleanly")


def attack(target, amount: int, seed: int, worker: int) -> Tally:
    return Driver(seed, worker).run(amount)
