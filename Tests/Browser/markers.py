"""Records where the markers are, frame by frame: a recorder in the page stores what changed in each animation frame with
the wall clock's time, which a rider on the same machine shares. Tests evaluate the recording."""

from dataclasses import dataclass

from playwright.sync_api import Page, expect

RIDER = "#map .rider"
HOME = "#map .home"

# Leaflet stores a marker's place within the map's pane as `_leaflet_pos`. Panning moves the pane, zooming the markers.
RECORDER = """() => {
  window.recorded = [];
  let last = '';
  const place = (selector) => {
    const element = document.querySelector(selector);
    return element?._leaflet_pos ? {x: element._leaflet_pos.x, y: element._leaflet_pos.y} : null;
  };
  const look = () => {
    const rider = place('%s'), home = place('%s'), now = JSON.stringify([rider, home]);
    if (now !== last) { window.recorded.push({at: Date.now(), rider, home}); last = now; }
    requestAnimationFrame(look);
  };
  look();
}""" % (RIDER, HOME)


@dataclass(frozen=True)
class Seen:
    """One frame with a change: its time (ms since the epoch) and where the rider was relative to the door (px)."""

    at: int
    east: float
    south: float

    def distance(self, other: "Seen | None" = None) -> float:
        """Distance in px from another place, or from the destination."""
        east, south = (other.east, other.south) if other else (0.0, 0.0)
        return ((self.east - east) ** 2 + (self.south - south) ** 2) ** 0.5


class Markers:
    """Records the markers of one customer's page."""

    def __init__(self, page: Page):
        self.page = page
        expect(page.locator(RIDER)).to_be_visible()
        page.evaluate(RECORDER)

    @property
    def seen(self) -> list[Seen]:
        return [Seen(each["at"], each["rider"]["x"] - each["home"]["x"], each["rider"]["y"] - each["home"]["y"])
                for each in self.page.evaluate("window.recorded") if each["rider"] and each["home"]]

    def settle(self, still_frames: int = 30) -> Seen:
        """Waits until the marker has not moved for a number of frames, and returns its place. Reckoning ends after 5 s."""
        self.page.evaluate("""async (frames) => {
          let count = window.recorded.length, still = 0;
          while (still < frames) {
            await new Promise(requestAnimationFrame);
            still = window.recorded.length === count ? still + 1 : 0;
            count = window.recorded.length;
          }
        }""", still_frames)
        return self.seen[-1]

    def leave(self, place: Seen, pixels: float = 1) -> None:
        """Waits until the marker is elsewhere. After `settle`, only a newly received position moves it."""
        self.page.wait_for_function("""([east, south, pixels]) => {
          const { rider, home } = window.recorded.at(-1);
          return rider && home && Math.hypot(rider.x - home.x - east, rider.y - home.y - south) > pixels;
        }""", arg=[place.east, place.south, pixels])


def first_move(seen: list[Seen], since: int) -> Seen | None:
    return next((each for each in seen if each.at >= since), None)


def arrival(seen: list[Seen], since: int, there: Seen, tolerance: float = 1.5) -> Seen | None:
    """Returns the first frame after a time from which on the marker does not move, within px."""
    frames = [each for each in seen if each.at >= since]
    last_away = max((index for index, each in enumerate(frames) if each.distance(there) > tolerance), default=-1)
    return frames[last_away + 1] if last_away + 1 < len(frames) else None
