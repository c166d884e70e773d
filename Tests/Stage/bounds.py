"""All timeouts of the tests in Python. They are limits for slow machines, not performance targets: tests of speed assert
the times that they measured."""

PAGE_SECONDS = 30           # until a page shows the expected content
PAGE_MS = PAGE_SECONDS * 1000
START_SECONDS = 60          # until a redis-server or a gateway answers
END_SECONDS = 20            # from SIGTERM until a process is killed
ANSWER_SECONDS = 30         # for a REST response or a message to a rider
CONNECT_SECONDS = 10        # of one attempt to connect
POLL_SECONDS = 0.05         # between two checks of a port or a file
LINK_SECONDS = 14_400       # the longest a tracking link lives
TOKEN_SECONDS = 3_600       # lifetime of the tests' tokens
