// Bounds how long the message of a crash may block while it is written to standard error.

#pragma once

/// The longest time that a crashing process waits for the reader of its standard error, in ms.
#define ENROUTE_CRASH_MESSAGE_PATIENCE_MS 1000

/// Replaces the C library's `stderr`, to which Swift's runtime writes the reason of a crash, with one that stops writing when
/// nobody reads: otherwise a full pipe would keep a crashed process, and its clients, waiting forever.
void enroute_bound_crash_message(void);
