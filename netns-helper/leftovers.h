/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leftovers.h – the cgroup programs of a helper that was killed: they stay on the cgroups of its
 * sandboxes, and the pinned map `sandboxes` says which those are.
 */
#ifndef SALLYPORT_NETNS_HELPER_LEFTOVERS_H
#define SALLYPORT_NETNS_HELPER_LEFTOVERS_H

/*
 * Detaches them; to be called while the pins are still there. `pins` is their directory. What cannot be found or
 * detached stays, and refuses: nothing tells it of a sandbox any more.
 */
void leftovers_detach(int pins);

#endif
