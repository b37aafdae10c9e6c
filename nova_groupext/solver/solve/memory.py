# SPDX-License-Identifier: Apache-2.0
"""Peak memory of a process."""

import re
from typing import Literal

_PEAK = re.compile(r'^VmHWM:\s+(\d+) kB', re.MULTILINE)


def peak_mib(pid: int | Literal['self'] = 'self') -> int:
    """Return the peak resident memory of a Linux process, in MiB.

    Unlike ru_maxrss, it excludes the process from which this one was forked.

    :returns: 0 if the process is gone
    """
    try:
        with open(f'/proc/{pid}/status') as file:
            match = _PEAK.search(file.read())
    except OSError:
        return 0
    return int(match[1]) // 1024 if match else 0
