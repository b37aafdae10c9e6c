# SPDX-License-Identifier: Apache-2.0
"""Attributes of a group as commands show them, and its picture."""

from osc_lib import exceptions

from nova_groupext_client.osc import columns

_SHOWN = (
    'id',
    'name',
    'status',
    'description',
    'generation',
    'project_id',
    'user_id',
    'created_at',
    'updated_at',
    'expires_at',
    'members',
    'topology',
    'subgroups',
    'fault',
    'refusal',
    'violations',
    'drift',
    'revision',
    'boot',
    'events',
)
_ADMIN = ('cost', 'stats')
_FORMATTERS = {
    'members': columns.Members,
    'topology': columns.Tree,
    'subgroups': columns.Tree,
    'refusal': columns.Refusal,
    'violations': columns.Policies,
    'drift': columns.Policies,
    'revision': columns.Revision,
    'boot': columns.Boot,
    'fault': columns.Fault,
    'events': columns.Events,
    'cost': columns.Tree,
    'stats': columns.Tree,
}


def show(group):
    """Return the names and the values of a group's attributes."""
    # The API shows cost and stats of the plan only to admins.
    names = _SHOWN + _ADMIN * (group.stats is not None)
    return names, [columns.cell(group, name, **_FORMATTERS) for name in names]


def draw(group, file_name):
    """Write the picture of a group."""
    from nova_groupext_client.drawing import picture

    try:
        with open(file_name, 'w', encoding='utf-8') as file:
            file.write(picture.write(group))
    except OSError as exc:
        raise exceptions.CommandError(f'{file_name}: {exc.strerror}') from exc
