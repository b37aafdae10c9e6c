# SPDX-License-Identifier: Apache-2.0
"""Text drawing of a cloud: its zones side by side, with racks and hosts.

Each host has a bar with one character per VCPU. The names of its members are
below the bar; a star marks the held ones.
"""

import dataclasses
import itertools

CELL = 20
OTHERS, SERVER, HELD, FREE = '░', '■', '□', '·'
COLOURS = {OTHERS: 'dim', SERVER: 'green', HELD: 'yellow'}
LEGEND = (
    f"{OTHERS} other people's   {HELD} held (name*)   {SERVER} server (name)"
    f'   {FREE} free'
)


@dataclasses.dataclass(frozen=True)
class UsedCapacity:
    """VCPU of a host that are held for a member or used by its server."""

    name: str
    vcpus: int
    is_held: bool

    def __str__(self):
        return f'{self.name}*' if self.is_held else self.name


def draw(hosts, usages, capacities):
    """Return the lines of the drawing.

    :param hosts: the cloud's hosts, sorted by zone and rack; the racks of a
        zone are drawn side by side
    :param usages: {host name: placement_client.Usage}
    :param capacities: {host name: [UsedCapacity]}
    """
    zones = [
        _zone(name, list(members), usages, capacities)
        for name, members in itertools.groupby(hosts, lambda h: h.zone)
    ]
    return [' '.join(parts) for parts in zip(*zones, strict=True)]


def _zone(name, hosts, usages, capacities):
    racks = [
        _rack(rack, list(members), usages, capacities)
        for rack, members in itertools.groupby(hosts, lambda h: h.rack)
    ]
    inner = [f'│ {"  ".join(p)} │' for p in zip(*racks, strict=True)]
    width = len(inner[0])
    top = f'┌ zone {name} '
    return [
        top + '─' * (width - len(top) - 1) + '┐',
        *inner,
        '└' + '─' * (width - 2) + '┘',
    ]


def _rack(rack, hosts, usages, capacities):
    lines = [f'rack {rack}']
    for host in hosts:
        lines += _host(
            host.name, usages[host.name], capacities.get(host.name, [])
        )
    return [line.ljust(CELL) for line in lines]


def _host(name, usage, capacities):
    ours = ''.join(
        (HELD if capacity.is_held else SERVER) * capacity.vcpus
        for capacity in capacities
    )
    others = OTHERS * (usage.total - usage.free - len(ours))
    free = f'{usage.free} free'
    return [
        f'{name}{free.rjust(usage.total - len(name))}',
        others + ours + FREE * usage.free,
        ' '.join(map(str, capacities)),
    ]
