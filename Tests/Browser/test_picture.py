"""The animated picture of README.md: the program that records it works, and the picture in deploy/pages is small."""

import subprocess
import sys

import pytest

from stage import ROOT, enroute

MOST_BYTES = 400_000
SECONDS = 300


def is_animation(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:16] == b"WEBPVP8X" and data.count(b"ANMF") > 1


def test_the_picture_of_the_demo_can_be_recorded(tmp_path):
    output = tmp_path / "customer.webp"
    subprocess.run(
        [sys.executable, ROOT / "Tests/Browser/picture.py", "--enroute", enroute(), "--seconds", "4", "--rate", "2",
         "--output", output],
        check=True, timeout=SECONDS)
    assert is_animation(output.read_bytes())


@pytest.mark.lean
def test_the_picture_of_the_readme_is_an_animation_of_at_most_400_kB():
    name = "deploy/pages/customer.webp"
    assert name in (ROOT / "README.md").read_text()
    data = (ROOT / name).read_bytes()
    assert is_animation(data) and len(data) <= MOST_BYTES
