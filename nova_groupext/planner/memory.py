# SPDX-License-Identifier: Apache-2.0
"""How much memory a process has held."""

import re

_PEAK = re.compile(r'^VmHWM:\s+(\d+) kB', re.MULTILINE)


def peak_mib(pid='self'):
    """The most memory a process of Linux has held so far, in MiB.

    Unlike ru_maxrss this has nothing of the process it was forked from.

    :returns: 0 if it is gone
    """
    try:
        with open(f'/proc/{pid}/status') as file:
            found = _PEAK.search(file.read())
    except OSError:
        return 0
    return int(found[1]) // 1024 if found else 0
