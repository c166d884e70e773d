#!/usr/bin/env python3
"""Decides whether followers received what they were promised: each status exactly once and in order, and positions that never
go back. Values without a clock or a socket. As a program it tests itself: `checker.py` fails if one of the claims is wrong."""
import unittest
from collections import Counter


class Chain:
    """All statuses of one job, in the order in which Redis holds them."""

    def __init__(self, events):
        """`events`: a list of (id, at), the oldest first; `at` in ms."""
        self.events = events
        self.index = {event[0]: number for number, event in enumerate(events)}

    @staticmethod
    def built(head, known):
        """The chain that ends in `head`. `known` maps an id to (the id before it or None, at)."""
        events = []
        while head in known:
            before, at = known[head]
            events.append((head, at))
            head = before
        return Chain(events[::-1])


class StatusRecord:
    """What one follower received of one job's statuses."""
    __slots__ = ("entries",)
    SHOWN, HEAD, RESET = "shown", "head", "reset"

    def __init__(self):
        self.entries = []

    def shown(self, id):
        """A `status` message, or an event in `missed`."""
        self.entries.append((self.SHOWN, id))

    def subscribed(self, id):
        """The newest status of a `subscribed` snapshot, after the events in its `missed`."""
        self.entries.append((self.HEAD, id))

    def reset(self, id):
        """The newest status of a `reset`, which replaces everything before."""
        self.entries.append((self.RESET, id))

    def verdicts(self, chain):
        """Compares with the truth, and returns a list of (verdict, at in ms).

        lost        never received, and no `reset` took its place
        duplicated  received again
        reordered   received after a later one
        replaced    not received by itself: a `reset` contained the state after it, as the protocol allows
        withdrawn   received, but Redis does not have it: a failover lost it
        """
        verdicts, position, missing, seen = [], None, {}, set()
        for kind, id in self.entries:
            number = chain.index.get(id)
            if number is None:
                verdicts.append(("withdrawn", None))
                continue
            at = chain.events[number][1]
            if position is None:
                position = number
            elif kind == self.SHOWN:
                if number in missing:
                    del missing[number]
                    verdicts.append(("reordered", at))
                elif number <= position:
                    verdicts.append(("duplicated", at))
                missing |= {gap: "lost" for gap in range(position + 1, number)}
                position = max(position, number)
            elif kind == self.HEAD:
                missing |= {gap: "lost" for gap in range(position + 1, number + 1)}
                position = max(position, number)
            else:
                missing |= {gap: "replaced" for gap in range(position + 1, number + 1)}
                # After a reset to an older state its followers receive what comes after it again.
                position = number
        if position is None:
            return [*verdicts, *(("lost", at) for _, at in chain.events)]
        missing |= {gap: "lost" for gap in range(position + 1, len(chain.events))}
        return verdicts + [(verdict, chain.events[number][1]) for number, verdict in sorted(missing.items())]


class PositionRecord:
    """The newest position that one follower received of one job."""
    __slots__ = ("id", "at")

    def __init__(self):
        self.id, self.at = 0, 0

    def location(self, id, at):
        """Returns whether a `location` goes back: by its id, or by the time of the rider's reading."""
        goes_back = id <= self.id or at < self.at
        self.id, self.at = max(self.id, id), max(self.at, at)
        return goes_back

    def snapshot(self, id, at):
        """The position of a `subscribed`. An older one is not shown, as in enroute.js."""
        if id > self.id:
            self.id, self.at = id, at

    def reset(self, id, at):
        """Returns whether a `reset` shows an older reading than before. Ids start again with it."""
        goes_back = at < self.at
        self.id, self.at = id, at
        return goes_back


def longest_interruptions(spans):
    """Merges overlapping (who, start, end) and returns for each `who` its longest interruption and the end of its last one."""
    result, by_person = {}, {}
    for who, start, end in spans:
        by_person.setdefault(who, []).append((start, end))
    for who, own in by_person.items():
        own.sort()
        begin, until, longest = *own[0], 0.0
        for start, end in own[1:]:
            if start > until:
                longest, begin = max(longest, until - begin), start
            until = max(until, end)
        result[who] = (max(longest, until - begin), until)
    return result


