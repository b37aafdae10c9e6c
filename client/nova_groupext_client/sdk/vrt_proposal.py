# SPDX-License-Identifier: Apache-2.0
"""Which servers to move for the policies of a VRT group to hold again."""

from openstack import resource


class VrtProposal(resource.Resource):
    resource_key = 'proposal'
    base_path = '/os-vrt-groups/%(group_id)s/proposal'

    allow_fetch = True
    requires_id = False

    # Properties
    #: The group it is about.
    group_id = resource.URI('group_id')
    #: ``planning`` at first, then ``placed``, ``refused`` or ``undecided``.
    status = resource.Body('status')
    #: When it was asked for.
    created_at = resource.Body('created_at')
    #: Whether it is proved that no fewer moves would do.
    is_fewest = resource.Body('fewest', type=bool)
    #: A list of dictionaries with the keys ``path``, ``server_id``,
    #: ``domains``, and ``host`` for admins.
    moves = resource.Body('moves', type=list)

    @property
    def is_planning(self):
        """Whether planners have no answer yet."""
        return self.status == 'planning'
