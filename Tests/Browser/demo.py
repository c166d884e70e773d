"""A running `enroute demo` for tests and pictures: its one link, and the state of its stage."""

import json
import re
import urllib.request
from pathlib import Path

import bounds
from processes import Process
from stage import enroute

LINK = re.compile(r"Open (http://\S+)")


class Demo:
    """`enroute demo` on free ports from `port` on."""

    def __init__(self, folder: Path, port: int = 24_080, speed: str = "1", program: Path | str | None = None,
                 *options: str):
        arguments = [str(program or enroute()), "demo", "--port", str(port), "--speed", speed, *options]
        self._process = Process("enroute demo", arguments, folder / "demo.log")
        self.url = self._process.wait_until(
            lambda: LINK.search(self._process.log.read_text(errors="replace")), "the link").group(1)

    @property
    def state(self) -> dict:
        with urllib.request.urlopen(f"{self.url}state", timeout=bounds.ANSWER_SECONDS) as answer:
            return json.load(answer)

    def close(self) -> None:
        self._process.end()
