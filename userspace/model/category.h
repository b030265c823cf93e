/* SPDX-License-Identifier: Apache-2.0 */
/*
 * category.h – the closed list of reasons for which something is refused, as users, logs and maps see them.
 * One row: enum, wire name, HTTP status of the answer, severity in the audit, what to do about it (the hint).
 */
#ifndef SALLYPORT_CATEGORY_H
#define SALLYPORT_CATEGORY_H

#define CATEGORIES(X)                                                                              \
	X(NONE, "none", 200, "")                                                                   \
	X(HOST_DENIED, "host-denied", 403,                                                         \
		"ask the operator to allow this host in the sandbox's policy")                     \
	X(METHOD_DENIED, "method-denied", 403,                                                     \
		"the policy allows this host, but not with this method")                           \
	X(PATH_DENIED, "path-denied", 403, "the policy allows this host, but not this path")       \
	X(PROTOCOL_DENIED, "protocol-denied", 403, "only HTTP and TLS pass here")                  \
	X(PRIVATE_ADDRESS, "private-address", 403,                                                 \
		"the address is not public; the policy must open it under private:")               \
	X(METADATA_ADDRESS, "metadata-address", 403,                                               \
		"cloud metadata is not reachable from a sandbox")                                  \
	X(HOST_MISMATCH, "host-mismatch", 403,                                                     \
		"Host must be the name that the connection was made for")                          \
	X(BAD_REQUEST, "bad-request", 400, "the request is malformed and was not forwarded")       \
	X(ASK_PENDING, "ask-pending", 403, "somebody has been asked; try again later")             \
	X(ASK_DENIED, "ask-denied", 403, "somebody said no")                                       \
	X(ASK_TIMEOUT, "ask-timeout", 403, "nobody answered; try again later")                     \
	X(CREDENTIAL_UNAVAILABLE, "credential-unavailable", 503,                                   \
		"the credential's source has no value now; nothing was sent")                      \
	X(CREDENTIAL_PAUSED, "credential-paused", 403,                                             \
		"the credential is paused; nothing was sent")                                      \
	X(LIMIT, "limit", 429, "too many at once; try again later")                                \
	X(DNS_FAILURE, "dns-failure", 502, "the name does not resolve")                            \
	X(DNS_TIMEOUT, "dns-timeout", 504, "the resolver did not answer in time")                  \
	X(UPSTREAM_CONNECT, "upstream-connect", 502, "the server could not be reached")            \
	X(UPSTREAM_TLS, "upstream-tls", 502, "the server's certificate or TLS was not acceptable") \
	X(UPSTREAM_TIMEOUT, "upstream-timeout", 504, "the server did not answer in time")          \
	X(UNSCRUBBABLE, "unscrubbable", 502, "the response cannot be searched for credentials")    \
	X(NOT_ATTACHED, "not-attached", 403, "this network namespace is not attached")

enum category {
#define X(name, wire, status, hint) CATEGORY_##name,
	CATEGORIES(X)
#undef X
		CATEGORY_COUNT
};

/* The wire name, "none" to "not-attached". */
const char *category_name(enum category c);
/* The HTTP status of a refusal in this category. */
unsigned category_status(enum category c);
/* One sentence: what to do about it. */
const char *category_hint(enum category c);

#endif
