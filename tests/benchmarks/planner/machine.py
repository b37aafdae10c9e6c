# SPDX-License-Identifier: Apache-2.0
"""What the figures were measured on."""

from importlib import metadata
import os
import pathlib
import platform

_CPUS = pathlib.Path('/proc/cpuinfo')


def describe():
    """One line."""
    versions = ', '.join(
        f'{name} {metadata.version(name)}' for name in ('highspy', 'numpy')
    )
    return (
        f'{cores()} cores of {_model()}, {platform.system()} '
        f'{platform.machine()}, Python {platform.python_version()}, {versions}'
    )


def cores():
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def _model():
    if _CPUS.exists():
        for line in _CPUS.read_text().splitlines():
            key, _, value = line.partition(':')
            if key.strip() == 'model name':
                return value.strip()
    return platform.processor() or 'an unknown model'
