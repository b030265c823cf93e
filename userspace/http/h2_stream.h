#ifndef SALLYPORT_H2_STREAM_H
#define SALLYPORT_H2_STREAM_H
#include "http/h2_session.h"
int h2_stream_respond(struct h2_stream *, const struct msg *head, bool end);
size_t h2_stream_room(const struct h2_stream *);
int h2_stream_write(struct h2_stream *, struct slice);
int h2_stream_finish(struct h2_stream *, const struct msg *trailers);
bool h2_stream_sent(const struct h2_stream *);
void h2_stream_reset(struct h2_stream *, uint32_t code);
void h2_stream_forget(struct h2_stream *);
void h2_stream_own(struct h2_stream *, void *owner);
void *h2_stream_owner(const struct h2_stream *);
const struct msg *h2_stream_head(struct h2_stream *);
void h2_stream_head_take(struct h2_stream *);
struct slice h2_stream_readable(const struct h2_stream *);
void h2_stream_consume(struct h2_stream *, size_t n);
bool h2_stream_ended(const struct h2_stream *);
const struct msg *h2_stream_trailers(const struct h2_stream *);
bool h2_stream_is_reset(const struct h2_stream *, uint32_t *ret_code);
#endif
