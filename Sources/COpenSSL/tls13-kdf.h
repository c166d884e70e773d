// The key derivation of TLS 1.3 (RFC 8446, 7.1) as a provider of libcrypto, which libssl uses for the connections of a context
// that prefers it (`ENROUTE_TLS_PROPERTIES`).
//
// libssl 3.0 derives 18 to 22 secrets per handshake, and libcrypto's own implementation copies every parameter, looks the hash
// function up by name twice and allocates six times for each: a tenth of a handshake. This one computes HMAC and nothing else.
//
// It also hands over server_application_traffic_secret_0, under which Enroute writes its records. libssl has no function for
// that; its key log callback formats every secret as text, which took a thirtieth of a handshake.
//
// Measurements: Sources/SecureSocket/decisions/key-derivation.md.

#ifndef ENROUTE_TLS13_KDF_H
#define ENROUTE_TLS13_KDF_H

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/// For SSL_CTX_new_ex. The question mark: whatever this provider does not implement comes from the others, and so does this
/// derivation where the system requires certified providers (FIPS).
#define ENROUTE_TLS_PROPERTIES "?provider=enroute"

/// Bytes of SHA-384, the longer of the two hash functions of TLS 1.3's cipher suites.
#define ENROUTE_KDF_LONGEST 48

/// HMAC (RFC 2104) with SHA-256 or SHA-384: the hash after the inner and after the outer pad.
typedef struct {
    int is384;
    union {
        SHA256_CTX sha256;
        SHA512_CTX sha384;
    } inner, outer;
} enroute_hmac;

static inline size_t enroute_hash_bytes(int is384) { return is384 ? 48 : 32; }

static inline void enroute_hmac_add(enroute_hmac *hmac, const void *bytes, size_t count) {
    if (count == 0) return;
    if (hmac->is384)
        SHA384_Update(&hmac->inner.sha384, bytes, count);
    else
        SHA256_Update(&hmac->inner.sha256, bytes, count);
}

/// 0 if the key is longer than a block, which never occurs in TLS 1.3.
static inline int enroute_hmac_start(enroute_hmac *hmac, int is384, const unsigned char *key, size_t key_count) {
    unsigned char pad[SHA512_CBLOCK];
    const size_t block = is384 ? SHA512_CBLOCK : SHA256_CBLOCK;
    if (key_count > block) return 0;
    memset(pad, 0x36, block);
    for (size_t i = 0; i < key_count; i++) pad[i] ^= key[i];
    hmac->is384 = is384;
    if (is384) {
        SHA384_Init(&hmac->inner.sha384);
        SHA384_Update(&hmac->inner.sha384, pad, block);
    } else {
        SHA256_Init(&hmac->inner.sha256);
        SHA256_Update(&hmac->inner.sha256, pad, block);
    }
    for (size_t i = 0; i < block; i++) pad[i] ^= 0x36 ^ 0x5c;
    if (is384) {
        SHA384_Init(&hmac->outer.sha384);
        SHA384_Update(&hmac->outer.sha384, pad, block);
    } else {
        SHA256_Init(&hmac->outer.sha256);
        SHA256_Update(&hmac->outer.sha256, pad, block);
    }
    OPENSSL_cleanse(pad, sizeof pad);
    return 1;
}

/// Writes `enroute_hash_bytes` and wipes the state.
static inline void enroute_hmac_end(enroute_hmac *hmac, unsigned char *digest) {
    unsigned char inner[ENROUTE_KDF_LONGEST];
    if (hmac->is384) {
        SHA384_Final(inner, &hmac->inner.sha384);
        SHA384_Update(&hmac->outer.sha384, inner, 48);
        SHA384_Final(digest, &hmac->outer.sha384);
    } else {
        SHA256_Final(inner, &hmac->inner.sha256);
        SHA256_Update(&hmac->outer.sha256, inner, 32);
        SHA256_Final(digest, &hmac->outer.sha256);
    }
    OPENSSL_cleanse(inner, sizeof inner);
    OPENSSL_cleanse(hmac, sizeof *hmac);
}

/// Bytes that belong to somebody else.
typedef struct {
    const unsigned char *start;
    size_t count;
} enroute_bytes;

