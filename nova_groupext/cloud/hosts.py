# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the compute hosts of the try-out cloud."""

import dataclasses

RACKS_PER_ZONE = 2


@dataclasses.dataclass(frozen=True)
class Host:
    """Location and capacity of one compute host.

    Allocation ratios are 1.0 and nothing is reserved: all capacity is usable.

    :ivar name: name of the compute host and of its resource provider
    :ivar rack: value of the host aggregate metadata key ``rack``
    :ivar zone: availability zone
    """

    name: str
    rack: str = 'r1'
    zone: str = 'az1'
    vcpus: int = 16
    ram_mb: int = 32768
    disk_gb: int = 500


def evenly(count=12, racks=4):
    """Return ``count`` equal hosts, spread evenly over ``racks`` racks.

    Consecutive hosts share a rack and each two racks a zone: twelve hosts are
    ``cmp-1`` to ``cmp-12`` in ``r1`` to ``r4``, ``az1`` and ``az2``.
    """
    return [_numbered(i, i * racks // count) for i in range(count)]


def _numbered(index, rack):
    zone = rack // RACKS_PER_ZONE
    return Host(f'cmp-{index + 1}', f'r{rack + 1}', f'az{zone + 1}')
