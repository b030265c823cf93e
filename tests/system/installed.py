# SPDX-License-Identifier: Apache-2.0
"""The programs of real clients. scripts/setup --tests installs them: one that is missing is a failure, and no skip."""
import shutil

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def need(*programs):
    absent = [program for program in programs if not shutil.which(program, path=PATH)]
    assert not absent, f"not installed: {', '.join(absent)}: run scripts/setup --tests"
