# SPDX-License-Identifier: Apache-2.0
"""memory.py - what is used, of the kinds that a sandbox can use, and where it went.

Kernel   unreclaimable slabs (with it all large kmalloc()s), the slabs of sockets, inodes and dentries (reclaimable in
         name: they stay while their objects do), per-processor memory, vmalloc, kernel stacks
Shmem    files on tmpfs and memfds: state records, handed out certificates, policies
User     anonymous memory and page tables of the processes
MemAvailable is not used: every page that somebody else touches moves it. What is used here moves as well when others
make sockets or namespaces; hence differences over many sandboxes.
"""
import time

KERNEL = ("SUnreclaim", "Percpu", "VmallocUsed", "KernelStack")
LASTING = ("sock_inode_cache", "shmem_inode_cache", "inode_cache", "dentry", "kernfs_node_cache", "bdev_cache")
CLOSE, SETTLE_SECONDS = 256, 6.0  # KiB, and how long to wait for that at most
PAGE = 4


def _table(path):
    with open(path, encoding="ascii") as file:
        return {line.split(":")[0]: int(line.split()[1]) for line in file if len(line.split()) == 3}


def slabs():
    """{cache: (KiB, objects in use)}"""
    found = {}
    with open("/proc/slabinfo", encoding="ascii") as file:
        for line in list(file)[2:]:
            fields = line.split()
            found[fields[0]] = (int(fields[14]) * int(fields[5]) * PAGE, int(fields[1]))
    return found


def _process(pid):
    total = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        total += sum(int(line.split()[1]) for line in file if line.startswith("Pss_Anon:"))
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return total + sum(int(line.split()[1]) for line in file if line.startswith("VmPTE:"))


class Reading:
    def __init__(self, processes):
        meminfo = _table("/proc/meminfo")
        self.slabs = slabs()
        self.parts = {name: meminfo[name] for name in KERNEL}
        self.parts["lasting slabs"] = sum(self.slabs[name][0] for name in LASTING if name in self.slabs)
        self.parts["Shmem"] = meminfo["Shmem"]
        for name, pid in processes:
            self.parts[name] = _process(pid)
        self.available = meminfo["MemAvailable"]

    @property
    def total(self):
        return sum(self.parts.values())


def settled(processes):
    """A reading that the next one agrees with: freeing goes on behind the system calls."""
    end = time.monotonic() + SETTLE_SECONDS
    last = Reading(processes)
    while True:
        time.sleep(0.3)  # the kernel's own time to free; there is nothing to wait on
        now = Reading(processes)
        if abs(now.total - last.total) < CLOSE or time.monotonic() > end:
            return now
        last = now


def growth(before, after, n):
    """KiB of one sandbox, by part; only what the readings have in common."""
    return {name: (after.parts[name] - before.parts[name]) / n for name in after.parts if name in before.parts}


def objects(before, after, n, least=64):
    """The slab caches that grew: [(bytes of one sandbox, objects of one sandbox, cache)], largest first."""
    grown = []
    for name, (kib, used) in after.slabs.items():
        was, had = before.slabs.get(name, (0, 0))
        if (kib - was) * 1024 / n >= least:
            grown.append(((kib - was) * 1024 / n, (used - had) / n, name))
    return sorted(grown, reverse=True)
