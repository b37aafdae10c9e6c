# SPDX-License-Identifier: Apache-2.0
"""Groups as they are read from the database."""

from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base

from nova_groupext.objects import states
from nova_groupext.objects.member_set import Matching
from nova_groupext.solver.language import paths
from tests import groups

Member = states.Member
M1, M2 = {'flavor_id': 'm1'}, {'flavor_id': 'm2'}


class StoredCase(base.BaseTestCase):
    """A master, and three workers of whom two are described."""

    def setUp(self):
        super().setUp()
        self.group = self.make(count=3)
        self.describe(count=2, max_count=4)
        for path, server in (
            ('workers/w-0', uuids.first),
            ('workers/w-1', uuids.second),
        ):
            self.change(path, status=Member.ACTIVE, server_uuid=server)
        self.change('workers/w-2', status=Member.HELD)

    def make(self, request=M1, **counts):
        group = groups.unstored(
            **groups.members_of(
                groups.member_set('master', M2),
                groups.member_set('workers/w', request, **counts),
            ),
            has_expired=False,
        )
        for number, member in enumerate(group.members):
            member.id = number
            member.server_uuid = member.reserved_for = None
            member.server_request = None
        return group

    def describe(self, **counts):
        self.group.member_sets[1].description = counts

    def matching_workers(self):
        """Return the Matching of servers that are as workers are described."""
        return Matching.of(self.group.member_sets[1:])

    def change(self, path, **values):
        for member in self.group.members:
            if member.path == path:
                for name, value in values.items():
                    setattr(member, name, value)

    def successor(self, path, succeeds, **values):
        described = self.group.member_sets[1]
        stored_path = paths.successor(path, uuids.new)
        member = groups.member(stored_path, described)
        self.group.members.append(member)
        values = {
            'id': 9,
            'succeeds': succeeds,
            'server_uuid': uuids.new,
            'reserved_for': None,
            'server_request': None,
            'status': Member.ACTIVE,
            **values,
        }
        self.change(stored_path, **values)
        return stored_path
