# SPDX-License-Identifier: Apache-2.0
"""A held group, and creates that wait for its members."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.member_set import Matching
from tests.unit.objects import base


class CreateCase(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()

    def start(
        self,
        *servers,
        group=None,
        seconds=60,
        limit=9,
        of_project=9,
        kind='m1',
    ):
        return VRTCreate.start(
            *(
                self.context,
                group or self.group,
                'workers/worker',
                Matching({'m': kind}),
            ),
            servers or (uuids.server,),
            seconds=seconds,
            limit=limit,
            project_limit=of_project,
        )

    def current(self, create):
        return VRTCreate.find_by_id(self.context, create.id)

    def list_open(self):
        return [
            each.id
            for each in VRTCreate.list_open(self.context, self.group.id)
        ]
