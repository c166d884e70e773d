"""The connection: it signs in, follows, reports, and reconnects automatically."""

import asyncio
import itertools
import json
import random

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from . import reconnecting
from .clock import Clock
from .errors import Disconnected, Refused
from .reconnecting import End
from .rider import Rider
from .views import JobState

ANSWER_SECONDS = 15  # How long a request waits for its answer, and a connection for `welcome`.
LONGEST_MESSAGE = 8 << 20
BURST, PER_SECOND = 30, 15  # The most that is sent, and the share of the limits in `welcome` where that is less.
SHARE = 0.75
MOST_WAITING = 500
OF_A_JOB = ("subscribed", "reset", "status", "location", "tracking", "eta", "unavailable", "ended")


class Client:
    """Follows jobs and reports positions over one WebSocket that reconnects.

    `credential` is an async function that returns {"token": …} or {"link": …}; it is called before every connection and
    before a token expires. `on_view(view)`, `on_status(event)`, `on_connection(state, end)` and `on_error(job, error)` are
    called as things happen. Tests have a `clock` that runs faster.
    """

    def __init__(self, url, credential, clock=None, on_view=None, on_status=None, on_connection=None, on_error=None):
        def nothing(*_):
            pass

        self._url, self._credential, self.clock = url, credential, clock or Clock()
        self._speed = self.clock.speed
        self._on_view, self._on_status = on_view or nothing, on_status or nothing
        self._on_connection, self._on_error = on_connection or nothing, on_error or nothing
        self._jobs, self._answers, self._refs = {}, {}, itertools.count(1)
        self._unanswered = set()  # Jobs whose last `subscribe` is unanswered.
        self._not_left = set()  # Jobs whose `unsubscribe` the gateway refused: this connection still follows them.
        self._socket = None  # Only while signed in.
        self._token, self._stopped, self._leave_at = None, asyncio.Event(), None
        self._heard, self._is_asking, self._server_ahead = 0.0, False, 0.0  # In seconds.
        self.rider = Rider(self)

    # The methods that applications call.

    async def run(self):
        """Stays connected until `stop`, or until a close code means that reconnecting is useless."""
        failures, rejected, end = 0, None, None
        while not self._stopped.is_set():
            self._on_connection("connecting", None)
            self._leave_at = None
            try:
                credential = await self._credential()
                if rejected and credential == rejected:
                    self._on_connection("refused", End(4005, end.reason))
                    return
                end = await self._connection(credential)
            except Exception as error:  # The application could not provide a credential.
                credential, end = None, End(reason=f"no credential is available: {error}")
            for answer in self._answers.values():
                answer.cancel()
            self._answers.clear()
            if self._stopped.is_set():
                break
            if reconnecting.is_final(end):
                self._on_connection("refused", end)
                return
            failures = 1 if end.lasted >= reconnecting.STEADY else failures + 1
            is_first = rejected is None or end.lasted >= reconnecting.STEADY
            rejected = credential if reconnecting.needs_new_token(end) else None
            self._on_connection("waiting", end)
            await self._pause(random.uniform(*reconnecting.delay_range(end, failures, is_first)))
        self._on_connection("stopped", None)

    async def stop(self):
        self._stopped.set()
        if self._socket:
            await self._socket.close()

    def follow(self, job, since=None):
        """Follows a job. `since` is a cursor ({"epoch", "id"}) that an earlier run has stored."""
        if job not in self._jobs:
            self._jobs[job] = JobState(job, since)
            self._subscribe([job])

    def unfollow(self, job):
        if self._jobs.pop(job, None) and self._socket:
            self._unsubscribe(job)

    @property
    def is_open(self):
        return self._socket is not None

    def failed(self, job, code):
        """Notifies the application of errors that no caller waits for."""
        self._on_error(job, code)

    def cursor(self, job):
        return self._jobs[job].since

    async def request(self, message):
        """Sends a message with a `ref` and returns its `ok`. Raises Refused or Disconnected."""
        if not self._socket:
            raise Disconnected("There is no connection to the gateway.")
        ref = f"r{next(self._refs)}"
        answer = self._answers[ref] = asyncio.get_running_loop().create_future()
        self._send({**message, "ref": ref})
        try:
            return await asyncio.wait_for(answer, ANSWER_SECONDS / self._speed)
        except (asyncio.CancelledError, TimeoutError) as error:
            if isinstance(error, asyncio.CancelledError) and not answer.cancelled():
                raise
            raise Disconnected(
                "The connection was lost before the answer. The request may have been executed or not.") from error
        finally:
            self._answers.pop(ref, None)

    def clock_error(self):
        """Seconds that the gateway's clock is ahead of this machine's."""
        return self._server_ahead

    async def _pause(self, seconds):
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds / self._speed)
        except TimeoutError:
            pass

    # One connection.

    async def _connection(self, credential):
        self._token = credential.get("token")
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        opened, tasks = None, []
        try:
            async with connect(self._url, subprotocols=["enroute.v1"], additional_headers=headers, max_size=LONGEST_MESSAGE,
                               ping_interval=None, open_timeout=ANSWER_SECONDS / self._speed,
                               close_timeout=1 / self._speed) as socket:
                if not self._token:
                    await socket.send(json.dumps({"type": "auth", "link": credential["link"]}))
                welcome = await self._welcome(socket)
                opened, self._heard = self.clock.elapsed(), self.clock.elapsed()
                self._server_ahead = welcome["serverTime"] / 1000 - self.clock.now()
                limits = welcome.get("limits", {})
                self._socket, self._outgoing = socket, asyncio.Queue()
                self._not_left.clear()
                self._on_connection("open", None)
                tasks = [asyncio.create_task(task) for task in (
                    self._write(socket, self._outgoing, limits), self._watch_silence(socket),
                    self._refresh(), self.rider.run())]
                self._subscribe(list(self._jobs), limits.get("subscribeJobs", 100))
                async for text in socket:
                    self._heard, self._is_asking = self.clock.elapsed(), False
                    self._receive(json.loads(text))
                end = socket.close_code, socket.close_reason
        except ConnectionClosed as closed:
            end = (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")
        except InvalidStatus as refusal:
            retry_in = refusal.response.headers.get("Retry-After", "")
            return End(http=refusal.response.status_code, retry_in=float(retry_in) if retry_in.isdigit() else None)
        except (OSError, TimeoutError, InvalidHandshake) as error:
            end = 1006, str(error)
        finally:
            self._socket = None
            for task in tasks:
                task.cancel()
        retry_in = None if self._leave_at is None else max(0, self._leave_at - self.clock.elapsed())
        return End(end[0] or 1006, end[1] or "", None, retry_in, self.clock.elapsed() - opened if opened is not None else 0)

    async def _welcome(self, socket):
        """Returns `welcome`; a `goaway` may arrive instead, followed by a close."""
        deadline = asyncio.get_running_loop().time() + ANSWER_SECONDS / self._speed
        async with asyncio.timeout_at(deadline):
            while True:
                message = json.loads(await socket.recv())
                if message["type"] == "welcome":
                    return message
                self._receive(message)

    async def _watch_silence(self, socket):
        """Sends a ping when nothing has arrived for a while, and gives the connection up if nothing arrives then."""
        while True:
            await self.clock.sleep(1)
            silent = self.clock.elapsed() - self._heard
            if silent > reconnecting.GIVE_UP_AFTER:
                socket.transport.abort()
                return
            if silent > reconnecting.PING_AFTER and not self._is_asking:
                self._is_asking = True
                self._send({"type": "ping"})

    async def _refresh(self):
        """Renews the sign-in before the token expires, by the server's clock."""
        expires = reconnecting.expiry(self._token) if self._token else None
        while expires:
            await self.clock.sleep(reconnecting.refresh_in(expires, self.clock.now() + self._server_ahead))
            try:
                token = (await self._credential()).get("token")
                if not token or token == self._token:
                    return
                expires = (await self.request({"type": "refresh", "token": token}))["deadline"] / 1000
                self._token = token
            except Disconnected:
                return
            except Exception:  # The session continues with its token; another attempt costs little.
                await self.clock.sleep(5)

    async def _leave(self, socket, seconds):
        await self.clock.sleep(seconds)
        await socket.close()

    # Messages.

    def _send(self, message):
        """Queues a message for this connection. A queue that is full drops it, and its request ends without an answer."""
        is_accepted = self._socket is not None and self._outgoing.qsize() < MOST_WAITING
        if is_accepted:
            self._outgoing.put_nowait(json.dumps(message))
        return is_accepted

    async def _write(self, socket, outgoing, limits):
        """Sends what is queued, below the gateway's limits for a connection."""
        burst = min(BURST, max(1, SHARE * limits.get("messagesBurst", BURST / SHARE)))
        per_second = min(PER_SECOND, SHARE * max(1, limits.get("messagesPerSecond", PER_SECOND / SHARE)))
        allowed, counted = burst, self.clock.elapsed()
        try:
            while True:
                text = await outgoing.get()
                allowed = min(burst, allowed + (self.clock.elapsed() - counted) * per_second)
                counted = self.clock.elapsed()
                if allowed < 1:
                    await self.clock.sleep(1 / per_second)
                allowed -= 1
                await socket.send(text)
        except ConnectionClosed:
            pass

    def _subscribe(self, jobs, at_most=100):
        if not self._socket:
            return
        self._unanswered.update(jobs)
        for job in self._not_left.intersection(jobs):
            self._send({"type": "unsubscribe", "job": job})
        # 20 jobs with their cursors stay well below 4 KiB.
        size = min(at_most, 20)
        for some in (jobs[start:start + size] for start in range(0, len(jobs), size)):
            wanted = [{"job": job, **({"since": self._jobs[job].since} if self._jobs[job].since else {})} for job in some]
            if not self._send({"type": "subscribe", **(wanted[0] if len(wanted) == 1 else {"jobs": wanted})}):
                asyncio.create_task(self._subscribe_later(some, 1))

    def _unsubscribe(self, job):
        if self._socket and not self._send({"type": "unsubscribe", "job": job}):
            self._not_left.add(job)
            asyncio.create_task(self._leave_later(job, 1))

    def _receive(self, message):
        type, job = message.get("type"), self._jobs.get(message.get("job"))
        if type == "ok" or type == "error":
            self._answered(message)
        elif type == "goaway":
            seconds = message["retryInMs"] / 1000
            self._leave_at = self.clock.elapsed() + seconds
            if self._socket:
                asyncio.create_task(self._leave(self._socket, seconds + reconnecting.GOAWAY_GRACE))
        elif type == "rate":
            self.rider.interval = message["intervalSeconds"]
        elif type in ("degraded", "restored"):
            self._on_connection("degraded" if type == "degraded" else "open", None)
        elif type in OF_A_JOB and job:
            before = job.view
            if type in ("subscribed", "reset"):
                self._unanswered.discard(job.view.job)
            for event in job.apply(message):
                self._on_status({"job": job.view.job, **event})
            if job.view != before:
                self._on_view(job.view)
            if type == "ended":
                self._jobs.pop(job.view.job, None)
                self.rider.forget(job.view.job)

    def _answered(self, message):
        answer = self._answers.get(message.get("ref"))
        if answer and not answer.done():
            answer.set_result(message) if message["type"] == "ok" else answer.set_exception(Refused(message))
        elif message["type"] == "ok" and message.get("replyTo") == "location":
            self.rider.accepted(message.get("seq"))
        elif message["type"] == "ok" and message.get("replyTo") == "unsubscribe":
            self._not_left.discard(message.get("job"))
        elif message["type"] == "error" and message.get("replyTo") == "unsubscribe" and message.get("retry"):
            self._not_left.add(message["job"])
            asyncio.create_task(self._leave_later(message["job"], message.get("retryInMs", 1000) / 1000))
        elif message["type"] == "error" and message.get("replyTo") == "subscribe" and message.get("job") in self._not_left:
            pass  # `_leave_later` sends it again.
        elif message["type"] == "error" and message.get("replyTo") == "subscribe":
            jobs = [message["job"]] if message.get("job") else list(self._jobs)
            if message.get("retry"):
                asyncio.create_task(self._subscribe_later(jobs, message.get("retryInMs", 1000) / 1000))
            else:
                for job in jobs:
                    if self._jobs.pop(job, None):
                        self._on_error(job, message["code"])
        elif message["type"] == "error":
            self.rider.refused(message)
            self._on_error(message.get("job"), message["code"])

    async def _subscribe_later(self, jobs, seconds):
        socket = self._socket
        await self.clock.sleep(seconds)
        if socket is self._socket:
            self._subscribe([job for job in jobs if job in self._jobs and job in self._unanswered])

    async def _leave_later(self, job, seconds):
        """Sends an `unsubscribe` again, and the `subscribe` of a job that the application follows again meanwhile."""
        socket = self._socket
        await self.clock.sleep(seconds)
        if socket is not self._socket or job not in self._not_left:
            return
        if job in self._jobs:
            self._subscribe([job])
        else:
            self._unsubscribe(job)
