// libssl and libcrypto for Swift. Swift imports functions and plain constants but no function-like macros, so this file
// wraps the macros that SecureSocket needs in functions.

#ifndef ENROUTE_COPENSSL_SHIM_H
#define ENROUTE_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ocsp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/// Sets the options of Enroute's server: no renegotiation (RFC 9325, 3.5: it costs CPU time and no client needs it), no
/// compression (CRIME), and the server's order of ciphers, except that a client without AES in hardware can choose ChaCha20.
static inline void enroute_SSL_CTX_set_server_options(SSL_CTX *context) {
    SSL_CTX_set_options(
        context,
        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA
    );
}

static inline long enroute_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

/// Reads the validity period of an SSL_CTX's certificate, in seconds since the epoch. Returns 1, or 0 if it is unknown.
static inline int enroute_SSL_CTX_validity(const SSL_CTX *context, int64_t *from, int64_t *until) {
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    struct tm first, last;
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notBefore(certificate), &first) != 1
        || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &last) != 1)
        return 0;
    *from = timegm(&first);
    *until = timegm(&last);
    return 1;
}

/// Whether a certificate says where its issuer's certificate can be fetched (RFC 5280, 4.2.2.1: id-ad-caIssuers).
static inline int enroute_X509_names_issuer(const X509 *certificate) {
    AUTHORITY_INFO_ACCESS *access = X509_get_ext_d2i(certificate, NID_info_access, NULL, NULL);
    int found = 0;
    for (int index = 0; index < sk_ACCESS_DESCRIPTION_num(access); index++)
        found |= OBJ_obj2nid(sk_ACCESS_DESCRIPTION_value(access, index)->method) == NID_ad_ca_issuers;
    AUTHORITY_INFO_ACCESS_free(access);
    return found;
}

/// Whether the chain of an SSL_CTX lacks the issuer of its first certificate although that certificate says where the
/// issuer's certificate can be fetched.
static inline int enroute_SSL_CTX_lacks_issuer(SSL_CTX *context) {
    X509 *certificate = SSL_CTX_get0_certificate(context);
    STACK_OF(X509) *chain = NULL;
    if (!certificate || X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0
        || SSL_CTX_get0_chain_certs(context, &chain) != 1)
        return 0;
    for (int index = 0; index < sk_X509_num(chain); index++)
        if (X509_check_issued(sk_X509_value(chain, index), certificate) == X509_V_OK)
            return 0;
    return enroute_X509_names_issuer(certificate);
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

/// One key for session tickets (RFC 5077, 4): its name, which tickets contain in plain text, the MAC key and the cipher key.
typedef struct {
    unsigned char name[16];
    unsigned char mac[32];
    unsigned char cipher[32];
} enroute_ticket_key;

/// The first key encrypts tickets, and all keys decrypt them.
typedef struct {
    int count;
    enroute_ticket_key keys[8];
} enroute_ticket_keys;

static void enroute_free_ticket_keys(void *parent, void *keys, CRYPTO_EX_DATA *data, int index, long l, void *p) {
    if (keys) OPENSSL_clear_free(keys, sizeof(enroute_ticket_keys));
}

/// Fetched once, because libcrypto would look up EVP_aes_256_cbc() by name for each ticket.
static EVP_CIPHER *enroute_ticket_cipher = NULL;

/// Returns the index at which an SSL_CTX stores its ticket keys, which are wiped and freed with it. Call it once.
static inline int enroute_new_ticket_index(void) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, enroute_free_ticket_keys);
}

static int enroute_ticket_index = -1;

/// libssl's ticket callback. Returns 1 to use the ticket, 2 to use and renew it, 0 to ignore it, and -1 on errors. A ticket is
/// renewed if its key is not the newest, and always in TLS 1.3: a client uses each ticket once (RFC 8446, C.4), so without a
/// new one its next reconnect would be a full handshake. libssl does the same with its own keys.
static int enroute_ticket_callback(
    SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int encrypts
) {
    const enroute_ticket_keys *keys = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), enroute_ticket_index);
    int found = 0;
    if (!keys || keys->count < 1) return 0;
    if (encrypts) {
        memcpy(name, keys->keys[0].name, sizeof keys->keys[0].name);
        if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(enroute_ticket_cipher)) != 1) return -1;
    } else {
        while (found < keys->count && memcmp(name, keys->keys[found].name, sizeof keys->keys[found].name) != 0) found++;
        if (found == keys->count) return 0;
    }
    const enroute_ticket_key *key = &keys->keys[found];
    OSSL_PARAM params[3];
    params[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key->mac, sizeof key->mac);
    params[1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0);
    params[2] = OSSL_PARAM_construct_end();
    if (EVP_MAC_CTX_set_params(mac, params) != 1) return -1;
    if (EVP_CipherInit_ex(cipher, enroute_ticket_cipher, NULL, key->cipher, iv, encrypts ? 1 : 0) != 1) return -1;
    return found == 0 && SSL_version(ssl) < TLS1_3_VERSION ? 1 : 2;
}

