# SPDX-License-Identifier: Apache-2.0
"""Process names that no later process of the same machine gets.

A pid alone is reused. In another pid namespace, as in containers, it is
another process, of which this one cannot check whether it still runs.
"""

import os
import pathlib

_PROC = pathlib.Path('/proc')
_BOOT = _PROC / 'sys/kernel/random/boot_id'


def own():
    """Return the name of this process."""
    return '/'.join(
        (_boot(), _namespace(), f'{os.getpid()}', _start_time('self'))
    )


def is_gone(name):
    """Check whether a process of this machine has certainly ended.

    :param name: what own() has returned there
    """
    boot, namespace, pid, began = name.split('/')
    if boot != _boot():
        return True
    return namespace == _namespace() and began != _start_time(pid)


def pid_of(name):
    return int(name.split('/')[2])


def _boot():
    return _BOOT.read_text().strip()


def _namespace():
    return (_PROC / 'self/ns/pid').readlink().name


def _start_time(pid):
    """Return when a process began, in ticks since boot; '' if it is gone.

    In proc(5) this is field 22; the second field may contain anything.
    """
    try:
        stat = (_PROC / pid / 'stat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ''
    state, *fields = stat.rpartition(')')[2].split()
    # A zombie counts as gone.
    return '' if state in 'ZX' else fields[18]
