"""The traffic while all gateways are replaced: 60 followers, 6 riders who report every second, and an order system that
changes statuses. Afterwards it compares what clients have received with what was sent."""

import collections
import itertools
import statistics
import sys
import threading
from collections.abc import Callable

from moving import Crowd, MovingFollower, MovingRider
from order_system import Job, OrderSystem
from waiting import until

SILENCE_SECONDS = 3.0       # the longest time without a location that a rolling restart may cost a follower
RIDERS, FOLLOWERS = 6, 60


class StatusChanges(threading.Thread):
    """The order system: changes the status of one job after the other, and stores what it did and what failed."""

    def __init__(self, jobs: list[Job]):
        super().__init__(daemon=True)
        self.jobs, self.is_over = jobs, threading.Event()
        self.made: dict[str, list[str]] = {job.name: [] for job in jobs}
        self.failures: list[str] = []

    def run(self) -> None:
        for status in itertools.cycle(["allocation_failed", "preparing"]):
            for job in self.jobs:
                if self.is_over.wait(0.2):
                    return
                try:
                    job.status(status)
                    self.made[job.name].append(status)
                except Exception as error:
                    self.failures.append(f"{job.name} {status}: {error!r}")


class Traffic:
    """Starts with its creation: every follower has received locations when it returns."""

    def __init__(self, orders: OrderSystem):
        self.orders = orders
        self._crowd = Crowd()
        self.riders: list[MovingRider] = []
        self.followers: list[MovingFollower] = []
        for number in range(RIDERS):
            customer = f"customer-{number}"
            travelled = orders.visit("on_the_way", customer=customer)
            changing = orders.delivery("accepted", "preparing", customer=customer)
            self.riders.append(MovingRider(orders, "rider", travelled.rider, job=travelled))
            self.followers += [
                MovingFollower(orders, "customer", customer, travelled=travelled, changing=changing)
                for _ in range(FOLLOWERS // RIDERS)]
        self.clients = self.riders + self.followers
        for client in self.clients:
            self._crowd.run(client.run())
        for rider in self.riders:
            self._crowd.run(rider.drive())
        until(lambda: all(len(follower.located) > 2 for follower in self.followers), "the first locations")
        self.changes = StatusChanges([follower.changing for follower in self.followers[::FOLLOWERS // RIDERS]])
        self.changes.start()

    def finish(self, measure: Callable = lambda: None):
        """Waits until everything that was sent has arrived, or for a minute, and disconnects. Returns `measure()` before."""
        counts = [len(follower.located) for follower in self.followers]
        until(lambda: all(
            len(follower.located) > count + 2 for follower, count in zip(self.followers, counts)), "locations")
        self.changes.is_over.set()
        self.changes.join()
        try:
            until(lambda: all(self._has_all_statuses(follower) for follower in self.followers), "the last status")
        except TimeoutError:
            pass                                         # the check below shows which is missing
        for rider in self.riders:
            rider.is_halted = True
        until(lambda: all(rider.taken == rider.answered for rider in self.riders), "answers to all reports")
        measured = measure()
        self._crowd.close(self.clients)
        return measured

    def report(self, name: str) -> None:
        gaps = [follower.longest_gap for follower in self.followers]
        print(f"{name}: reconnects per client {dict(self._moves())}; longest gap median {statistics.median(gaps):.2f} s, "
              f"maximum {max(gaps):.2f} s; longest stall of the machine {self._crowd.longest_stall:.2f} s; "
              f"{sum(map(len, self.changes.made.values()))} statuses", file=sys.stderr)

    def check_that_each_moved_once_and_nothing_was_lost(self) -> None:
        assert set(self._moves()) == {1}, self._moves()
        assert [client.failures for client in self.clients] == [0] * len(self.clients)
        assert {code for client in self.clients for code in client.closes[:1]} == {4000}
        gaps = [follower.longest_gap for follower in self.followers]
        assert statistics.median(gaps) <= SILENCE_SECONDS, gaps
        # A rider that reports late and a follower that reads late: neither is the restart's fault.
        assert max(gaps) <= SILENCE_SECONDS + 2 * self._crowd.longest_stall, (max(gaps), self._crowd.longest_stall)
        assert self.changes.failures == []
        for follower in self.followers:
            assert self._has_all_statuses(follower), (follower.statuses, self.changes.made[follower.changing.name])
            assert len(set(follower.ids)) == len(follower.ids) and follower.resets == 0

    def _has_all_statuses(self, follower: MovingFollower) -> bool:
        return follower.statuses == self.changes.made[follower.changing.name]

    def _moves(self) -> collections.Counter:
        return collections.Counter(client.connections - 1 for client in self.clients)