/// HKDF-Expand-Label (RFC 8446, 7.1) for at most one block of the hash, which is all that TLS 1.3 needs. 0 for anything longer;
/// `out` is then unchanged.
static inline int enroute_expand_label(
    int is384, enroute_bytes secret, enroute_bytes prefix, enroute_bytes label, enroute_bytes context, unsigned char *out,
    size_t count
) {
    enroute_hmac hmac;
    unsigned char block[ENROUTE_KDF_LONGEST];
    if (count > enroute_hash_bytes(is384) || prefix.count + label.count > 255 || context.count > 255) return 0;
    const unsigned char lengths[3] = {0, (unsigned char)count, (unsigned char)(prefix.count + label.count)};
    const unsigned char context_count = (unsigned char)context.count, number = 1;
    if (!enroute_hmac_start(&hmac, is384, secret.start, secret.count)) return 0;
    enroute_hmac_add(&hmac, lengths, sizeof lengths);
    enroute_hmac_add(&hmac, prefix.start, prefix.count);
    enroute_hmac_add(&hmac, label.start, label.count);
    enroute_hmac_add(&hmac, &context_count, 1);
    enroute_hmac_add(&hmac, context.start, context.count);
    enroute_hmac_add(&hmac, &number, 1);
    enroute_hmac_end(&hmac, block);
    memcpy(out, block, count);
    OPENSSL_cleanse(block, sizeof block);
    return 1;
}

/// The next secret of the key schedule: HKDF-Extract, salted with Derive-Secret(previous, "derived", "").
static inline int enroute_next_secret(
    int is384, enroute_bytes previous, enroute_bytes input, enroute_bytes prefix, enroute_bytes label, unsigned char *out,
    size_t count
) {
    static const unsigned char zeros[ENROUTE_KDF_LONGEST];
    enroute_hmac hmac;
    unsigned char salt[ENROUTE_KDF_LONGEST], nothing[ENROUTE_KDF_LONGEST];
    const size_t hash = enroute_hash_bytes(is384);
    int is_done = 0;
    if (count != hash) return 0;
    if (!input.start) input = (enroute_bytes){zeros, hash};
    if (previous.start) {
        if (is384)
            SHA384(zeros, 0, nothing);
        else
            SHA256(zeros, 0, nothing);
        if (!enroute_expand_label(is384, previous, prefix, label, (enroute_bytes){nothing, hash}, salt, hash)) return 0;
        previous = (enroute_bytes){salt, hash};
    }
    if (enroute_hmac_start(&hmac, is384, previous.start, previous.count)) {
        enroute_hmac_add(&hmac, input.start, input.count);
        enroute_hmac_end(&hmac, out);
        is_done = 1;
    }
    OPENSSL_cleanse(salt, sizeof salt);
    return is_done;
}

typedef struct {
    size_t count;
    unsigned char bytes[ENROUTE_KDF_LONGEST];
} enroute_secret;

/// The last server_application_traffic_secret_0 that was derived on this thread. Each Swift file that uses it has one of its own,
/// so SecureSocket/KeyDerivation.swift is the only one.
static _Thread_local enroute_secret enroute_sending_secret = {0};

/// Copies the secret to `out` (`ENROUTE_KDF_LONGEST` bytes), forgets it, and returns its length; 0 if there is none.
static inline size_t enroute_take_sending_secret(unsigned char *out) {
    const size_t count = enroute_sending_secret.count;
    if (count == 0) return 0;
    memcpy(out, enroute_sending_secret.bytes, count);
    OPENSSL_cleanse(&enroute_sending_secret, sizeof enroute_sending_secret);
    return count;
}

/// There is no state between calls: libssl passes all parameters to `derive`. libcrypto requires a context that is not NULL.
static char enroute_kdf_context = 0;
static void *enroute_kdf_new(void *provider) { return &enroute_kdf_context; }
static void enroute_kdf_free(void *context) {}
static void enroute_kdf_reset(void *context) {}

/// 1 for SHA-384, 0 for SHA-256, -1 for every other name.
static inline int enroute_kdf_hash(const OSSL_PARAM *parameter) {
    const char *name = parameter->data;
    if (parameter->data_type != OSSL_PARAM_UTF8_STRING || !name) return -1;
    if (strcasecmp(name, "SHA2-256") == 0 || strcasecmp(name, "SHA256") == 0) return 0;
    if (strcasecmp(name, "SHA2-384") == 0 || strcasecmp(name, "SHA384") == 0) return 1;
    return -1;
}

