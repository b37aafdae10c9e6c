# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/creates.py``."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.decide import creates
from tests.unit.scheduler import base


class TestPlaceOpen(base.ProtocolTestCase):
    """Two servers wait for members without hosts."""

    def setUp(self):
        super().setUp()
        self.uuid, _provider = self.held(members=2)
        VRTHold.update_rows(
            self.context,
            models.Hold.status == states.Hold.HELD,
            status=states.Hold.RELEASED,
        )
        VRTMember.update_rows(
            self.context,
            models.Member.status == states.Member.HELD,
            status=states.Member.TENTATIVE,
        )
        for path, server in (('m-0', uuids.one), ('m-1', uuids.two)):
            self.deployment.start_create(self.uuid, path, server)
        # Paths that each draft places
        self.drafts = []

    def place(self, **changes):
        """Place the members; all drafts are refused.

        :param changes: of the creates, while the first draft is decided
        """

        def refuse(_group, _lease, draft):
            self.drafts.append(sorted(draft.excluded_nodes))
            draft.change(self.context, states.Group.REFUSED, fault='full')
            if changes:
                VRTCreate.update_rows(self.context, **changes)

        creates.place_open(
            *(self.context, self.deployment.placement_client()),
            *(self.acquire_lease(self.uuid), self.deployment.group(self.uuid)),
            refuse,
        )

    def test_creates_that_are_refused_together_are_placed_one_by_one(self):
        self.place()

        self.assertEqual([['m-0', 'm-1'], ['m-0'], ['m-1']], self.drafts)

    def test_creates_whose_time_is_over_are_not_placed_any_more(self):
        self.place(ends_at=clock.now(-1))

        self.assertEqual([['m-0', 'm-1']], self.drafts)
