// libssl and libcrypto as Swift sees them. Swift imports functions and plain constants but no function-like macros:
// those that SecureSocket needs stand here as functions.

#ifndef ENROUTE_COPENSSL_SHIM_H
#define ENROUTE_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/// The options of a server of ours: no renegotiation (RFC 9325, 3.5: costs CPU and serves nobody), no compression
/// (CRIME), our order of ciphers, except that a client without AES in hardware may ask for ChaCha20.
static inline void enroute_SSL_CTX_set_server_options(SSL_CTX *context) {
    SSL_CTX_set_options(
        context,
        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA
    );
}

static inline long enroute_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

static inline int enroute_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline long enroute_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}

static inline int enroute_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *groups) {
    return (int)SSL_CTX_set1_groups_list(context, (char *)groups);
}

static inline void enroute_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void enroute_BIO_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }

#endif
