# SPDX-License-Identifier: Apache-2.0
"""The machines of the try-out cloud, as its user describes them."""

import dataclasses

RACKS_PER_ZONE = 2


@dataclasses.dataclass(frozen=True)
class Host:
    """One machine: where it stands and how large it is.

    ``name`` is the compute host's and the resource provider's name, ``rack``
    the value of the host aggregate metadata key ``rack``, ``zone`` the
    availability zone. Allocation ratios are 1.0 and nothing is reserved, so
    the sizes are what can be used.
    """

    name: str
    rack: str = 'r1'
    zone: str = 'az1'
    vcpus: int = 16
    ram_mb: int = 32768
    disk_gb: int = 500


def evenly(count=12, racks=4):
    """Describe ``count`` equal hosts, spread evenly over ``racks`` racks.

    Neighbours share a rack; two racks make a zone: twelve hosts are
    ``cmp-1`` to ``cmp-12`` in ``r1`` to ``r4``, ``az1`` and ``az2``.
    """
    return [_numbered(i, i * racks // count) for i in range(count)]


def _numbered(index, rack):
    zone = rack // RACKS_PER_ZONE
    return Host(f'cmp-{index + 1}', f'r{rack + 1}', f'az{zone + 1}')
