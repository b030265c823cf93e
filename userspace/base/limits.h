/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h – every number that has a unit, in one place. Nothing else. */
#ifndef SALLYPORT_LIMITS_H
#define SALLYPORT_LIMITS_H

enum {
	/* sizes, bytes */
	LIMIT_HEAD = 65536, /* an HTTP head, RFC 9112 section 3 lets us choose */
	LIMIT_FIELDS = 128, /* fields of one head */
	LIMIT_NAME = 253, /* a DNS name as text, RFC 1035 section 2.3.4 */
	LIMIT_HELLO = 65536, /* a ClientHello over all its records */
	LIMIT_DOCUMENT = 1 << 20, /* a policy, a credentials document, a configuration */
	LIMIT_DOCUMENT_DEPTH = 16, /* nesting of those */
	LIMIT_SECRET = 16384, /* one credential value */
	LIMIT_SECRET_WEAK = 16, /* shorter than this needs weak: true */
	LIMIT_RX = 65536, /* received and not consumed, one leg */
	LIMIT_TX = 65536, /* produced and not sent, one leg */
	LIMIT_RECV_CHUNK = 4096, /* one provided buffer */
	LIMIT_CONTROL_HEAD = 8192, /* a request to the control socket */
	LIMIT_H2_BODY = 65536, /* received and not consumed, or written and not sent, one stream */
	LIMIT_H2_WINDOW =
		100 *
		65536, /* the same, all streams of one session: none waits for others to be read */
	LIMIT_H2_LEAST =
		8192, /* of what a session may hold to send, for each stream whatever the others do */
	LIMIT_H2_LIBRARY = 4 << 20, /* the library's memory of one session */
	LIMIT_PATH_PATTERN = 512, /* a pattern of paths, of a rule */

	/* counts */
	LIMIT_RECV_CHUNKS = 512, /* provided buffers of one worker, a power of two */
	LIMIT_WORKERS = 64,
	LIMIT_SLOTS = 16, /* listeners of a sandbox, of one series */
	LIMIT_SANDBOXES = 1024,
	LIMIT_CONNECTIONS = 1024, /* of one sandbox, unless its policy says otherwise */
	LIMIT_CONNECTIONS_MOST = 1000000, /* the largest number that a policy may say */
	LIMIT_PATHS = 256, /* patterns in one list of paths */
	LIMIT_LEAVES = 1024, /* minted leaves kept, oldest out */
	LIMIT_LOOKUPS = 256, /* DNS lookups at once */
	LIMIT_LOOKUPS_SANDBOX = 16, /* of these, for one sandbox while others wait */
	LIMIT_LOOKUPS_ALONE =
		128, /* of these, for one sandbox while nobody waits: others find room at once */
	LIMIT_LOOKUPS_SEAT = 256, /* asked and not answered, of one sandbox on one worker */
	LIMIT_ADDRESSES = 8, /* candidates of one name */
	LIMIT_POOL_IDLE = 64, /* idle upstream connections of one worker */
	LIMIT_SANDBOX_ID = 63, /* characters of a sandbox's id */
	LIMIT_EXCHANGES = 1024, /* of one sandbox on one worker, those of HTTP/2 */
	LIMIT_H2_STREAMS =
		100, /* at once in one session, RFC 9113 section 6.5.2 recommends no fewer */
	LIMIT_H2_HEADS = 8, /* of one stream, come and not taken: interim responses */
	LIMIT_H2_CONTINUATIONS = 16, /* frames that one field block is continued in */
	LIMIT_H2_SETTINGS = 32, /* entries of one SETTINGS frame */
	LIMIT_H2_ACKS = 64, /* answers to SETTINGS and PING that the peer does not read */

	/* times, milliseconds */
	TIME_SNIFF = 10000, /* silence before the first bytes */
	TIME_FIRST =
		50, /* the same where raw bytes may pass: time for a hello, before the server is heard */
	TIME_FIRST_PROXY =
		1000, /* the same at the ports of proxies: their clients always speak first, however slow */
	TIME_CLOSED =
		50, /* the same where nothing can be allowed: time for a hello that is to be refused in words */
	TIME_HANDSHAKE = 15000, /* a TLS handshake, either side */
	TIME_REQUEST_HEAD = 10000, /* from the first byte of a head to its last */
	TIME_RESPONSE_HEAD =
		900000, /* from the request's last byte to the response head: long polls, models that think */
	TIME_IDLE = 120000, /* keep-alive between requests */
	TIME_RELAX = 2000, /* idle for so long, a connection gives its buffers back */
	TIME_UPLOAD = 60000, /* no byte of a request body moved, or of what we still have to send */
	TIME_BODY =
		900000, /* no byte of a response body moved: event streams are silent for long */
	TIME_TUNNEL_HALF = 900000, /* no byte of a half-closed tunnel moved */
	TIME_POOL_IDLE = 20000, /* an upstream connection unused */
	TIME_CONNECT = 15000,
	TIME_DNS = 5000, /* a lookup as a whole */
	TIME_DNS_TRY = 700, /* one try of it */
	TIME_LINGER =
		1000, /* reading on after our last byte, so that a refusal is not lost to a reset */
	TIME_LIMIT_TOLD = 1000, /* between records of connections over a limit, of one sandbox */
	TIME_TAKE_OVER = 30000, /* a daemon's time to take over from another */
	TIME_SOURCE_CHECK = 1000, /* between looks at credential files */
	TIME_SELFTEST = 2000, /* the self-test of one sandbox, by the helper */
	TIME_SELFTEST_KNOCK = 1000, /* one attempt of it, whole seconds */
	TIME_SELFTEST_REAP = 10, /* between looks at a process of it that was killed */
	TIME_SELFTEST_EVERY = 10000, /* between two of one sandbox */
	TIME_SELFTEST_AGAIN = 1000, /* the same while it is degraded */
	TIME_SELFTEST_GAP = 50, /* between the beginnings of any two */

	/* times, seconds */
	KEEP_ALIVE_IDLE =
		60, /* silence of a tunnel's upstream before TCP asks whether it is there */
	KEEP_ALIVE_EVERY = 15, /* between two questions */

	/* counts again */
	KEEP_ALIVE_TRIES = 4, /* questions without an answer, and it is gone */
};

#endif
