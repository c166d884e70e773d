// libssl, libcrypto and epoll for Swift, which imports functions and plain constants but no function-like macros. The macros
// that LoadEngine needs are functions here.

#ifndef ENROUTE_CLIBSSL_SHIM_H
#define ENROUTE_CLIBSSL_SHIM_H

#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

/// A GNU extension. Defining _GNU_SOURCE would make fd_set a different type than in Swift's own module of the C library, which
/// debug builds reject.
void *memmem(const void *bytes, size_t count, const void *sought, size_t soughtCount);

static inline long bench_SSL_CTX_set_mode(SSL_CTX *context, long mode) { return SSL_CTX_set_mode(context, mode); }

static inline int bench_SSL_CTX_require_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version) && SSL_CTX_set_max_proto_version(context, version);
}

static inline int bench_SSL_CTX_set_groups(SSL_CTX *context, const char *groups) {
    return (int)SSL_CTX_set1_groups_list(context, (char *)groups);
}

/// Sessions are passed to the callback and not stored elsewhere.
static inline void bench_SSL_CTX_hand_out_sessions(SSL_CTX *context, int (*taken)(SSL *, SSL_SESSION *)) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, taken);
}

static inline int bench_SSL_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, (char *)name);
}

static inline void bench_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void bench_BIO_set_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void bench_BIO_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }

#endif
