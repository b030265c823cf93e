/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.c – numbers of alerts and of verification errors as the names that their standards give
 * them, so that an audit line says the same thing with every version of OpenSSL.
 */
#include "base/cleanup.h"
#include "tls/tls_internal.h"

struct reason {
	int code;
	const char *name;
};

/* RFC 8446 section 6 and the IANA registry "TLS Alerts" */
static const struct reason reason_alerts[] = {
	{0, "close_notify"},
	{10, "unexpected_message"},
	{20, "bad_record_mac"},
	{21, "decryption_failed"},
	{22, "record_overflow"},
	{30, "decompression_failure"},
	{40, "handshake_failure"},
	{41, "no_certificate"},
	{42, "bad_certificate"},
	{43, "unsupported_certificate"},
	{44, "certificate_revoked"},
	{45, "certificate_expired"},
	{46, "certificate_unknown"},
	{47, "illegal_parameter"},
	{48, "unknown_ca"},
	{49, "access_denied"},
	{50, "decode_error"},
	{51, "decrypt_error"},
	{70, "protocol_version"},
	{71, "insufficient_security"},
	{80, "internal_error"},
	{86, "inappropriate_fallback"},
	{90, "user_canceled"},
	{100, "no_renegotiation"},
	{109, "missing_extension"},
	{110, "unsupported_extension"},
	{111, "certificate_unobtainable"},
	{112, "unrecognized_name"},
	{113, "bad_certificate_status_response"},
	{114, "bad_certificate_hash_value"},
	{115, "unknown_psk_identity"},
	{116, "certificate_required"},
	{120, "no_application_protocol"},
	{121, "ech_required"},
};

#define ROW(code)                                                                                  \
	{                                                                                          \
		code, #code                                                                        \
	}
static const struct reason reason_verify[] = {
	ROW(X509_V_ERR_UNSPECIFIED),
	ROW(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT),
	ROW(X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE),
	ROW(X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY),
	ROW(X509_V_ERR_CERT_SIGNATURE_FAILURE),
	ROW(X509_V_ERR_CERT_NOT_YET_VALID),
	ROW(X509_V_ERR_CERT_HAS_EXPIRED),
	ROW(X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD),
	ROW(X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD),
	ROW(X509_V_ERR_OUT_OF_MEM),
	ROW(X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT),
	ROW(X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN),
	ROW(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY),
	ROW(X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE),
	ROW(X509_V_ERR_CERT_CHAIN_TOO_LONG),
	ROW(X509_V_ERR_CERT_REVOKED),
	ROW(X509_V_ERR_NO_ISSUER_PUBLIC_KEY),
	ROW(X509_V_ERR_PATH_LENGTH_EXCEEDED),
	ROW(X509_V_ERR_INVALID_PURPOSE),
	ROW(X509_V_ERR_CERT_UNTRUSTED),
	ROW(X509_V_ERR_CERT_REJECTED),
	ROW(X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION),
	ROW(X509_V_ERR_INVALID_NON_CA),
	ROW(X509_V_ERR_INVALID_EXTENSION),
	ROW(X509_V_ERR_INVALID_CA),
	ROW(X509_V_ERR_PERMITTED_VIOLATION),
	ROW(X509_V_ERR_EXCLUDED_VIOLATION),
	ROW(X509_V_ERR_SUBTREE_MINMAX),
	ROW(X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE),
	ROW(X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX),
	ROW(X509_V_ERR_UNSUPPORTED_NAME_SYNTAX),
	ROW(X509_V_ERR_HOSTNAME_MISMATCH),
	ROW(X509_V_ERR_IP_ADDRESS_MISMATCH),
	ROW(X509_V_ERR_INVALID_CALL),
	ROW(X509_V_ERR_STORE_LOOKUP),
	ROW(X509_V_ERR_EE_KEY_TOO_SMALL),
	ROW(X509_V_ERR_CA_KEY_TOO_SMALL),
	ROW(X509_V_ERR_CA_MD_TOO_WEAK),
	ROW(X509_V_ERR_EC_KEY_EXPLICIT_PARAMS),
	ROW(X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH),
	ROW(X509_V_ERR_UNSUPPORTED_SIGNATURE_ALGORITHM),
};

static const char *reason_find(
	const struct reason *rows, size_t n, long code, const char *otherwise)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].code == code)
			return rows[i].name;
	return otherwise;
}

const char *tls_reason_alert(int alert)
{
	return reason_find(reason_alerts, ARRAY_SIZE(reason_alerts), alert, "unknown_alert");
}

const char *tls_reason_verify(long code)
{
	return reason_find(
		reason_verify, ARRAY_SIZE(reason_verify), code, "X509_V_ERR_UNSPECIFIED");
}
