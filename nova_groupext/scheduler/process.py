# SPDX-License-Identifier: Apache-2.0
"""Names of processes that no later process of the machine ever has.

A pid alone is used again. In another namespace of pids, as containers have
them, it is another process; whether that still runs cannot be told from here.
"""

import os
import pathlib

_PROC = pathlib.Path('/proc')
_BOOT = _PROC / 'sys/kernel/random/boot_id'


def own():
    """Return the name of this process."""
    return '/'.join((_boot(), _namespace(), f'{os.getpid()}', _began('self')))


def is_gone(name):
    """Check whether a process of this machine has certainly ended.

    :param name: what own() has returned there
    """
    boot, namespace, pid, began = name.split('/')
    if boot != _boot():
        return True
    return namespace == _namespace() and began != _began(pid)


def pid_of(name):
    return int(name.split('/')[2])


def _boot():
    return _BOOT.read_text().strip()


def _namespace():
    return (_PROC / 'self/ns/pid').readlink().name


def _began(pid):
    """Return when a process began, in ticks since boot; '' if it is gone.

    See proc(5): field 22, and the second one may contain anything.
    """
    try:
        stat = (_PROC / pid / 'stat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ''
    state, *fields = stat.rpartition(')')[2].split()
    # A zombie does nothing any more.
    return '' if state in 'ZX' else fields[18]
