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
class Seat:
    """VCPU of a host that are held for a member or used by its server."""

    name: str
    vcpus: int
    is_held: bool

    def __str__(self):
        return f'{self.name}*' if self.is_held else self.name


def draw(hosts, usages, seats):
    """Return the lines of the drawing.

    :param hosts: the cloud's hosts, sorted by zone and rack; the racks of a
        zone are drawn side by side
    :param usages: {host name: ledger.Usage}
    :param seats: {host name: [Seat]}
    """
    zones = [
        _zone(name, list(members), usages, seats)
        for name, members in itertools.groupby(hosts, lambda h: h.zone)
    ]
    return [' '.join(parts) for parts in zip(*zones, strict=True)]


def _zone(name, hosts, usages, seats):
    racks = [
        _rack(rack, list(members), usages, seats)
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


def _rack(rack, hosts, usages, seats):
    lines = [f'rack {rack}']
    for host in hosts:
        lines += _host(host.name, usages[host.name], seats.get(host.name, []))
    return [line.ljust(CELL) for line in lines]


def _host(name, usage, seats):
    ours = ''.join(
        (HELD if seat.is_held else SERVER) * seat.vcpus for seat in seats
    )
    others = OTHERS * (usage.total - usage.free - len(ours))
    free = f'{usage.free} free'
    return [
        f'{name}{free.rjust(usage.total - len(name))}',
        others + ours + FREE * usage.free,
        ' '.join(map(str, seats)),
    ]
