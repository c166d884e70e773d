"""deploy/RUNBOOK.md, by sections."""

import re
from dataclasses import dataclass

from stage import ROOT

FILE = ROOT / "deploy/RUNBOOK.md"


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
