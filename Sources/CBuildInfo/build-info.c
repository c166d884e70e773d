#include "build-info.h"

#ifndef ENROUTE_BUILD_REVISION
#define ENROUTE_BUILD_REVISION "unknown"
#endif

const char *enroute_build_revision(void) { return ENROUTE_BUILD_REVISION; }
