#ifndef SALLYPORT_H2_SESSION_H
#define SALLYPORT_H2_SESSION_H
#include <stdint.h>
#include "base/slice.h"
struct msg; struct buf; struct h2_session; struct h2_stream;
enum h2_role { H2_SERVER, H2_CLIENT };
enum { H2_INTERNAL_ERROR = 2, H2_REFUSED_STREAM = 7, H2_CANCEL = 8, H2_GONE = 0x7fffffff };
struct h2_events { void (*opened)(void *user, struct h2_stream *s); void (*changed)(void *user, struct h2_stream *s); };
int h2_session_new(enum h2_role, const struct h2_events *, void *user, struct h2_session **ret);
void h2_session_free(struct h2_session *);
int h2_session_feed(struct h2_session *, struct slice in);
int h2_session_pull(struct h2_session *, struct buf *out);
bool h2_session_wants_out(const struct h2_session *);
bool h2_session_over(const struct h2_session *);
void h2_session_goaway(struct h2_session *);
unsigned h2_session_streams(const struct h2_session *);
bool h2_session_takes(const struct h2_session *);
bool h2_session_in_head(const struct h2_session *);
int h2_session_request(struct h2_session *, const struct msg *head, bool end, void *owner, struct h2_stream **ret);
#endif
