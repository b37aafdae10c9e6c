# SPDX-License-Identifier: Apache-2.0
"""Type of the option ``[vrt]topology_levels``."""

import re

from oslo_config import types

HOST, ZONE = 'host', 'zone'

_ITEM = re.compile(r'[A-Za-z][\w.-]*:\S+')


class TopologyLevels(types.List):
    """List of ``level:key`` that names each level once and no built-in one."""

    def __call__(self, value):
        items = super().__call__(value)
        for item in items:
            if not _ITEM.fullmatch(item):
                raise ValueError(f'"{item}" is not of the form level:key.')
        names = [name_of(item) for item in items]
        for name in names:
            if name in (HOST, ZONE):
                raise ValueError(
                    f'"{name}" is always a level. Remove it from the list.'
                )
            if names.count(name) > 1:
                raise ValueError(
                    f'The level "{name}" is listed {names.count(name)} times. '
                    f'List it once.'
                )
        return items


def name_of(item):
    """Return the name of the level in an item ``level:key``."""
    return item.partition(':')[0]
