# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/api/revise.py``."""

from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base

from nova_groupext.api import revise
from nova_groupext.objects import states
from tests import groups

SMALL, BIG = {'flavor_id': 'small'}, {'flavor_id': 'big'}


class TestResized(base.BaseTestCase):
    def make(self, request, **values):
        group = groups.unstored(
            **groups.members_of(groups.member_set('a', request))
        )
        for name, value in values.items():
            setattr(group.members[0], name, value)
        return group

    def resized(self, request):
        """Return the paths of members to be resized to a request."""
        group = self.make(
            SMALL,
            status=states.Member.ACTIVE,
            server_uuid=uuids.server,
            server_request=None,
        )
        self.draft = self.make(request, server_request=None)
        return [each.path for each in revise._resized(group, self.draft)]

    def test_servers_with_another_flavor_are_resized(self):
        self.assertEqual(['a'], self.resized(BIG))
        self.assertEqual([], self.resized(SMALL))

    def test_draft_has_no_request_of_the_server_which_may_go(self):
        self.resized(BIG)

        self.assertIsNone(self.draft.members[0].server_request)
