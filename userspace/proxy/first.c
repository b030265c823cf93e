/* SPDX-License-Identifier: Apache-2.0 */
/* first.c – see first.h. */
#include <errno.h>

#include "proxy/first.h"

int first_read(struct slice in, struct first *ret)
{
	struct hello hello;
	struct first f = {0};
	int r;

	if (in.n == 0 || sniff(in, &f.kind) == 0)
		return 0;
	if (f.kind == SNIFF_TLS) {
		r = sniff_client_hello(in, &hello);
		if (r <= 0)
			return r;
		f.has_name = hello.has_sni;
		if (f.has_name && host_canon(slice_of(hello.sni, hello.sni_n), &f.name) < 0)
			return -EINVAL;
	}
	*ret = f;
	return 1;
}

const char *first_mismatch(const struct first *f, const struct host *to)
{
	if (f->kind == SNIFF_SSLV2)
		return "SSLv2 hello";
	if (f->kind != SNIFF_TLS)
		return NULL;
	if (!f->has_name)
		return "the TLS client does not say which server it means";
	return host_same(&f->name, to) ? NULL
				       : "the TLS client means another server than the tunnel's";
}
