"""A Prometheus with the rules of deploy/prometheus in which a minute is a second, and the Alertmanager of that folder.

The rules are the shipped ones, with every duration divided by 60: `for: 5m` becomes `for: 5s`, `[1h]` becomes `[1m]` and
`offset 10m` becomes `offset 10s`. No `for` lasts longer than 20 s. Thresholds stay as they are. Prometheus scrapes and
evaluates twice a second. Each test site is a job of its own, as each installation is in production."""

import json
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

import waiting
from processes import Process
from stage import ROOT, Site

SHIPPED = ROOT / "deploy/prometheus"
SCALE = 60
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
INTERVAL = "500ms"
# Limits for slow machines, as in bounds.py; the tests print how long it took.
FIRE_SECONDS, CLEAR_SECONDS = 80, 80


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def faster(duration: str, most: int | None = None) -> str:
    """Divides `15m` by 60: `15000ms`. `most`: the result is at most this many seconds."""
    milliseconds = int(duration[:-1]) * UNITS[duration[-1]] * 1000 // SCALE
    return f"{min(milliseconds, most * 1000) if most else milliseconds}ms"


def scaled(rules: str) -> str:
    """Divides every duration in a rules file by 60."""
    rules = re.sub(r"\[(\d+[smhd])\]", lambda match: f"[{faster(match[1])}]", rules)
    rules = re.sub(r"\boffset (\d+[smhd])\b", lambda match: f"offset {faster(match[1])}", rules)
    return re.sub(r"\bfor: (\d+[smhd])\b", lambda match: f"for: {faster(match[1], most=20)}", rules)


def shipped_alerts() -> dict[str, dict]:
    """Returns the alerting rules by name."""
    groups = yaml.safe_load((SHIPPED / "enroute.rules.yml").read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def fetch(url: str) -> object:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


class Monitoring:
    """One Prometheus, with an Alertmanager if wanted. Thread-safe: several tests watch their sites at the same time."""

    def __init__(self, folder: Path, has_alertmanager: bool = True):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.targets = folder, folder / "targets"
        self.targets.mkdir()
        self._processes: list[Process] = []
        self._lock = threading.Lock()
        for file in SHIPPED.glob("*.rules.yml"):
            (folder / file.name).write_text(scaled(file.read_text()))
        self.port, self.alertmanager = free_port(), free_port() if has_alertmanager else None
        config = {
            "global": {"scrape_interval": INTERVAL, "evaluation_interval": INTERVAL, "scrape_timeout": INTERVAL},
            "rule_files": ["*.rules.yml"],
            "scrape_configs": [{
                "job_name": "gateways",
                "file_sd_configs": [{"files": [f"{self.targets}/*.json"], "refresh_interval": "1s"}]}],
        }
        if self.alertmanager:
            config["alerting"] = {"alertmanagers": [
                {"static_configs": [{"targets": [f"127.0.0.1:{self.alertmanager}"]}]}]}
            self._run("alertmanager", [
                "prometheus-alertmanager", f"--config.file={SHIPPED}/alertmanager.yml",
                f"--storage.path={folder}/alertmanager", "--cluster.listen-address=",
                f"--web.listen-address=127.0.0.1:{self.alertmanager}"], self.alertmanager)
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        self._run("prometheus", [
            "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}", "--query.lookback-delta=5s",
            "--rules.alert.resend-delay=2s"], self.port)

    def _run(self, name: str, arguments: list[str], port: int) -> None:
        process = Process(name, arguments, self.folder / f"{name}.log")
        self._processes.append(process)

        def is_ready() -> bool:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=2) as answer:
                    return answer.status == 200
            except OSError:
                return False

        process.wait_until(is_ready, "readiness")

    def close(self) -> None:
        for process in reversed(self._processes):
            process.end()

    # Targets

    def scrape(self, job: str, *ports: int) -> None:
        """Scrapes these management ports as a job; none: no longer."""
        file = self.targets / f"{job}.json"
        text = json.dumps([{"targets": [f"127.0.0.1:{port}" for port in ports], "labels": {"job": job}}])
        # Prometheus must not read half a file.
        (draft := file.with_suffix(".draft")).write_text(text)
        draft.replace(file)

    def watch(self, job: str, site: Site) -> None:
        """Scrapes all gateways of a site, and waits for the first samples."""
        self.scrape(job, *(gateway.management for gateway in site.gateways))
        self.until(lambda: self.query(f'sum(up{{job="{job}"}})') == [len(site.gateways)], f"the first scrape of {job}")

    # Results

    def query(self, expression: str) -> list[float]:
        """Returns the values of an instant query."""
        return [float(sample["value"][1]) for sample in self.samples(expression)]

    def samples(self, expression: str) -> list[dict]:
        query = urllib.parse.urlencode({"query": expression})
        return fetch(f"http://127.0.0.1:{self.port}/api/v1/query?{query}")["data"]["result"]

    def firing(self, job: str) -> dict[str, list[dict]]:
        """Returns the firing alerts of a job by name, each with its instances."""
        found: dict[str, list[dict]] = {}
        for alert in fetch(f"http://127.0.0.1:{self.port}/api/v1/alerts")["data"]["alerts"]:
            if alert["state"] == "firing" and alert["labels"].get("job", job) == job:
                found.setdefault(alert["labels"]["alertname"], []).append(alert)
        return found

    def notified(self, job: str) -> set[str]:
        """Returns the names of the alerts for which Alertmanager notifies somebody: firing and not inhibited."""
        alerts = fetch(f"http://127.0.0.1:{self.alertmanager}/api/v2/alerts?active=true&inhibited=false")
        return {alert["labels"]["alertname"] for alert in alerts if alert["labels"].get("job") == job}

    def ever_fired(self, job: str) -> list[str]:
        """Returns the alerts of a job that fired at any time since Prometheus started."""
        expression = f'count by (alertname) (count_over_time(ALERTS{{job="{job}", alertstate="firing"}}[1d]))'
        return sorted(sample["metric"]["alertname"] for sample in self.samples(expression))

    # Waiting

    def fires(self, job: str, *names: str, while_: object = None) -> None:
        """Waits until these alerts fire; calls `while_` meanwhile, which keeps the fault going."""
        begun = time.monotonic()
        self.until(lambda: set(names) <= set(self.firing(job)), f"{job}: {names} to fire", FIRE_SECONDS, while_,
                   lambda: f"firing: {sorted(self.firing(job))}")
        for name in names:
            for alert in self.firing(job).get(name, []):
                print(f"{name} fires after {time.monotonic() - begun:.1f} s: "
                      f"{alert['annotations']['summary']}. {alert['annotations']['description']}")

    def clears(self, job: str, *names: str, while_: object = None) -> None:
        begun = time.monotonic()
        self.until(lambda: not set(names) & set(self.firing(job)), f"{job}: {names} to clear", CLEAR_SECONDS, while_,
                   lambda: f"firing: {self.firing(job)}")
        print(f"{', '.join(names)} cleared after {time.monotonic() - begun:.1f} s")

    @staticmethod
    def until(holds, what: str, seconds: float = FIRE_SECONDS, while_=None, state=lambda: "") -> None:
        """Polls a condition. `while_` is called before each poll."""
        def poll() -> bool:
            if while_:
                while_()
            try:
                return holds()
            except (OSError, urllib.error.URLError):
                return False

        waiting.until(poll, lambda: f"waited {seconds} s for {what}. {state()}", seconds, every=0.2)
