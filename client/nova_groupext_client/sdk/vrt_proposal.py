# SPDX-License-Identifier: Apache-2.0
"""SDK resource of a proposal: server moves that restore broken policies."""

from openstack import resource


class VrtProposal(resource.Resource):
    resource_key = 'proposal'
    base_path = '/os-vrt-groups/%(group_id)s/proposal'

    allow_fetch = True
    requires_id = False

    # Properties
    #: Id of the group.
    group_id = resource.URI('group_id')
    #: ``planning`` at first, then ``placed``, ``refused`` or ``undecided``.
    status = resource.Body('status')
    #: Time of the request, an ISO 8601 text.
    created_at = resource.Body('created_at')
    #: True if the planner has proved that fewer moves do not suffice.
    is_fewest = resource.Body('fewest', type=bool)
    #: Moves, a list of dictionaries with the keys ``path``, ``server_id``,
    #: ``domains`` ({level: id} of the destination), and ``host`` for admins.
    moves = resource.Body('moves', type=list)

    @property
    def is_planning(self):
        """True until a planner has answered."""
        return self.status == 'planning'
