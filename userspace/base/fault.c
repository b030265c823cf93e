/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c – see fault.h. */
#include <stdarg.h>
#include <stdio.h>

#include "base/fault.h"

int fault_set(struct fault *f, int r, const char *format, ...)
{
	va_list ap;

	if (!f || f->text[0])
		return r;
	va_start(ap, format);
	if (vsnprintf(f->text, sizeof(f->text), format, ap) < 0)
		f->text[0] = '\0';
	va_end(ap);
	for (char *c = f->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return r;
}
