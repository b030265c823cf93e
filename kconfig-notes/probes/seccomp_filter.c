/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp_filter.c – a filter by libseccomp refuses a system call with an errno of its choice: one that no sanitizer
 * needs for its own end (getppid would have the leak checker wait for ever). */
#include <seccomp.h>
#include <sys/syscall.h>

#include "probe.h"

int main(void)
{
	scmp_filter_ctx filter;
	int r;

	probe_begin("seccomp_filter");
	filter = seccomp_init(SCMP_ACT_ALLOW);
	probe_need(filter, "memory");
	r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EXDEV), SCMP_SYS(getsid), 0);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	errno = -r;
	probe_need(r == 0, "loading a filter");
	if (syscall(SYS_getsid, 0) != -1 || errno != EXDEV)
		probe_missing("the filter does nothing");
	probe_ok();
}
