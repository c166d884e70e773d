"""Every wait of the browser tests has a name and stands here. They say how long to be patient with a slow and noisy
machine, never how fast something must be: what must be fast is asserted from the times that were measured."""

PAGE_SECONDS = 30           # until a page shows what it must
PAGE_MS = PAGE_SECONDS * 1000
START_SECONDS = 60          # until a redis-server or a gateway answers
END_SECONDS = 20            # from SIGTERM until a process is killed
ANSWER_SECONDS = 30         # of a REST request, of a message to a rider
CONNECT_SECONDS = 10        # of one attempt to connect
POLL_SECONDS = 0.05         # between two looks at what nobody announces (a port, a file)
LINK_SECONDS = 14_400       # the longest a tracking link lives
TOKEN_SECONDS = 3_600       # how long our own tokens are good
