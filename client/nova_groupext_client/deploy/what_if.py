# SPDX-License-Identifier: Apache-2.0
"""Would it fit? A group is planned, and nothing of it stays."""


def ask(deployment, **attributes):
    """Have a group planned without holding anything, and delete it.

    :param deployment: Deployment
    :param attributes: of the group, besides its topology
    :returns: VrtGroup, PLANNED
    :raises: NotPlanned, HttpException
    """
    try:
        deployment.describe(hold=False, **attributes)
        return deployment.group
    finally:
        deployment.forget()


def table(group):
    """Return columns and rows: where each member would be.

    Who shares a domain has the same id there; zones have names.
    """
    places = {m['path']: m['domains'] or {} for m in group.members}
    levels = list(dict.fromkeys(level for p in places.values() for level in p))
    rows = [
        (path, bool(place), *(place.get(level, '') for level in levels))
        for path, place in places.items()
    ]
    return ('Member', 'Fits', *(level.title() for level in levels)), rows
