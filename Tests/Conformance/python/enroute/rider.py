"""A rider's side: travel mode, and reports at the pace that the gateway requests. Of each trip only the newest fix
waits."""

import secrets

from .errors import Disconnected, Refused

OLDEST = 60  # The gateway refuses older fixes.
NOT_REPORTING = ("travel_mode_off", "other_device", "not_found", "forbidden")  # This device does not report for the job.
WRONG_CLOCK = 2  # More than this, and readings are reported by the gateway's clock.


class Rider:
    def __init__(self, client):
        self._client = client
        self._device = f"python-{secrets.token_hex(8)}"  # Resumes its journeys on later connections.
        self.interval = 1
        self._travelling, self._reasons = set(), {}
        self._elsewhere = set()  # Jobs for which another device reports, until this one switches travel mode on.
        self._waiting, self._unanswered, self._seq, self._sent_at = None, None, 0, None

    async def travel(self, job, active=True):
        """Switches travel mode and returns the deadline (ms) up to which the rider may share a position."""
        if not active:
            self.forget(job)
        else:
            self._elsewhere.discard(job)
        if active and self._client.is_open:
            # Also if the answer is lost: the gateway does not resume what never started.
            self._travelling.add(job)
        return await self._switch(job, active)

    async def _switch(self, job, active, **more):
        try:
            message = {"type": "travel", "job": job, "active": active, "device": self._device}
            return (await self._client.request(message | more)).get("deadline")
        except Refused as refused:
            if not refused.retry:
                self._refused(job, refused.code)
            raise

    def forget(self, job):
        """The journey is over."""
        self._travelling.discard(job)
        self._waiting, self._unanswered = self._without(job, self._waiting), self._without(job, self._unanswered)

    @staticmethod
    def _without(job, reading):
        """A reading for several jobs stays for the others."""
        jobs = [other for other in reading[0] if other != job] if reading else []
        return (jobs, *reading[1:]) if jobs else None

    def _refused(self, job, code):
        self.forget(job)
        if code == "other_device":
            self._elsewhere.add(job)

    def report(self, jobs, fix, battery=None):
        """Reports a fix for the jobs of a trip, in the order of their stops. It replaces one that was not sent yet."""
        own = [job for job in jobs if job not in self._elsewhere]
        if own:
            self._waiting = (own, fix, battery)

    async def unavailable(self, reason, job=None):
        self._reasons[job] = reason
        await self._client.request({"type": "unavailable", "reason": reason, **({"job": job} if job else {})})

    async def availability(self, status, device=None):
        await self._client.request({"type": "availability", "status": status, **({"device": device} if device else {})})

    def accepted(self, seq):
        """The gateway answered the report with this number, and with it all earlier ones."""
        if seq == self._seq - 1:
            self._unanswered = None

    def refused(self, error):
        if error.get("replyTo") == "location":
            self._unanswered = None
        if error.get("replyTo") == "location" and error["code"] in NOT_REPORTING:
            self._refused(error.get("job"), error["code"])

    async def run(self):
        """Runs for one connection: sends what the rider declared before, then reports. A lost report is sent again if
        none is newer."""
        self._waiting, self._unanswered, self._sent_at = self._waiting or self._unanswered, None, None
        for job in list(self._travelling):
            await self._resume(job)
        for job, reason in list(self._reasons.items()):
            self._client._send({"type": "unavailable", "reason": reason, **({"job": job} if job else {})})
        while True:
            due = 0 if self._sent_at is None else self._sent_at + self.interval - self._client.clock.elapsed()
            await self._client.clock.sleep(max(due, 0.1))
            if self._waiting and (self._sent_at is None or self._client.clock.elapsed() >= self._sent_at + self.interval):
                self._report()

    async def _resume(self, job):
        """Repeats what the gateway refused for the moment; until then nothing is reported."""
        while job in self._travelling:
            try:
                await self._switch(job, True, resume=True)
                return
            except Refused as refused:
                if not refused.retry:
                    self._client.failed(job, refused.code)
                    return
                await self._client.clock.sleep(refused.retry_in)
            except Disconnected:  # The next connection resumes.
                return

    def _report(self):
        self._unanswered, self._waiting = self._waiting, None
        jobs, fix, battery = self._unanswered
        if self._client.clock.now() - fix["at"] / 1000 > OLDEST:
            return
        self._reasons.clear()  # A position ends the explanation of its absence.
        self._sent_at = self._client.clock.elapsed()
        if abs(self._client.clock_error()) > WRONG_CLOCK:
            fix = fix | {"at": round(fix["at"] + self._client.clock_error() * 1000)}
        self._client._send({"type": "location", "seq": self._seq, "fixes": [fix],
                            **({"job": jobs[0]} if len(jobs) == 1 else {"jobs": jobs}),
                            **({"battery": battery} if battery is not None else {})})
        self._seq += 1
