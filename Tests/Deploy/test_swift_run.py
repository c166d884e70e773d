"""`Tests/Swift/run` in CI: what failed beside the others runs again alone, and nothing else is forgiven. A script stands in for
`swift test`, because the real one has no test that fails as wanted."""

import os
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
FAILED = "echo '✘ Suite {} failed after 1 seconds.'"
ENDED = "echo '✘ Test run with 9 tests in 3 suites failed after 1 seconds with 1 issue.'; exit 1"
PASSES = "echo '✔ Test run with 1 test in 1 suite passed after 1 seconds.'; exit 0"


def code_of(folder, first, alone, ci="1"):
    """The exit code when the first run does `first` and the one with a filter does `alone`."""
    swift = folder / "swift"
    swift.write_text(f'#!/bin/bash\nif [[ " $* " == *" --filter "* ]]; then {alone}; else {first}; fi\n')
    swift.chmod(0o755)
    environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", CI=ci)
    return subprocess.run([TOP / "Tests/Swift/run"], env=environment, capture_output=True, text=True)


def suites(count):
    return "; ".join(FAILED.format(f"Suite{number}") for number in range(count))


def test_suites_that_pass_alone_are_named_and_do_not_fail_ci(tmp_path):
    outcome = code_of(tmp_path, f"{suites(3)}; {ENDED}", PASSES)
    assert outcome.returncode == 0
    assert "Suite0 and Suite1 and Suite2 passed alone" in outcome.stdout


@pytest.mark.parametrize("first, alone, ci", [
    (f"{suites(1)}; {ENDED}", f"{suites(1)}; {ENDED}", "1"),
    (f"{suites(1)}; {ENDED}", "exit 0", "1"),
    (f"{suites(1)}; {ENDED}", "echo '✔ Test run with 0 tests in 0 suites passed after 0 seconds.'; exit 0", "1"),
    (f"{suites(4)}; {ENDED}", PASSES, "1"),
    (f"{suites(1)}; exit 1", PASSES, "1"),
    (ENDED, PASSES, "1"),
    (f"{suites(1)}; {ENDED}", PASSES, ""),
], ids=["failed-again", "said-nothing", "ran-nothing", "too-many", "crashed", "no-suite", "not-in-ci"])
def test_everything_else_fails(tmp_path, first, alone, ci):
    assert code_of(tmp_path, first, alone, ci).returncode != 0
