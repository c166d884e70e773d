#define _GNU_SOURCE
#include "crash-message.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

// The number of bytes that a pipe accepts without blocking once poll has reported it writable (pipe(7): PIPE_BUF).
enum { pipe_buffer = 4096 };

// After the first timeout, all further lines are dropped: a crash in the standard library writes a line per frame.
static atomic_bool has_given_up;

static ssize_t write_bounded(void *cookie, const char *bytes, size_t count) {
    (void)cookie;
    if (atomic_load(&has_given_up)) return 0;
    struct pollfd reader = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&reader, 1, ENROUTE_CRASH_MESSAGE_PATIENCE_MS) <= 0) {
        atomic_store(&has_given_up, true);
        return 0;
    }
    return write(STDERR_FILENO, bytes, count < pipe_buffer ? count : pipe_buffer);
}

void enroute_bound_crash_message(void) {
    FILE *bounded = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_bounded});
    if (bounded == NULL) return;
    setvbuf(bounded, NULL, _IOLBF, pipe_buffer);
    stderr = bounded;
}
