# SPDX-License-Identifier: Apache-2.0
"""Groups in a cloud without planners, where only the API writes rows."""

import dataclasses
import datetime

from oslo_utils import timeutils

from nova_groupext import objects
from nova_groupext.cloud import with_groups
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from tests import fixtures
from tests.functional import base

ONE = {'members': {'a': base.member()}}


class ApiTestCase(base.GroupTestCase):
    PARTS = dataclasses.replace(with_groups.HOLISTIC, services=())

    def setUp(self):
        super().setUp()
        self.addCleanup(self.delete_all_groups)

    def delete_all_groups(self):
        db.delete(self.context, models.Group)

    def delete_group(self, uuid, user='demo'):
        """Leave the deletion to forget_groups(), as no planner runs."""

    def store_group(self, status=states.Group.PLANNED, topology=ONE):
        """Describe a group of demo's; returns its uuid."""
        uuid = self.post(topology=topology).json()['vrt_group']['id']
        self.set_status(uuid, status)
        return uuid

    def set_status(self, uuid, status):
        """Set the status of a group and of its members."""
        group = objects.VRTGroup.get(self.context, uuid)
        db.delete(
            self.context, models.Group, models.Group.revises_id == group.id
        )
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.id == group.id,
            status=status,
            expires_at=timeutils.utcnow() + datetime.timedelta(hours=1),
        )
        is_held = status in states.GROUP_WITH_HOLDS
        self.set_members(
            uuid, states.Member.HELD if is_held else states.Member.TENTATIVE
        )

    def set_members(self, uuid, status):
        """Set the status of all members of a group."""
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.group_id == models.Group.id,
            models.Group.uuid == uuid,
            status=status,
            held_since=timeutils.utcnow(),
        )

    def stored_rows(self):
        """Return the rows that the API has written, for comparison."""
        groups = objects.VRTGroup.list(self.context)
        return fixtures.row_counts(), [
            (group.uuid, group.status, group.generation) for group in groups
        ]
