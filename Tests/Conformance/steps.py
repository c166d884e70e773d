"""The steps of scripts: each method is one kind of step, with the value beside its name. Times are the protocol's
seconds."""

from __future__ import annotations

from matching import matches, shown
from moments import Broken

SOON = 5  # Until something that needs no wait of the client is there.


class Steps:
    def __init__(self, player):
        self._player = player

    @property
    def _current(self):
        if self._player.current is None:
            raise Broken("the script expects a connection, and there is none")
        return self._player.current

    # The application.

    async def client(self, command):
        """A command for the client's program."""
        self._player.note("kit", "tells " + shown(command))
        self._player.driver.tell(command)

    async def credential(self, given):
        """The application's answer from now on when the client requests a credential."""
        self._player.set_credential(given)

    async def follows_many(self, jobs):
        """[prefix, count]: follows that many jobs at once."""
        for number in range(1, jobs[1] + 1):
            await self.client({"do": "follow", "job": f"{jobs[0]}{number}"})

    async def remember(self, values):
        """Values for later steps, which name them with `$`."""
        self._player.remembered |= values

    async def sees(self, expected):
        """A report of the program, the newest of its kind for a view or the connection: {"view": …}, {"connection": …}, {"error": …} or
        {"answer": …}."""
        ((kind, members),) = expected.items()
        found = await self._player.clock.until(lambda: self._seen(kind, members), SOON)
        if not found:
            reports = self._reports(kind, members)
            raise Broken(f"the client saw {shown(reports[-1]) if reports else 'nothing of that kind'}")

    def _reports(self, kind, members):
        return [report for report in self._player.reports if report["saw"] == kind
                and (kind == "connection" or "job" not in members or report.get("job") == members["job"])]

    def _seen(self, kind, members):
        reports = self._reports(kind, members)
        # Views and states replace each other; of errors and answers each one counts.
        return any(matches(members, report) for report in (reports[-1:] if kind in ("view", "connection") else reports))

    async def statuses(self, expected):
        """All status events of jobs so far, in order: {"visit-1": ["on_the_way", …]}. An event for the first snapshot
        may precede them."""
        for job, names in expected.items():
            await self._player.clock.until(lambda: len(self._events(job)) >= len(names), SOON)
            # A status that is shown twice is shown late.
            await self._player.clock.sleep(1)
            if self._events(job) != names:
                raise Broken(f"the application of the client received {shown(self._events(job))}")

    def _events(self, job):
        first = self._player.snapshots.get(job, {}).get("id")
        events = [report for report in self._player.reports if report["saw"] == "status" and report.get("job") == job]
        skipped = 1 if events and events[0].get("id") == first else 0
        return [event["status"] for event in events[skipped:]]

    # Connections.

    async def connects(self, expected):
        """A new connection: {"within": [least, most]} after the last one ended, {"token": name} or {"link": secret}; {"welcome": false} leaves
        the client without an answer."""
        player, (least, most) = self._player, expected.get("within", [0, 30])
        left = max(0, player.mark + most - player.clock.seconds())
        if not await player.clock.until(lambda: player.server.arrived, left):
            raise Broken(f"the client did not connect and sign in within {most} s")
        player.current = player.server.arrived.pop(0)
        waited = player.clock.seconds() - player.mark
        player.note("client", f"connected after {waited:.1f} s")
        # Both clocks are rounded to ms, which speed multiplies.
        if waited < least - 0.05:
            raise Broken(f"the client came after {waited:.1f} s; it should wait at least {least} s")
        wanted = {"token": player.tokens[expected["token"]]} if "token" in expected else (
            {"link": expected["link"]} if "link" in expected else player.credential)
        if player.current.credential != wanted:
            raise Broken(f"the client signed in with {shown(player.current.credential)} instead of {shown(wanted)}")
        player.mark = player.clock.seconds()
        if expected.get("welcome", True):
            await player.welcome(player.current)

    async def welcomes(self, _):
        await self._player.welcome(self._current)

    async def expects(self, expected):
        """The next message of this type, pings aside."""
        inbox = self._current.inbox

        def next_one():
            return next((message for message in inbox if message["type"] == expected["type"]), None)

        within = expected.pop("within", SOON)
        message = await self._player.clock.until(next_one, within)
        if message is None:
            kinds = [message["type"] for message in inbox]
            raise Broken(f"the client did not send it within {within} s" + (f"; it sent {shown(kinds)}" if kinds else ""))
        if not matches(expected, message):
            # Of several jobs, the one that is expected may come later.
            message = await self._player.clock.until(lambda: next((one for one in inbox if matches(expected, one)), None), SOON)
        if message is None:
            raise Broken(f"the client sent {shown(next_one())}")
        inbox.remove(message)

    async def subscribes(self, job):
        """A first subscription."""
        await self.expects({"type": "subscribe", "job": job, "since": None})

    async def resumes(self, job):
        """A subscription with the epoch and id of the newest status that the gateway has sent for the job."""
        await self.expects({"type": "subscribe", "job": job, "since": self._player.sent[job]})

    async def newest_fix(self, expected):
        """The next report: its newest fix has these members."""
        members = {name: value for name, value in expected.items() if name != "job"}
        inbox = self._current.inbox

        def next_one():
            return next((message for message in inbox if message["type"] == "location"), None)

        report = await self._player.clock.until(next_one, 30)
        if report is None:
            raise Broken("the client did not report within 30 s")
        inbox.remove(report)
        newest = max(report["fixes"], key=lambda fix: fix["at"])
        if report.get("job") != expected["job"] or not matches(members, newest):
            raise Broken(f"the newest fix of the client's report is {shown(newest)}")

    async def quiet(self, seconds):
        """Neither a connection nor a message, pings aside."""
        player = self._player
        before = len(player.server.attempts)
        inbox = player.current.inbox if player.current else []
        inbox[:] = [message for message in inbox if message["type"] != "ping"]
        await player.clock.sleep(seconds)
        if len(player.server.attempts) > before:
            raise Broken("the client tried to connect")
        spoken = [message for message in inbox if message["type"] != "ping"]
        if spoken:
            raise Broken(f"the client sent {shown(spoken[0])}")

    async def attempts(self, expected):
        """{"during": seconds, "from": least, "to": most}: how often the client tries to connect while the gateway refuses it."""
        player = self._player
        before = len(player.server.attempts)
        await player.clock.sleep(expected["during"])
        count = len(player.server.attempts) - before
        player.server.arrived.clear()
        if not expected["from"] <= count <= expected["to"]:
            raise Broken(f"the client tried {count} times")

    # Actions of the gateway.

    async def says(self, message):
        """Sends this message unchanged."""
        if message["type"] == "goaway":
            self._player.mark = self._player.clock.seconds()
        await self._player.say(self._current, message)

    async def answers(self, override):
        """{"to": what a message must match, "with": [messages]}: the answers to the next such message instead of the usual ones."""
        self._player.overrides.append(override)

    async def status(self, change):
        """[job, status]: the status changes, whether anybody is connected or not."""
        job, status = change
        await self._publish(job, self._player.jobs[job].add_status(status))

    async def location(self, place):
        """[job, lat, lon]"""
        job, lat, lon = place
        state = self._player.jobs[job]
        was = state.tracking
        message = state.add_location(lat, lon)
        if was != "live":
            await self._publish(job, state.set_tracking("live"))
        await self._publish(job, message)

    async def locations(self, many):
        """{"job": …, "count": …, "from": [lat, lon], "step": degrees}: as fast as the client reads."""
        state, (lat, lon) = self._player.jobs[many["job"]], many["from"]
        for number in range(many["count"]):
            message = state.add_location(lat + (number + 1) * many["step"], lon)
            await self._current.send(message)
        self._player.note("gateway", f"{many['count']} locations")

    async def tracking(self, change):
        """[job, state] or [job, state, reason]"""
        await self._publish(change[0], self._player.jobs[change[0]].set_tracking(*change[1:]))

    async def eta(self, given):
        """{"job": …, "state": …, …}"""
        state = self._player.jobs[given["job"]]
        state.eta = {name: value for name, value in given.items() if name != "job"} | {"at": self._player.server_now()}
        await self._publish(given["job"], {"type": "eta", "job": given["job"]} | state.eta)

    async def log(self, change):
        """[job, "restarted"]: another epoch. [job, "trimmed"]: only the newest status is left."""
        state = self._player.jobs[change[0]]
        state.forget_before_newest() if change[1] == "trimmed" else state.restart_log("p2k8")

    async def reset(self, given):
        """{"job": …, …}: the state of the job, with the members named here."""
        state = self._player.jobs[given["job"]]
        snapshot = state.snapshot([]) | {name: value for name, value in given.items() if name != "job"}
        await self._publish(given["job"], {"type": "reset", "job": given["job"], "snapshot": snapshot})

    async def _publish(self, job, message):
        current = self._player.current
        if current and not current.has_ended and job in current.subscribed:
            await self._player.say(current, message)

    # How connections end.

    async def closes(self, close):
        """{"code": …, "reason": …}"""
        self._player.note("gateway", f"closes with {close['code']}")
        self._player.mark = self._player.clock.seconds()
        await self._current.close(close["code"], close.get("reason", ""))

    async def cuts(self, _):
        """The connection ends without a close frame."""
        self._player.note("gateway", "cuts the connection")
        self._player.mark = self._player.clock.seconds()
        self._current.cut()

    async def freezes(self, _):
        """The gateway neither reads nor writes nor closes."""
        self._player.note("gateway", "freezes")
        self._player.mark = self._player.clock.seconds()
        self._current.freeze()

    async def refuses(self, refusal):
        """{"status": HTTP status, "retryAfter": seconds?, "times": count?}: of the next upgrades."""
        self._player.server.refusals += [refusal] * refusal.get("times", 1)

    async def pings(self, _):
        """A ping of WebSocket, which needs a pong within the gateway's time."""
        pong = await self._current.socket.ping()
        if not await self._player.clock.until(pong.done, 10):
            raise Broken("the client did not answer a ping within 10 s")

    async def passes(self, seconds):
        await self._player.clock.sleep(seconds)
