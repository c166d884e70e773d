"""The animated picture of README.md: the program that records it works, and the picture in deploy/pages is small."""

import re
import subprocess
import sys

import pytest

from stage import ROOT, enroute

MOST_BYTES = 700_000
SECONDS = 300


def is_animation(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:16] == b"WEBPVP8X" and data.count(b"ANMF") > 1


def test_the_picture_of_the_demo_can_be_recorded(tmp_path):
    output = tmp_path / "stage.webp"
    subprocess.run(
        [sys.executable, ROOT / "Tests/Browser/picture.py", "--enroute", enroute(), "--seconds", "4", "--rate", "2",
         "--output", output],
        check=True, timeout=SECONDS)
    assert is_animation(output.read_bytes())


@pytest.mark.lean
def test_the_pictures_of_the_readme_are_animations_of_at_most_700_kB():
    names = re.findall(r"deploy/pages/\w+\.webp", (ROOT / "README.md").read_text())
    assert names
    for name in names:
        data = (ROOT / name).read_bytes()
        assert is_animation(data) and len(data) <= MOST_BYTES
