// Every file of lua/, by its name.

#ifndef ENROUTE_SCRIPTS_H
#define ENROUTE_SCRIPTS_H

#include <stddef.h>

/// One embedded file. `bytes` is not terminated by a zero.
struct enroute_scripts_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// A table of embedded files; valid for as long as the process runs.
struct enroute_scripts_table {
    const struct enroute_scripts_file *first;
    size_t count;
};

struct enroute_scripts_table enroute_scripts(void);

#endif
