"""(g) A client that openapi-python-client generates from /openapi.json: it must be generated without a warning, and each of its
calls must understand what a gateway answers. Only in the full run; the generator comes from PyPI, into .build-hostile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from findings import Tally
from interface import Interface
from shared import ROOT
from target import Target

NAME = "clients"
GENERATOR = "openapi-python-client==0.26.2"
BUILD = ROOT / ".build-hostile"
GENERATE_SECONDS = 300
# Run with the generated package: asks each operation that reads, as a service, and prints what became of it.
CALLS = """
import importlib, inspect, json, pkgutil, sys
import enroute_client
from enroute_client import AuthenticatedClient
url, token, good = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
import enroute_client.api as api
for found in pkgutil.walk_packages(api.__path__, "enroute_client.api."):
    if found.ispkg:
        continue
    module = importlib.import_module(found.name)
    call = module.sync_detailed
    name = found.name.rsplit(".", 1)[1]
    parameters = inspect.signature(call).parameters
    needed = [one for one in parameters.values() if one.default is inspect.Parameter.empty and one.name != "client"]
    if "body" in parameters or name == "follow_job" or not hasattr(module, "_get_kwargs"):
        continue
    arguments = {one.name: good.get(one.name, "a") for one in needed}
    if module._get_kwargs(**arguments)["method"] != "get":
        continue
    try:
        answer = call(client=client, **arguments)
        print(json.dumps([name, int(answer.status_code), type(answer.parsed).__name__, None]))
    except Exception as error:
        print(json.dumps([name, 0, "", repr(error)]))
"""


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    tally = Tally(NAME)
    python = BUILD / "venv/bin/python"
    BUILD.mkdir(exist_ok=True)
    if not (BUILD / "venv/bin/openapi-python-client").exists():
        subprocess.run([sys.executable, "-m", "venv", str(BUILD / "venv")], check=True)
        subprocess.run(
            [str(BUILD / "venv/bin/pip"), "install", "--quiet", "--disable-pip-version-check", GENERATOR, "ruff"],
            check=True,
        )
    document = BUILD / "openapi.json"
    document.write_text(json.dumps(target.document("openapi.json")))
    settings = BUILD / "generator.yaml"
    settings.write_text(
        "project_name_override: enroute-client\npackage_name_override: enroute_client\npost_hooks: []\n"
    )
    made = subprocess.run(
        [
            str(BUILD / "venv/bin/openapi-python-client"),
            "generate",
            "--path",
            str(document),
            "--output-path",
            str(BUILD / "client"),
            "--overwrite",
            "--config",
            str(settings),
        ],
        capture_output=True,
        text=True,
        timeout=GENERATE_SECONDS,
        cwd=BUILD,
    )
    said = made.stdout + made.stderr
    for line in said.splitlines():
        # Pictures are no part of an interface for programs: the generator knows no such answers.
        if ("WARNING" in line or "ERROR" in line or "Error" in line) and "/assets/" not in line:
            tally.found("a client is generated with a complaint", said[-1500:], str(seed))
            break
    if made.returncode or not (BUILD / "client/enroute_client").is_dir():
        tally.found("no client can be generated", said[-1500:], str(seed))
        return tally
    return _call(target, python, tally, seed)


def _call(target: Target, python: Path, tally: Tally, seed: int) -> Tally:
    good = {"job": "visit-1", "rider": "rider-1", "zone": "rome", "file": "track.js", "z": 1, "x": 1, "y": 1}
    ran = subprocess.run(
        [
            str(python),
            "-c",
            CALLS,
            f"http://127.0.0.1:{target.port}",
            target.token("service", "service-0"),
            json.dumps(good),
        ],
        capture_output=True,
        text=True,
        timeout=GENERATE_SECONDS,
        cwd=BUILD / "client",
    )
    if ran.returncode:
        tally.found("a generated client does not run", ran.stderr[-1500:], str(seed))
    called = 0
    for line in ran.stdout.splitlines():
        name, status, parsed, wrong = json.loads(line)
        called += 1
        if wrong:
            tally.found(f"a generated client does not understand {name}", wrong, str(seed))
    tally.counts["generated calls"] = called
    least = sum(one.method == "GET" for one in Interface(target.document("openapi.json")).operations) // 2
    if called < least:
        tally.found("a generated client has too few calls", f"{called} of at least {least}", str(seed))
    return tally