def percentile(values, share):
    """Returns the value below which `share` of the sorted `values` lie; None for an empty list."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


def histogram_percentile(histogram, share):
    """The same for a mapping of values to their number."""
    rest = int(sum(histogram.values()) * share)
    for value in sorted(histogram):
        rest -= histogram[value]
        if rest < 0:
            return value
    return max(histogram, default=None)


class StatusTests(unittest.TestCase):
    CHAIN = Chain([(name, 1000 * number) for number, name in enumerate("abcdef")])

    def verdicts(self, *entries):
        record = StatusRecord()
        for method, id in entries:
            getattr(record, method)(id)
        return dict(Counter(verdict for verdict, _ in record.verdicts(self.CHAIN)))

    def shown(self, text, first="a"):
        return self.verdicts(("subscribed", first), *(("shown", id) for id in text))

    def test_every_status_once_and_in_order_is_right(self):
        self.assertEqual(self.shown("bcdef"), {})

    def test_a_follower_starts_with_its_first_snapshot(self):
        self.assertEqual(self.shown("ef", first="d"), {})

    def test_a_missing_status_is_lost(self):
        self.assertEqual(self.shown("bcef"), {"lost": 1})

    def test_the_last_statuses_can_be_lost_too(self):
        self.assertEqual(self.shown("bcd"), {"lost": 2})

    def test_a_status_received_twice_is_duplicated(self):
        self.assertEqual(self.shown("bccdef"), {"duplicated": 1})

    def test_the_status_of_the_first_snapshot_is_duplicated_by_a_message(self):
        self.assertEqual(self.shown("abcdef"), {"duplicated": 1})

    def test_a_status_after_a_later_one_is_reordered_and_not_lost(self):
        self.assertEqual(self.shown("bdcef"), {"reordered": 1})

    def test_a_resumed_subscription_must_contain_what_was_missed(self):
        self.assertEqual(
            self.verdicts(("subscribed", "a"), ("shown", "b"), ("shown", "c"), ("subscribed", "c"), ("shown", "d"),
                          ("shown", "e"), ("shown", "f")), {})
        self.assertEqual(
            self.verdicts(("subscribed", "a"), ("shown", "b"), ("subscribed", "d"), ("shown", "e"), ("shown", "f")),
            {"lost": 2})

    def test_a_reset_takes_the_place_of_statuses(self):
        self.assertEqual(self.verdicts(("subscribed", "a"), ("reset", "d"), ("shown", "e"), ("shown", "f")), {"replaced": 3})

    def test_a_status_that_redis_lost_is_withdrawn(self):
        self.assertEqual(
            self.verdicts(("subscribed", "a"), ("shown", "b"), ("shown", "x"), ("reset", "b"), ("shown", "c"), ("shown", "d"),
                          ("shown", "e"), ("shown", "f")), {"withdrawn": 1})

    def test_a_follower_that_received_nothing_lost_everything(self):
        self.assertEqual(self.verdicts(), {"lost": 6})

    def test_verdicts_have_the_time_of_the_status(self):
        record = StatusRecord()
        record.subscribed("a")
        for id in "bdef":
            record.shown(id)
        self.assertEqual(record.verdicts(self.CHAIN), [("lost", 2000)])

    def test_a_chain_is_built_from_its_newest_event(self):
        known = {"c": ("b", 3), "b": ("a", 2), "a": (None, 1), "x": ("a", 2)}
        self.assertEqual(Chain.built("c", known).events, [("a", 1), ("b", 2), ("c", 3)])


class PositionTests(unittest.TestCase):
    def test_positions_may_only_go_forward(self):
        record = PositionRecord()
        self.assertFalse(record.location(5, 100))
        self.assertFalse(record.location(6, 100))
        self.assertTrue(record.location(6, 101), "the same id")
        self.assertTrue(record.location(7, 99), "an older reading with a newer id")
        self.assertFalse(record.location(8, 102))

    def test_an_older_snapshot_is_not_shown_and_an_older_reset_is(self):
        record = PositionRecord()
        record.location(5, 100)
        record.snapshot(4, 90)
        self.assertEqual(record.id, 5)
        self.assertTrue(record.reset(4, 90))
        self.assertFalse(record.location(5, 100))


class FigureTests(unittest.TestCase):
    def test_overlapping_interruptions_are_one(self):
        spans = [("anna", 1.0, 3.0), ("anna", 2.0, 4.0), ("anna", 8.0, 9.0), ("ben", 5.0, 5.5)]
        self.assertEqual(longest_interruptions(spans), {"anna": (3.0, 9.0), "ben": (0.5, 5.5)})

    def test_percentiles(self):
        self.assertEqual(percentile([1, 2, 3, 4], 0.5), 3)
        self.assertEqual(histogram_percentile({1: 1, 2: 1, 3: 1, 4: 1}, 0.5), 3)
        self.assertEqual(histogram_percentile({1: 99, 50: 1}, 0.99), 50)
        self.assertIsNone(histogram_percentile({}, 0.5))


if __name__ == "__main__":
    unittest.main()