static int enroute_kdf_derive(void *context, unsigned char *out, size_t count, const OSSL_PARAM *parameters) {
    static const char sending[] = "s ap traffic";
    int mode = -1, is384 = -1;
    enroute_bytes key = {0}, salt = {0}, prefix = {0}, label = {0}, data = {0};
    for (const OSSL_PARAM *p = parameters; p && p->key; p++) {
        const enroute_bytes bytes = {p->data, p->data_size};
        if (strcmp(p->key, OSSL_KDF_PARAM_MODE) == 0) {
            if (OSSL_PARAM_get_int(p, &mode) != 1) return 0;
        } else if (strcmp(p->key, OSSL_KDF_PARAM_DIGEST) == 0) {
            is384 = enroute_kdf_hash(p);
        } else if (p->data_type != OSSL_PARAM_OCTET_STRING) {
            return 0;
        } else if (strcmp(p->key, OSSL_KDF_PARAM_KEY) == 0) {
            key = bytes;
        } else if (strcmp(p->key, OSSL_KDF_PARAM_SALT) == 0) {
            salt = bytes;
        } else if (strcmp(p->key, OSSL_KDF_PARAM_PREFIX) == 0) {
            prefix = bytes;
        } else if (strcmp(p->key, OSSL_KDF_PARAM_LABEL) == 0) {
            label = bytes;
        } else if (strcmp(p->key, OSSL_KDF_PARAM_DATA) == 0) {
            data = bytes;
        } else {
            return 0;
        }
    }
    if (is384 < 0 || !out || !prefix.start || !label.start) return 0;
    if (mode == EVP_KDF_HKDF_MODE_EXTRACT_ONLY) return enroute_next_secret(is384, salt, key, prefix, label, out, count);
    if (mode != EVP_KDF_HKDF_MODE_EXPAND_ONLY || !key.start) return 0;
    if (!enroute_expand_label(is384, key, prefix, label, data, out, count)) return 0;
    if (label.count == sizeof sending - 1 && memcmp(label.start, sending, label.count) == 0) {
        memcpy(enroute_sending_secret.bytes, out, count);
        enroute_sending_secret.count = count;
    }
    return 1;
}

static const OSSL_DISPATCH enroute_kdf_functions[] = {
    {OSSL_FUNC_KDF_NEWCTX, (void (*)(void))enroute_kdf_new},
    {OSSL_FUNC_KDF_FREECTX, (void (*)(void))enroute_kdf_free},
    {OSSL_FUNC_KDF_RESET, (void (*)(void))enroute_kdf_reset},
    {OSSL_FUNC_KDF_DERIVE, (void (*)(void))enroute_kdf_derive},
    {0, NULL},
};

static const OSSL_ALGORITHM *enroute_kdf_query(void *provider, int operation, int *may_not_cache) {
    static const OSSL_ALGORITHM algorithms[] = {
        {OSSL_KDF_NAME_TLS1_3_KDF, "provider=enroute", enroute_kdf_functions, NULL},
        {NULL, NULL, NULL, NULL},
    };
    *may_not_cache = 0;
    return operation == OSSL_OP_KDF ? algorithms : NULL;
}

static int enroute_kdf_provider(
    const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *core, const OSSL_DISPATCH **functions, void **provider
) {
    static const OSSL_DISPATCH offered[] = {
        {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))enroute_kdf_query},
        {0, NULL},
    };
    *functions = offered;
    *provider = (void *)handle;
    return 1;
}

/// Makes the provider known to libcrypto, beside the ones that the system is configured with. To be called once. 0 if libcrypto
/// refuses; libssl then uses its own derivation.
static inline int enroute_load_kdf(void) {
    return OSSL_PROVIDER_add_builtin(NULL, "enroute", enroute_kdf_provider) == 1
        && OSSL_PROVIDER_try_load(NULL, "enroute", 1) != NULL;
}

static inline SSL_CTX *enroute_server_context(void) { return SSL_CTX_new_ex(NULL, ENROUTE_TLS_PROPERTIES, TLS_server_method()); }

#endif
