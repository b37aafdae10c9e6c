# SPDX-License-Identifier: Apache-2.0
"""Resizes, and what they need from a planner."""

import contextlib
import types

import fixtures
from nova import exception as nova_exc
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.scheduler.move import resize
from tests import groups
from tests.unit.objects import base


class TestFind(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        self.reservation = objects.VRTHold.reservation(
            self.group.members[0],
            groups.placement(uuidutils.generate_uuid(), 1),
        )
        self.reservation.create(self.context)

    def find(self, meanwhile):
        """Find a reservation, and call a function once it is read."""

        def read(*_args):
            meanwhile()
            return self.reservation

        self.useFixture(
            fixtures.MockPatchObject(objects.VRTHold, 'find_reservation', read)
        )
        spec = types.SimpleNamespace(instance_uuid=uuidutils.generate_uuid())
        return resize.find_reservation(self.context, spec, host_manager=None)

    def test_reservation_of_a_purged_group_is_ignored(self):
        self.assertIsNone(self.find(lambda: self.delete(self.group)))


class TestOwnCapacity(base.HeldGroupTestCase):
    """Only shelved members of exclusive groups need a planner."""

    EXCLUSIVE = groups.policy('', {'type': 'exclusive', 'scope': 'host'})

    def asked_paths(self, status, *policies):
        """Return the paths that a planner is asked about."""
        group = self.create(policies=[*policies])
        member = group.members[0]
        member.status = status
        asked = []
        for owner, name, replacement in (
            (resize, 'find_reservation', lambda *_args: None),
            (resize, '_unshelve_obstacle', lambda *_args: None),
            (
                resize.destinations,
                'find_member',
                lambda *_args: (group, member),
            ),
            (
                resize.replacement_request.ReplacementRequest,
                'send',
                lambda _request, paths, _reason: asked.extend(paths),
            ),
        ):
            self.useFixture(fixtures.MockPatchObject(owner, name, replacement))
        ref = types.SimpleNamespace(group=group.uuid)
        spec = types.SimpleNamespace(instance_uuid=uuidutils.generate_uuid())
        with contextlib.suppress(nova_exc.NoValidHost):
            self.assertEqual(
                [], [*resize.iter_reservations(self.context, ref, spec, None)]
            )
        return asked

    def test_shelved_exclusive_member_needs_a_planner(self):
        self.assertEqual(
            ['master'], self.asked_paths('SHELVED', self.EXCLUSIVE)
        )

    def test_active_exclusive_member_needs_no_planner(self):
        self.assertEqual([], self.asked_paths('ACTIVE', self.EXCLUSIVE))

    def test_shelved_member_without_a_policy_needs_no_planner(self):
        self.assertEqual([], self.asked_paths('SHELVED'))
