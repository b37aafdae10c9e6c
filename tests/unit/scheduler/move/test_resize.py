# SPDX-License-Identifier: Apache-2.0
"""Does a resize go on whatever becomes of what is held for it?"""

import contextlib
import types

import fixtures
from nova import exception as nova_exc
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.scheduler.move import resize
from tests import groups
from tests.unit.objects import base


class TestFind(base.HeldCase):
    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.reservation = objects.VRTHold.reservation(
            self.group.members[0], groups.seat(uuidutils.generate_uuid(), 1)
        )
        self.reservation.create(self.context)

    def find(self, meanwhile):
        """Look for what is held, and do something once that is read."""

        def read(*_args):
            meanwhile()
            return self.reservation

        self.useFixture(
            fixtures.MockPatchObject(objects.VRTHold, 'get_reservation', read)
        )
        spec = types.SimpleNamespace(instance_uuid=uuidutils.generate_uuid())
        return resize.find(self.context, spec, host_manager=None)

    def test_it_goes_where_there_is_room_when_its_group_was_forgotten(self):
        self.assertIsNone(self.find(lambda: self.forget(self.group)))


class TestRooms(base.HeldCase):
    """Only who is shelved, of a group that is to be alone, needs a planner."""

    EXCLUSIVE = groups.policy('', {'type': 'exclusive', 'scope': 'host'})

    def asked(self, status, *policies):
        """Return the paths that a planner is asked about."""
        group = self.create(policies=[*policies])
        member = group.members[0]
        member.status = status
        asked = []
        for owner, name, replacement in (
            (resize, 'find', lambda *_args: None),
            (resize.destinations, 'find', lambda *_args: (group, member)),
            (
                resize.replacement_request.ReplacementRequest,
                'find',
                lambda _search, paths, _why: asked.extend(paths),
            ),
        ):
            self.useFixture(fixtures.MockPatchObject(owner, name, replacement))
        pointed = types.SimpleNamespace(group=group.uuid)
        spec = types.SimpleNamespace(instance_uuid=uuidutils.generate_uuid())
        with contextlib.suppress(nova_exc.NoValidHost):
            self.assertEqual(
                [], [*resize.rooms(self.context, pointed, spec, None)]
            )
        return asked

    def test_a_shelved_member_that_is_to_be_alone(self):
        self.assertEqual(['master'], self.asked('SHELVED', self.EXCLUSIVE))

    def test_one_that_is_not_shelved(self):
        self.assertEqual([], self.asked('ACTIVE', self.EXCLUSIVE))

    def test_one_that_shares_its_host(self):
        self.assertEqual([], self.asked('SHELVED'))