/// Stores a copy of the keys in the SSL_CTX. Call it before the first connection.
static inline int enroute_SSL_CTX_set_ticket_keys(SSL_CTX *context, int index, const enroute_ticket_keys *keys) {
    enroute_ticket_keys *copy = OPENSSL_memdup(keys, sizeof *keys);
    if (!copy) return 0;
    enroute_ticket_index = index;
    // Not earlier: each Swift file that calls this function has its own copy of this variable and of the callback.
    if (!enroute_ticket_cipher) enroute_ticket_cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    if (!enroute_ticket_cipher || SSL_CTX_set_ex_data(context, index, copy) != 1) {
        OPENSSL_clear_free(copy, sizeof *copy);
        return 0;
    }
    return (int)SSL_CTX_set_tlsext_ticket_key_evp_cb(context, enroute_ticket_callback);
}

/// An OCSP response (RFC 6960) as it is sent, and when it expires.
typedef struct {
    time_t until;
    int count;
    unsigned char bytes[];
} enroute_ocsp_response;

static void enroute_free_ocsp(void *parent, void *response, CRYPTO_EX_DATA *data, int index, long l, void *p) {
    OPENSSL_free(response);
}

/// Returns the index at which an SSL_CTX stores its OCSP response, which is freed with it. Call it once.
static inline int enroute_new_ocsp_index(void) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, enroute_free_ocsp);
}

static int enroute_ocsp_index = -1;

/// libssl's status callback: staples the response to the handshake, unless it has expired.
static int enroute_ocsp_callback(SSL *ssl, void *argument) {
    const enroute_ocsp_response *response = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), enroute_ocsp_index);
    if (!response || response->until < time(NULL)) return SSL_TLSEXT_ERR_NOACK;
    unsigned char *copy = OPENSSL_memdup(response->bytes, response->count);
    if (!copy) return SSL_TLSEXT_ERR_NOACK;
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, response->count);
    return SSL_TLSEXT_ERR_OK;
}

/// Returns when a response expires (the nextUpdate of its first entry); 0 if it has no expiry; -1 if the bytes are not an
/// OCSP response in DER; -2 if the response reports an error of the responder.
static inline time_t enroute_ocsp_until(const unsigned char *bytes, long count) {
    OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &bytes, count);
    if (!response) return -1;
    OCSP_BASICRESP *basic = NULL;
    time_t until = -2;
    if (OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL
        && (basic = OCSP_response_get1_basic(response)) && OCSP_resp_count(basic) > 0) {
        ASN1_GENERALIZEDTIME *next = NULL;
        OCSP_single_get0_status(OCSP_resp_get0(basic, 0), NULL, NULL, NULL, &next);
        int days = 0, seconds = 0;
        until = 0;
        if (next && ASN1_TIME_diff(&days, &seconds, NULL, next) == 1) until = time(NULL) + days * 86400L + seconds;
    }
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(response);
    return until;
}

/// Stores a copy of the response in the SSL_CTX. Call it before the first connection.
static inline int enroute_SSL_CTX_set_ocsp(SSL_CTX *context, int index, const unsigned char *bytes, int count, time_t until) {
    enroute_ocsp_response *copy = OPENSSL_malloc(sizeof *copy + count);
    if (!copy) return 0;
    copy->until = until;
    copy->count = count;
    memcpy(copy->bytes, bytes, count);
    enroute_ocsp_index = index;
    if (SSL_CTX_set_ex_data(context, index, copy) != 1) {
        OPENSSL_free(copy);
        return 0;
    }
    return SSL_CTX_set_tlsext_status_cb(context, enroute_ocsp_callback) == 1;
}

/// Sets the certificate, the chain and the key of `from` in `to` too. They are reference-counted, so both can be freed.
static inline int enroute_SSL_CTX_share_certificate(SSL_CTX *to, SSL_CTX *from) {
    STACK_OF(X509) *chain = NULL;
    return SSL_CTX_use_certificate(to, SSL_CTX_get0_certificate(from)) == 1
        && SSL_CTX_get0_chain_certs(from, &chain) == 1
        && (!chain || SSL_CTX_set1_chain(to, chain) == 1)
        && SSL_CTX_use_PrivateKey(to, SSL_CTX_get0_privatekey(from)) == 1;
}

static inline void enroute_OPENSSL_free(void *memory) { OPENSSL_free(memory); }

static inline void enroute_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void enroute_BIO_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }

#endif
