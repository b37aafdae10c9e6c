# SPDX-License-Identifier: Apache-2.0
"""Clouds of some shape and size: hosts, their domains, servers on them.

Everything is drawn from the seed, so that a cloud can be made again.
"""

import collections
import dataclasses
import random
import uuid

#: Share of a host's VCPUs that servers use: each host has one in this range.
FILL = 0.6, 0.8

RACK_SIZE = 32
ZONES = 4


@dataclasses.dataclass(frozen=True)
class Flavor:
    """Amounts of one server: VCPUs, MiB of memory, GiB of disk."""

    name: str
    vcpus: int
    memory: int
    disk: int

    @property
    def amounts(self):
        """Mapping {resource class: amount}."""
        return {
            'VCPU': self.vcpus,
            'MEMORY_MB': self.memory,
            'DISK_GB': self.disk,
        }


def _flavor(vcpus):
    return Flavor(f'm{vcpus}', vcpus, 4096 * vcpus, 10 * vcpus)


FLAVORS = tuple(map(_flavor, (1, 2, 4, 8, 16)))


@dataclasses.dataclass(frozen=True)
class Kind:
    """Hosts that are alike.

    :ivar vcpus: for each of them 4 GiB of memory and 10 GB of disk
    :ivar devices: number of devices, each a child provider
    :ivar traits: names of traits of the root provider
    """

    vcpus: int
    devices: int = 0
    traits: tuple = ()

    @property
    def totals(self):
        """Mapping {resource class: total} of the root provider."""
        return _flavor(self.vcpus).amounts


@dataclasses.dataclass(frozen=True)
class Shape:
    """Distribution of the hosts and servers of a cloud.

    :ivar kinds: of hosts, in turn
    :ivar weights: of FLAVORS, when servers are drawn
    :ivar cells: number of cells, besides cell0
    """

    kinds: tuple
    weights: tuple
    cells: int = 1


SHAPES = {
    'even': Shape((Kind(64),), (1, 2, 4, 2, 1)),
    'dense': Shape((Kind(128),), (8, 4, 2, 1, 0)),
    'mixed': Shape(
        (
            Kind(64),
            Kind(32, traits=('HW_CPU_X86_AVX512F',)),
            Kind(128, devices=4),
        ),
        (1, 2, 4, 2, 1),
        cells=2,
    ),
}


@dataclasses.dataclass(frozen=True)
class Host:
    """A host with the flavors of its servers.

    :ivar cell: number of its cell
    :ivar servers: [(uuid, Flavor)]
    """

    name: str
    uuid: str
    kind: Kind
    cell: int
    rack: str
    zone: str
    servers: list

    @property
    def used(self):
        """Mapping {resource class: amount} that the servers use."""
        used = collections.Counter()
        for _uuid, flavor in self.servers:
            used.update(flavor.amounts)
        return used


def build(shape, size, seed=0):
    """Return the Hosts of a cloud.

    :param shape: Shape
    :param size: number of hosts
    """
    rng = random.Random(f'{size} {seed}')
    return [_host(rng, shape, number) for number in range(size)]


def _host(rng, shape, number):
    kind = shape.kinds[number % len(shape.kinds)]
    rack = number // RACK_SIZE
    return Host(
        name=f'cmp-{number:05}',
        uuid=_uuid(rng),
        kind=kind,
        cell=rack % shape.cells,
        rack=f'r{rack}',
        zone=f'az{rack % ZONES}',
        servers=_servers(rng, shape, kind.vcpus * rng.uniform(*FILL)),
    )


def _servers(rng, shape, vcpus):
    servers, free = [], vcpus
    while True:
        [flavor] = rng.choices(FLAVORS, shape.weights)
        free -= flavor.vcpus
        if free < 0:
            return servers
        servers.append((_uuid(rng), flavor))


def _uuid(rng):
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))
