# SPDX-License-Identifier: Apache-2.0
"""Dry run: plan a group without holds, then delete it."""

import typing

from nova_groupext_client import api_types
from nova_groupext_client.deploy import deployment


class Table(typing.NamedTuple):
    """A table for cliff."""

    columns: tuple[str, ...]
    rows: list[tuple[str | bool, ...]]


def plan_only(
    planned: deployment.Deployment, **attributes: api_types.Json
) -> api_types.Group:
    """Plan a group without holds, delete it, and return its plan.

    :param attributes: attributes of the group, besides its topology
    :raises: NotPlanned, TopologyChanged, HttpException
    """
    try:
        return planned.describe(hold=False, **attributes)
    finally:
        planned.delete_group()


def table(group: api_types.Group) -> Table:
    """Return the planned domains of each member.

    Members in the same domain show the same id; zones have names.
    """
    domains_by_path = {m['path']: m['domains'] for m in group.members}
    levels = list(
        dict.fromkeys(
            level for domains in domains_by_path.values() for level in domains
        )
    )
    rows: list[tuple[str | bool, ...]] = [
        (path, bool(domains), *(domains.get(level, '') for level in levels))
        for path, domains in domains_by_path.items()
    ]
    columns = ('Member', 'Fits', *(level.title() for level in levels))
    return Table(columns, rows)
