# SPDX-License-Identifier: Apache-2.0
"""Check of the parts of other groups that relationships name."""

from nova_groupext.objects import related
from nova_groupext.solver.language import validation

# Each part costs one database query whenever the group is planned.
MAX_PARTS = 100


def check(context, project_id, parsed, group=None):
    """Refuse parts of other groups that do not exist in the project.

    Parts that it named before stay valid: their group may be deleted.

    :param parsed: Topology
    :param group: VRTGroup that is revised, None for a new one
    :raises: InvalidInput
    """
    parts = {(part.group, part.path): part for part in parsed.outer_parts}
    if len(parts) > MAX_PARTS:
        raise validation.InvalidInput(
            [*parts.values()][MAX_PARTS].where,
            f'exceeds the limit of {MAX_PARTS} parts of other groups',
        )
    present_parts = related.named_parts(group) if group else set()
    for key, part in parts.items():
        where = validation.json_path(part.where, 'group')
        if group and part.group == group.uuid:
            raise validation.InvalidInput(
                where, 'is this group itself: name its parts by their paths'
            )
        if key not in present_parts and not related.has_members(
            context, project_id, *key
        ):
            raise validation.InvalidInput(
                where,
                f'{validation.quote(part.group)} is not a group of the '
                'project or has no such path',
            )
