/* SPDX-License-Identifier: Apache-2.0 */
/* memfd_seal.c – a memfd can be sealed, so that a document that was handed over stays as it is. */
#include <fcntl.h>
#include <sys/mman.h>

#include "probe.h"

int main(void)
{
	int fd;

	probe_begin("memfd_seal");
	fd = memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	probe_need(fd >= 0, "memfd_create");
	probe_need(write(fd, "x", 1) == 1, "writing to it");
	probe_need(fcntl(fd, F_ADD_SEALS,
			   F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0,
		"sealing it");
	if (write(fd, "x", 1) == 1)
		probe_missing("the seal does not hold");
	probe_ok();
}
