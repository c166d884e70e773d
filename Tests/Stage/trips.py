"""Where a rider is at a time: trips as pure functions. A trip has legs with corners and a steady speed, and reports speed
and heading like a phone. Its last point is the door."""

import math
from dataclasses import dataclass

METERS_PER_DEGREE = 111_195.0  # of latitude


@dataclass(frozen=True)
class Spot:
    """A place, and the speed and direction (degrees clockwise from north) in which a rider passes it."""

    lat: float
    lon: float
    speed: float = 0.0
    heading: float = 0.0


def away(origin: tuple[float, float], meters: float, heading: float) -> tuple[float, float]:
    """Returns the place at a distance in m in a direction."""
    lat, lon = origin
    radians = math.radians(heading)
    north, east = meters * math.cos(radians), meters * math.sin(radians)
    return lat + north / METERS_PER_DEGREE, lon + east / (METERS_PER_DEGREE * math.cos(math.radians(lat)))


def meters(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Returns the distance in m; accurate for a few km."""
    north = (other[0] - one[0]) * METERS_PER_DEGREE
    east = (other[1] - one[1]) * METERS_PER_DEGREE * math.cos(math.radians(one[0]))
    return math.hypot(north, east)


def bearing(one: tuple[float, float], other: tuple[float, float]) -> float:
    east = (other[1] - one[1]) * math.cos(math.radians(one[0]))
    return math.degrees(math.atan2(east, other[0] - one[0])) % 360


@dataclass(frozen=True)
class Trip:
    """Corners from the start to the door, and a speed in m/s."""

    corners: tuple[tuple[float, float], ...]
    speed: float = 10.0

    @property
    def seconds(self) -> float:
        return sum(meters(*leg) for leg in zip(self.corners, self.corners[1:])) / self.speed

    def at(self, second: float) -> Spot:
        """Returns the spot at a time: at the start before the trip, at the door after it."""
        left = max(0.0, second) * self.speed
        for one, other in zip(self.corners, self.corners[1:]):
            length = meters(one, other)
            if left < length:
                part = left / length
                return Spot(one[0] + (other[0] - one[0]) * part, one[1] + (other[1] - one[1]) * part,
                            self.speed, bearing(one, other))
            left -= length
        return Spot(*self.corners[-1])


def to_the_door(door: tuple[float, float], meters_away: float = 3_000, speed: float = 10.0, turn: float = 0) -> Trip:
    """A trip around three corners to a door; `turn` (degrees) distinguishes several trips to one door."""
    start = away(door, meters_away * 0.7, 225 + turn)
    middle = away(start, meters_away * 0.4, 0 + turn)
    last = away(door, meters_away * 0.15, 270 + turn)
    return Trip((start, middle, last, door), speed)
