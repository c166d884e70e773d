// The commit that the program was built from.

#pragma once

/// The value of ENROUTE_BUILD_REVISION at build time, or "unknown".
const char *enroute_build_revision(void);
