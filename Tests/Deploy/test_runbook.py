"""The commands in deploy/RUNBOOK.md work: those of each alert, and each procedure, on a running installation with a rider
and a follower. Clients stay connected where the text promises it."""

import contextlib
import re
import shutil
import subprocess
import time

import pytest

from followers import following
from installation import Installation
from monitoring import SHIPPED, shipped_alerts
from order_system import OrderSystem
from runbook import Trip, block, monitoring, sections, stage  # noqa: F401
from stage import ROOT, enroute
from websocket import Closed, WebSocket


def deploy(installation: Installation) -> str:
    """Pastes the rolling deploy for all gateways, and returns its output."""
    pairs = " ".join(f"gateway-{number}={gateway.management}" for number, gateway in enumerate(installation.site.gateways, 1))
    # A minute for each gateway that does not start would be too long here.
    return installation.run(block("Rolling deploy").replace("--retry 60", "--retry 5"), GATEWAYS=pairs)


# Alerts


def test_every_alert_has_a_section_with_its_severity_and_commands_and_every_section_an_alert():
    alerts, found = shipped_alerts(), sections()
    assert {name for name in found if name.startswith("Enroute")} == set(alerts)
    for name, rule in alerts.items():
        section = found[name]
        assert section.text.lstrip().startswith(f"`{rule['labels']['severity']}`"), name
        assert section.blocks(), f"{name} has no commands"


def test_the_command_of_the_guide_makes_every_alert_link_to_the_published_runbook(tmp_path):
    command = re.search(r"^sed -i '[^']*' ", (ROOT / "deploy/observability.md").read_text(), re.MULTILINE)[0]
    rules = tmp_path / "enroute.rules.yml"
    shutil.copy(SHIPPED / "enroute.rules.yml", rules)
    subprocess.run(["sh", "-c", f"{command} {rules}"], check=True)
    links = re.findall(r"runbook_url: (.*)/RUNBOOK.md#\w+$", rules.read_text(), re.MULTILINE)
    assert len(links) == len(shipped_alerts()) and set(links) == {"https://wiki.example.com/enroute"}


def test_every_metric_in_the_runbook_exists(make_site):
    exposed = set(re.findall(r"(?m)^# TYPE (\S+) ", make_site().gateways[0].manage("/metrics")[1]))
    recorded = set(re.findall(r"record: (\S+)", (SHIPPED / "enroute-recording.rules.yml").read_text()))
    for section in sections().values():
        for name in re.findall(r"\b(?:enroute|process)[_:][a-z0-9_:]+\w", section.text):
            is_known = name in exposed | recorded or any(metric.startswith(name) for metric in exposed)
            assert is_known, f"{section.title}: {name}"


def test_every_setting_in_the_runbook_exists():
    reference = (ROOT / "deploy/configuration.md").read_text()
    for section in sections().values():
        for name in re.findall(r"ENROUTE_[A-Z0-9_]*[A-Z0-9]", section.text):
            assert f"### `{name}`" in reference, f"{section.title}: {name}"


def test_the_commands_of_every_alert_run(stage):
    """On a healthy installation, so that each command succeeds; its output during a fault is not tested."""
    installation = Installation(stage)
    trip = Trip(stage, installation)
    # A rider of a zone is found at any time; others only once their gateway has reported the session.
    trip.orders.approve(trip.visit.rider)
    for section in sections().values():
        if section.part == "Procedures" or section.title == "Procedures":
            continue
        for text in section.blocks():
            if "# Set these first" not in text:
                installation.run(text, JOB=trip.visit.name, RIDER=trip.visit.rider)
    trip.has_stayed()


def test_settings_of_the_emergency_are_a_configuration(stage, tmp_path):
    installation = Installation(stage, gateways=1)
    (lines,) = sections()["Emergency: shedding load"].blocks("ini")
    names = [line.split("=")[0] for line in lines.splitlines()]
    kept = [line for line in installation.config.read_text().splitlines() if line.split("=")[0] not in names]
    installation.config.write_text("\n".join(kept) + "\n" + lines)
    printed = installation.run('enroute config --config "$CONFIG"')
    for line in lines.splitlines():
        assert re.search(rf"{line.split('=')[0]}\W+{line.split('=')[1]}\b", printed), line


# Procedures


def test_rolling_deploy_disconnects_each_client_at_most_once_at_a_time(stage):
    installation = Installation(stage)
    trip = Trip(stage, installation)
    assert "is not ready" not in deploy(installation)
    for follower in trip.followers:
        with contextlib.suppress(Closed):
            follower.socket.hear(type="nothing: it waits for the close")
        assert follower.socket.close_code == 4000, "clients are asked to reconnect"
    with following(trip.visit) as again:
        assert again.socket.is_open


def test_a_rolling_deploy_stops_at_the_first_gateway_that_does_not_start(stage):
    """A misspelled setting: the other gateways still run."""
    installation = Installation(stage, gateways=3)
    installation.site.settings["LIMIT_SESION_AGE_SECONDS"] = 10
    assert "stopped: gateway-1 is not ready" in deploy(installation)
    first, *others = installation.site.gateways
    assert not first.process.is_running
    assert [gateway.manage("/readyz")[0] for gateway in others] == [200, 200]


