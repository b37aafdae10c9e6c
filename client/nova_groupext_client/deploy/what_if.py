# SPDX-License-Identifier: Apache-2.0
"""Dry run: plan a group without holds, then delete it."""


def ask(deployment, **attributes):
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
        deployment.forget()


def table(group):
    """Return columns and rows: the planned domains of each member.

    Members in the same domain show the same id; zones have names.
    """
    places = {m['path']: m['domains'] or {} for m in group.members}
    levels = list(dict.fromkeys(level for p in places.values() for level in p))
    rows = [
        (path, bool(place), *(place.get(level, '') for level in levels))
        for path, place in places.items()
    ]
    return ('Member', 'Fits', *(level.title() for level in levels)), rows
