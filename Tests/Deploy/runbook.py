"""deploy/RUNBOOK.md, by sections, and what its procedures are carried out on."""

import re
from dataclasses import dataclass

import pytest

from faults import Stage
from followers import following
from installation import Installation, staged
from monitoring import Monitoring
from order_system import HOME, OrderSystem
from riders import Rider
from stage import ROOT
from trips import to_the_door

FILE = ROOT / "deploy/RUNBOOK.md"


@pytest.fixture(scope="module")
def monitoring(tmp_path_factory) -> Monitoring:
    made = Monitoring(tmp_path_factory.mktemp("m"), has_alertmanager=False)
    yield made
    made.close()


@pytest.fixture
def stage(monitoring, tmp_path) -> Stage:
    with staged(monitoring, tmp_path, "runbook") as made:
        yield made


@dataclass(frozen=True)
class Section:
    """A section with a heading of the third level, and the heading of the second level above it."""

    title: str
    part: str
    text: str

    def blocks(self, language: str = "sh") -> list[str]:
        found = re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```$", self.text)
        return [re.sub(rf"(?m)^{indent}", "", block) for indent, block in found]


def sections() -> dict[str, Section]:
    found, part = {}, ""
    for level, title, text in re.findall(r"(?ms)^(##|###) (.*?)\n(.*?)(?=^##|\Z)", FILE.read_text()):
        if level == "##":
            part = title
        found[title] = Section(title, part, text)
    return found


def block(title: str, number: int = 0) -> str:
    return sections()[title].blocks()[number]


class Trip:
    """A rider on the way and a follower on every gateway, whose connections are watched."""

    def __init__(self, stage: Stage, installation: Installation):
        site = installation.site
        self.orders = OrderSystem(site)
        self.visit = self.orders.visit("on_the_way")
        self.rider = Rider(self.orders, self.visit).travel()
        stage.callback(self.rider.close)
        self.followers = []
        for gateway in site.gateways:
            site.front = gateway.port
            self.followers.append(stage.enter_context(following(self.visit)))
        site.front = None
        self.rider.drive(to_the_door(HOME, meters_away=20_000, speed=5), every=0.3)
        self.moves()

    def moves(self) -> None:
        """Waits until each follower receives one more location."""
        for follower in self.followers:
            follower.socket.hear(after=len(follower.socket.heard), type="location")

    def has_stayed(self) -> None:
        """Nobody was disconnected, and locations arrive."""
        self.moves()
        assert self.rider.socket.is_open
        assert all(follower.socket.is_open for follower in self.followers)
