// Embeds the translation files in the binary with `#embed` (C23); CWebAssets explains why. To add a language, add its bytes
// and its line in the table. A test compares the table with the folder.

#include "texts.h"

static const unsigned char de_json[] = {
#embed "../EnrouteWire/Texts/de.json"
};
static const unsigned char en_json[] = {
#embed "../EnrouteWire/Texts/en.json"
};

#define FILE_OF(name, bytes) {name, bytes, sizeof(bytes)}

static const struct enroute_texts_file files[] = {
    FILE_OF("de.json", de_json),
    FILE_OF("en.json", en_json),
};

struct enroute_texts_table enroute_texts(void) {
    return (struct enroute_texts_table){files, sizeof(files) / sizeof(files[0])};
}