def test_a_certificate_with_another_key_is_not_installed(stage):
    installation = Installation(stage, gateways=1, is_secure=True)
    folder = installation.site.folder
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", folder / "other.pem"],
                   check=True, capture_output=True)
    printed = installation.run(
        block("Certificate rotation"), CHAIN=str(folder / "certificate.pem"), KEY=str(folder / "other.pem"))
    assert "nothing was installed" in printed
    assert list((installation.folder / "etc").iterdir()) == []


def test_a_gateway_is_not_removed_while_the_one_that_stays_is_not_ready(stage):
    installation = Installation(stage)
    leaves, stays = installation.site.gateways
    stays.process.kill()
    pasted = installation.paste(
        block("Adding and removing a gateway"), NAME="gateway-1", GATEWAY=f"http://127.0.0.1:{stays.management}")
    assert "Failed to connect" in pasted.output
    assert leaves.process.is_running


def test_certificate_rotation_disconnects_nobody(stage):
    installation = Installation(stage, gateways=1, is_secure=True)
    etc, site = installation.folder / "etc", installation.site
    trip = Trip(stage, installation)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "90",
         "-subj", "/CN=localhost", "-keyout", str(stage.folder / "new-key.pem"), "-out",
         str(stage.folder / "new-chain.pem")], check=True, capture_output=True)
    # The paths of the site are those of the runbook.
    etc.mkdir(exist_ok=True)
    for name, path in (("chain.pem", "certificate.pem"), ("key.pem", "key.pem")):
        (site.folder / path).rename(etc / name)
        (site.folder / path).symlink_to(etc / name)
    printed = installation.run(
        block("Certificate rotation"), CHAIN=str(stage.folder / "new-chain.pem"), KEY=str(stage.folder / "new-key.pem"))
    stage.monitoring.until(
        lambda: float(re.findall(r"(?m)^enroute_tls_certificate_expiry\S+ (\S+)", site.gateways[0].manage("/metrics")[1])[0])
        - time.time() > 80 * 86_400, "the new certificate")
    assert "notAfter" in printed
    trip.has_stayed()


def test_tls_ticket_key_rotation_disconnects_nobody(stage):
    etc = stage.folder / "etc"
    etc.mkdir()
    for number in (1, 2):
        (etc / f"ticket-{number}.key").write_bytes(bytes([number]) * 80)
    installation = Installation(
        stage, is_secure=True, TLS_TICKET_KEY_FILES=f"{etc}/ticket-1.key,{etc}/ticket-2.key", LOG_LEVEL="info")
    trip = Trip(stage, installation)
    installation.run(block("TLS ticket key rotation"))
    assert (etc / "ticket-2.key").read_bytes() == bytes([1]) * 80
    for gateway in installation.site.gateways:
        stage.monitoring.until(lambda: "reload" in gateway.process.log.read_text(), "the reload")
    trip.has_stayed()


def test_token_key_rotation_refuses_no_valid_token(stage):
    """The order of hardening.md with PEM files: both keys, new tokens, then the new key only."""
    def make(name: str) -> str:
        private, public = stage.folder / f"{name}.pem", stage.folder / f"{name}-public.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                        str(private)], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", str(private), "-pubout", "-out", str(public)], check=True)
        return str(public)

    def token(name: str) -> str:
        return subprocess.run(
            [str(enroute()), "token", "orders", "--role", "service", "--key", str(stage.folder / f"{name}.pem")],
            check=True, capture_output=True, text=True).stdout.strip()

    old, new = make("old"), make("new")
    installation = Installation(stage, TOKEN_PUBLIC_KEY_FILES=old)
    orders = OrderSystem(installation.site)
    visit = orders.visit()
    installation.site.settings["TOKEN_PUBLIC_KEY_FILES"] = f"{old},{new}"
    assert "is not ready" not in deploy(installation)
    for name in ("old", "new"):
        orders.ask("GET", f"jobs/{visit.name}", bearer=token(name))
    installation.site.settings["TOKEN_PUBLIC_KEY_FILES"] = new
    assert "is not ready" not in deploy(installation)
    orders.ask("GET", f"jobs/{visit.name}", bearer=token("new"))
    with pytest.raises(Exception, match="401"):
        orders.ask("GET", f"jobs/{visit.name}", bearer=token("old"))


def test_a_gateway_is_added_and_removed_and_its_clients_are_asked_to_reconnect(stage):
    installation = Installation(stage, gateways=1)
    trip = Trip(stage, installation)
    added = installation.site.start_gateway()
    assert added.manage("/readyz")[0] == 200
    trip.has_stayed()
    added_url = f"http://127.0.0.1:{added.management}"
    installation.run(block("Adding and removing a gateway"), NAME="gateway-1", GATEWAY=added_url)
    with pytest.raises(Closed):
        trip.followers[0].socket.hear(type="never")
    assert trip.followers[0].socket.close_code == 4000
    installation.site.front = added.port
    with following(trip.visit) as again:
        assert again.socket.is_open


def test_a_revoked_token_and_a_revoked_link_are_refused_and_their_sessions_closed(stage):
    installation = Installation(stage)
    trip = Trip(stage, installation)
    link = trip.visit.link()
    jti = "8d1c3f0a-5b1e-4d7e-9a51-0f3c2b7a9e11"
    leaked = WebSocket(installation.site.url, trip.orders.token("customer", trip.visit.customer, jti=jti))
    leaked.hear(type="welcome")
    installation.run(block("Revoking a leaked token or link"), TOKEN=jti, LINK=f"https://localhost{link['url']}")
    with pytest.raises(Closed):
        leaked.hear(type="never")
    assert leaked.close_code == 4502
    trip.has_stayed()
