// Files that are part of the binary: a table for each folder, sorted as the folder is.

#ifndef ENROUTE_WEB_ASSETS_H
#define ENROUTE_WEB_ASSETS_H

#include <stddef.h>

/// One embedded file. `bytes` is not terminated by a zero.
struct enroute_asset {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// A table of embedded files; valid for as long as the process runs.
struct enroute_assets {
    const struct enroute_asset *first;
    size_t count;
};

/// Every file of Sources/WebAssets/web, some of which are links to Sources/JavaScript.
struct enroute_assets enroute_page_files(void);

/// Every file of Sources/WebAssets/api.
struct enroute_assets enroute_document_parts(void);

/// The documents of Sources/EnrouteWire/protocol that the API reference contains.
struct enroute_assets enroute_protocol_documents(void);

/// Every file of Sources/enroute/Demo/Panel.
struct enroute_assets enroute_panel_files(void);

#endif
