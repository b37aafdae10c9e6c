# SPDX-License-Identifier: Apache-2.0
"""SDK resource of a member of a VRT group."""

from openstack import exceptions
from openstack import resource


class VrtMember(resource.Resource):
    """A member of a group: a server that exists or is planned."""

    resource_key = 'member'
    resources_key = 'members'
    base_path = '/os-vrt-groups/%(group_id)s/members'

    allow_create = True
    allow_fetch = True
    allow_list = True

    _query_mapping = resource.QueryParameters('status')

    # Properties
    #: Id of the group.
    group_id = resource.URI('group_id')
    #: Name of the member in the group, such as ``front/web-3``.
    path = resource.Body('path', alternate_id=True)
    #: TENTATIVE, HELD, REDEEMING, ACTIVE, SHELVED, LEAVING, FAILED or
    #: RELEASED.
    status = resource.Body('status')
    #: Id of the server that the member is, or is about to become.
    server_id = resource.Body('server_id')
    #: End of its hold, or None.
    expires_at = resource.Body('expires_at')
    #: Domains of the member: {level: opaque id, or name of a zone}.
    domains = resource.Body('domains', type=dict)
    #: Fault of the member: a dictionary with ``code``, ``message`` and
    #: ``created``, or None.
    fault = resource.Body('fault', type=dict)
    #: Host that is planned, held or used; only shown to admins.
    host = resource.Body('host')
    #: Pending resize of the server: a dictionary with ``from``, ``to`` and
    #: ``held``, or None.
    resize = resource.Body('resize', type=dict)
    #: True for a member beyond the count, up to the ``max_count``.
    grown = resource.Body('grown', type=bool)
    #: What of its server differs from the description: a dictionary with
    #: ``from`` and ``to``, or None.
    pending = resource.Body('pending', type=dict)
    #: Successor of its server, with ``server_id`` and ``status``, or None.
    successor = resource.Body('successor', type=dict)

    # Description of a new member: write-only.
    #: Id or name of the flavor.
    flavor = resource.Body('flavor')
    #: UUID of the image.
    image = resource.Body('image')
    #: True for a server that boots from a volume instead of an image.
    boot_from_volume = resource.Body('boot_from_volume', type=bool)
    #: Required availability zone.
    availability_zone = resource.Body('availability_zone')
    #: Number of equal members to create, or to add.
    count = resource.Body('count', type=int)
    #: Number of these that are enough.
    min_count = resource.Body('min_count', type=int)
    #: Number of members to which creates may grow the group.
    max_count = resource.Body('max_count', type=int)
    max_surge = resource.Body('max_surge', type=int)
    #: Policies of the member, or of all counted members: a list of
    #: dictionaries with ``type``, ``scope`` and perhaps more.
    policies = resource.Body('policies', type=list)
    #: Generation of the group as last read: the API rejects the new member if
    #: the group has another one now.
    generation = resource.Body('generation', type=int)

    @property
    def changes(self):
        """Differences from its description: grown, pending and others."""
        values = {
            name: getattr(self, name)
            for name in ('grown', 'pending', 'resize', 'successor')
        }
        return {name: value for name, value in values.items() if value}

    def remove(self, session, keep_server=False, generation=None):
        """Revise the group without this member.

        :param keep_server: True to keep the member's server running
        :param generation: group's generation as last read, None for any
        """
        request = self._prepare_request()
        params = {'keep_server': True} if keep_server else {}
        if generation:
            params['generation'] = generation
        response = session.delete(request.url, params=params)
        exceptions.raise_from_response(response)
