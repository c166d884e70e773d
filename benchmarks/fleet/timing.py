#!/usr/bin/env python3
"""When a client reconnects and pings: the constants and delays of enroute.js (Sources/WebAssets/web/enroute-timing.js), in s. As a
program it tests that they are still those of enroute.js."""
import os, random, re, unittest

FIRST_DELAY, LONGEST_DELAY, STABLE_AFTER = 3.0, 30.0, 10.0
SPREAD, SESSION_LIMIT_RETRY = 0.3, 40.0
PING_AFTER, PING_AFTER_EXPECTED, GIVE_UP_AFTER = 20.0, 10.0, 40.0
CONNECT_WITHIN, GOAWAY_GRACE, ASK_AGAIN_AFTER = 15.0, 2.0, 1.0
SESSION_LIMIT, FIRST_REFUSAL, LAST_REFUSAL = 4009, 4500, 4999


def reconnect_delay(failures, not_before, now):
    """`reconnectDelay` of enroute-timing.js, in s."""
    if not_before is not None:
        return max(0.0, not_before - now) + random.random() * SPREAD
    return random.random() * (FIRST_DELAY if failures == 0 else min(LONGEST_DELAY, 2.0 ** failures))


class TimingTests(unittest.TestCase):
    FILE = f"{os.path.dirname(os.path.abspath(__file__))}/../../Sources/WebAssets/web/enroute-timing.js"
    NAMES = (
        "FIRST_DELAY", "LONGEST_DELAY", "STABLE_AFTER", "SPREAD", "SESSION_LIMIT_RETRY", "PING_AFTER", "PING_AFTER_EXPECTED",
        "GIVE_UP_AFTER", "CONNECT_WITHIN", "GOAWAY_GRACE")

    def test_constants_are_those_of_enroute_js(self):
        with open(self.FILE) as file:
            theirs = dict(re.findall(r"^export const (\w+) = ([\d_]+);", file.read(), re.M))
        for name in self.NAMES:
            self.assertEqual(int(theirs[name].replace("_", "")), 1000 * globals()[name], name)

    def test_delays_are_random_up_to_a_ceiling_that_doubles(self):
        for failures, ceiling in ((0, 3), (1, 2), (2, 4), (3, 8), (9, 30)):
            delays = [reconnect_delay(failures, None, 0) for _ in range(2000)]
            self.assertTrue(0 <= min(delays) < 0.05 * ceiling and 0.95 * ceiling < max(delays) <= ceiling, failures)

    def test_the_time_in_a_goaway_counts(self):
        delays = [reconnect_delay(5, 12.0, 10.0) for _ in range(100)]
        self.assertTrue(2 <= min(delays) and max(delays) <= 2 + SPREAD)


if __name__ == "__main__":
    unittest.main()
