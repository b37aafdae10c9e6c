# SPDX-License-Identifier: Apache-2.0
"""A member of a VRT group."""

from openstack import exceptions
from openstack import resource


class VrtMember(resource.Resource):
    """The place of a server, before and while there is one."""

    resource_key = 'member'
    resources_key = 'members'
    base_path = '/os-vrt-groups/%(group_id)s/members'

    allow_create = True
    allow_fetch = True
    allow_list = True

    # Properties
    #: The group it belongs to.
    group_id = resource.URI('group_id')
    #: Its name in the group, such as ``front/web-3``.
    path = resource.Body('path', alternate_id=True)
    #: TENTATIVE, HELD, REDEEMING, ACTIVE, SHELVED, FAILED or RELEASED.
    status = resource.Body('status')
    #: The server that it is, or is about to become.
    server_id = resource.Body('server_id')
    #: Where it is: {level: id of the domain}, opaque but for zones.
    domains = resource.Body('domains', type=dict)
    #: What went wrong with it, a text.
    fault = resource.Body('fault')
    #: The host it is on; only shown to admins.
    host = resource.Body('host')

    # How it is described, only given when it is added.
    #: Id or name of its flavor.
    flavor = resource.Body('flavor')
    #: The uuid of its image.
    image = resource.Body('image')
    #: Whether it boots from a volume instead of an image.
    boot_from_volume = resource.Body('boot_from_volume', type=bool)
    #: The zone it has to be in.
    availability_zone = resource.Body('availability_zone')
    #: How many equal members there are to be, or to be more.
    count = resource.Body('count', type=int)
    #: How many of these are enough.
    min_count = resource.Body('min_count', type=int)

    def remove(self, session, keep_server=False):
        """Have the group revised without it.

        :param keep_server: whether it may be a server, which runs on
        """
        request = self._prepare_request()
        params = {'keep_server': True} if keep_server else {}
        response = session.delete(request.url, params=params)
        exceptions.raise_from_response(response)
