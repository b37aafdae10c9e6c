# SPDX-License-Identifier: Apache-2.0
"""The calls of the proxy for the members of a group."""

import contextlib
from urllib import parse

from openstack import exceptions
from openstack import proxy
from openstack import resource

from nova_groupext_client.sdk import vrt_member


class MemberCalls(proxy.Proxy):
    """The part of the Proxy for members."""

    def members(self, group, **query):
        """Yield the VrtMembers of a group.

        :param query: ``status``, ``limit`` (the size of a page), ``marker``
            (a path)
        """
        return self._list(vrt_member.VrtMember, group_id=id_of(group), **query)

    def get_member(self, group, path):
        """Return the VrtMember at a path.

        :raises: NotFoundException
        """
        return self._get(
            vrt_member.VrtMember, _in_url(path), group_id=id_of(group)
        )

    def find_member(self, group, path, ignore_missing=False):
        """Return the VrtMember at a path.

        :param ignore_missing: return None instead of raising
        :raises: NotFoundException
        """
        try:
            return self.get_member(group, path)
        except exceptions.NotFoundException:
            if ignore_missing:
                return None
            raise

    def create_member(self, group, **attrs):
        """Add a member, or more counted members.

        The call revises the whole group: see :meth:`wait_for_group`.

        :param attrs: ``path``, and the description: ``flavor``, ``image``,
            ``policies`` and so on, or only ``count`` for more counted members;
            ``generation`` as for :meth:`hold_group`
        """
        self._create(vrt_member.VrtMember, group_id=id_of(group), **attrs)

    def delete_member(
        self,
        group,
        path,
        ignore_missing=True,
        keep_server=False,
        generation=None,
    ):
        """Remove a member; of counted members, the last one or all.

        The call revises the whole group: see :meth:`wait_for_group`.

        :param keep_server: True to keep the member's server running; without
            it the API rejects the removal of a member with a server
        :param generation: as for :meth:`hold_group`
        """
        member = self._get_resource(
            vrt_member.VrtMember, _in_url(path), group_id=id_of(group)
        )
        with missing_ignored(ignore_missing):
            member.remove(self, keep_server, generation)


@contextlib.contextmanager
def missing_ignored(is_ignored):
    """Ignore that what is to be deleted is missing, if asked to."""
    try:
        yield
    except exceptions.NotFoundException:
        if not is_ignored:
            raise


def id_of(value):
    """Return the id of a group or member, or the id itself."""
    return resource.Resource._get_id(value)


def _in_url(path):
    """Return a path, or the path of a VrtMember, quoted for a URL."""
    is_member = isinstance(path, vrt_member.VrtMember)
    # The id of a member that was read by its path is quoted already.
    return parse.quote(path.path if is_member else path)
