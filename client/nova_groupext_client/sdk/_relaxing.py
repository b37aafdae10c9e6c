# SPDX-License-Identifier: Apache-2.0
"""Relaxations that the refusal of a group, or of its revision, proposes."""

from openstack import exceptions

from nova_groupext_client import api_types
from nova_groupext_client import relaxed_topology
from nova_groupext_client.sdk import _waiting


def relax(group: api_types.Group, number: int) -> api_types.Topology:
    """Return the topology with a relaxation applied.

    If the group has no refusal, use the one of its revision.

    :param number: number of the entry in ``relaxations``, from 1
    :raises: NotFoundException when there is no such relaxation
    """
    topology, refusal = group.topology, group.refusal
    if refusal is None and group.revision:
        topology = group.revision['topology']
        refusal = group.revision['refusal']
    relaxations = refusal['relaxations'] if refusal else []
    if not 0 < number <= len(relaxations):
        raise exceptions.NotFoundException(
            f'The group {group.name} ({group.id}) has no proposed change '
            f'{number}; the last one is number {len(relaxations)}'
            if relaxations
            else f'{_waiting.status_text(group)}: no changes are proposed'
        )
    return relaxed_topology.apply(topology, relaxations[number - 1]['change'])
