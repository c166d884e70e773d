"""Why a request failed."""


class Refused(Exception):
    """The gateway answered a request with `error`."""

    def __init__(self, error):
        super().__init__(error.get("message") or error["code"])
        self.code, self.retry, self.tasks = error["code"], bool(error.get("retry")), error.get("tasks")
        self.retry_in = error.get("retryInMs", 1000) / 1000


class Disconnected(Exception):
    """There was no connection, or it ended before the answer: the request may or may not have been carried out."""

    code = "network"
