// Every file of Sources/EnrouteWire/Texts, by its name.

#ifndef ENROUTE_TEXTS_H
#define ENROUTE_TEXTS_H

#include <stddef.h>

/// One embedded file. `bytes` is not terminated by a zero.
struct enroute_texts_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// A table of embedded files; valid for as long as the process runs.
struct enroute_texts_table {
    const struct enroute_texts_file *first;
    size_t count;
};

struct enroute_texts_table enroute_texts(void);

#endif
