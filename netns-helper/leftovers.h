/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leftovers.h – the cgroup programs of a helper that was killed: they stay on the cgroups of its
 * sandboxes, and the pinned map `sandboxes` says which those are.
 */
#ifndef SALLYPORT_NETNS_HELPER_LEFTOVERS_H
#define SALLYPORT_NETNS_HELPER_LEFTOVERS_H

struct fault;

/*
 * Detaches them; to be called while the pins are still there. `pins` is their directory. What cannot be found or
 * detached stays, and refuses: nothing tells it of a sandbox any more.
 */
void leftovers_detach(int pins);

/*
 * Of one cgroup, without pins (a bpffs can go with the mount namespace in which it was mounted): detaches programs of
 * ours whose helper is gone with all that it held. 0, or -EBUSY with the fault set: those of a helper that is there still.
 * Of our own process there are none when this is asked: a cgroup is attached once.
 */
int leftovers_clear(int cgroup, struct fault *f);

#endif
