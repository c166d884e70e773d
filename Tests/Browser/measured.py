"""Numbers that tests measure: printed at the end of the run and stored in .build-browser/measured.json."""

import json
import math

from stage import BUILD


class Measured:
    """The numbers of one run."""

    def __init__(self):
        self.values: dict[str, dict[str, float]] = {}

    def note(self, name: str, **numbers: float) -> None:
        """Numbers have their unit in their name: p95_ms=412."""
        self.values[name] = {key: round(value, 3) for key, value in numbers.items()}

    def save(self) -> None:
        path = BUILD / "measured.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | self.values, indent=1, sort_keys=True) + "\n")

    def lines(self) -> list[str]:
        return [f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in numbers.items())
                for name, numbers in self.values.items()]


def percentile(values: list[float], share: float) -> float:
    """Returns the quantile for a share of 0 to 1."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
