#include "http/h2_session.h"
#include "http/h2_stream.h"
int h2_session_new(enum h2_role a0, const struct h2_events *a1, void *user, struct h2_session **ret) { (void)a0; (void)a1; (void)user; (void)ret; return 0; }
void h2_session_free(struct h2_session *a0) { (void)a0; }
int h2_session_feed(struct h2_session *a0, struct slice in) { (void)a0; (void)in; return 0; }
int h2_session_pull(struct h2_session *a0, struct buf *out) { (void)a0; (void)out; return 0; }
bool h2_session_wants_out(const struct h2_session *a0) { (void)a0; return 0; }
bool h2_session_over(const struct h2_session *a0) { (void)a0; return 0; }
void h2_session_goaway(struct h2_session *a0) { (void)a0; }
unsigned h2_session_streams(const struct h2_session *a0) { (void)a0; return 0; }
bool h2_session_takes(const struct h2_session *a0) { (void)a0; return 0; }
bool h2_session_in_head(const struct h2_session *a0) { (void)a0; return 0; }
int h2_session_request(struct h2_session *a0, const struct msg *head, bool end, void *owner, struct h2_stream **ret) { (void)a0; (void)head; (void)end; (void)owner; (void)ret; return 0; }
int h2_stream_respond(struct h2_stream *a0, const struct msg *head, bool end) { (void)a0; (void)head; (void)end; return 0; }
size_t h2_stream_room(const struct h2_stream *a0) { (void)a0; return 0; }
int h2_stream_write(struct h2_stream *a0, struct slice a1) { (void)a0; (void)a1; return 0; }
int h2_stream_finish(struct h2_stream *a0, const struct msg *trailers) { (void)a0; (void)trailers; return 0; }
bool h2_stream_sent(const struct h2_stream *a0) { (void)a0; return 0; }
void h2_stream_reset(struct h2_stream *a0, uint32_t code) { (void)a0; (void)code; }
void h2_stream_forget(struct h2_stream *a0) { (void)a0; }
void h2_stream_own(struct h2_stream *a0, void *owner) { (void)a0; (void)owner; }
void *h2_stream_owner(const struct h2_stream *a0) { (void)a0; return 0; }
const struct msg *h2_stream_head(struct h2_stream *a0) { (void)a0; return 0; }
void h2_stream_head_take(struct h2_stream *a0) { (void)a0; }
struct slice h2_stream_readable(const struct h2_stream *a0) { (void)a0; return (struct slice){0}; }
void h2_stream_consume(struct h2_stream *a0, size_t n) { (void)a0; (void)n; }
bool h2_stream_ended(const struct h2_stream *a0) { (void)a0; return 0; }
const struct msg *h2_stream_trailers(const struct h2_stream *a0) { (void)a0; return 0; }
bool h2_stream_is_reset(const struct h2_stream *a0, uint32_t *ret_code) { (void)a0; (void)ret_code; return 0; }
