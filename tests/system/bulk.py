# SPDX-License-Identifier: Apache-2.0
"""bulk.py MIB - so much to standard output, in which every KiB is another: what is lost, doubled or moved shows in its hash."""
import hashlib
import random
import sys

MIB = 1 << 20
_RANDOM = random.Random(5).randbytes(MIB - 8)


def blocks(mib):
    for number in range(mib):
        yield number.to_bytes(8, "big") + _RANDOM


def digest(mib):
    found = hashlib.sha256()
    for block in blocks(mib):
        found.update(block)
    return found.hexdigest()


if __name__ == "__main__":
    for piece in blocks(int(sys.argv[1])):
        sys.stdout.buffer.write(piece)
