# SPDX-License-Identifier: Apache-2.0
"""Dry run: plan a group without holds, then delete it."""


def plan_only(deployment, **attributes):
    """Plan a group without holds, delete it, and return its plan.

    :param deployment: Deployment
    :param attributes: attributes of the group, besides its topology
    :returns: VrtGroup, PLANNED
    :raises: NotPlanned, Changed, HttpException
    """
    try:
        deployment.describe(hold=False, **attributes)
        return deployment.group
    finally:
        deployment.delete_group()


def table(group):
    """Return columns and rows: the planned domains of each member.

    Members in the same domain show the same id; zones have names.
    """
    domains_by_path = {m['path']: m['domains'] or {} for m in group.members}
    levels = list(
        dict.fromkeys(
            level for domains in domains_by_path.values() for level in domains
        )
    )
    rows = [
        (path, bool(domains), *(domains.get(level, '') for level in levels))
        for path, domains in domains_by_path.items()
    ]
    return ('Member', 'Fits', *(level.title() for level in levels)), rows
