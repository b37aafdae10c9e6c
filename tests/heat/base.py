# SPDX-License-Identifier: Apache-2.0
"""Stacks on a try-out cloud with a Heat beside it."""

from testtools import content

from nova_groupext.cloud import hosts
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.follow import server_changes
from tests.functional import base
from tests.heat import process
from tests.heat import stacks


class HeatTestCase(stacks.Stacks, base.StepTestCase):
    """A test of stacks. After it, nothing of them is left in Placement."""

    HOSTS = tuple(
        hosts.Host(f'cmp-{number}', f'r{number % 3}', 'az1', vcpus=4)
        for number in range(6)
    )
    # Lines of heat.conf, in [DEFAULT]
    HEAT_OPTIONS = ''

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.heat = process.Heat(cls.cloud, cls.HEAT_OPTIONS)
        cls.heat.setUp()
        cls.addClassCleanup(cls.heat.cleanUp)

    def setUp(self):
        super().setUp()
        self.addOnException(self._show_heat_log)

    def _show_heat_log(self, _failure):
        log = content.content_from_file(str(self.heat.log), buffer_now=True)
        self.addDetail('heat.log', log)

    def left(self):
        """Return what is left of groups and servers in the cloud."""
        is_held = models.Hold.status != states.Hold.RELEASED
        return [
            *VRTHold.list_rows(self.context, is_held),
            *self.server_ids('demo'),
        ]

    def follow(self):
        """Do what the reaper's next round would do."""
        server_changes.follow_servers(
            self.context, self.placement_client, self.leases
        )
