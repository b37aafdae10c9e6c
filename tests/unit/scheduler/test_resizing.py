# SPDX-License-Identifier: Apache-2.0
"""Does a resize go on whatever becomes of what is held for it?"""

import types

import fixtures
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.scheduler.redeem import resizing
from tests import groups
from tests.unit.objects import base


class TestFind(base.HeldCase):
    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.growth = objects.VRTHold.growth(
            self.group.members[0], groups.seat(uuidutils.generate_uuid(), 1)
        )
        self.growth.create(self.context)

    def find(self, meanwhile):
        """Look for what is held, and do something once that is read."""

        def read(*_args):
            meanwhile()
            return self.growth

        self.useFixture(
            fixtures.MockPatchObject(objects.VRTHold, 'get_growth', read)
        )
        spec = types.SimpleNamespace(instance_uuid=uuidutils.generate_uuid())
        return resizing.find(self.context, spec, host_manager=None)

    def test_it_goes_where_there_is_room_when_its_group_was_forgotten(self):
        self.assertIsNone(self.find(lambda: self.forget(self.group)))
