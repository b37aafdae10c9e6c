# SPDX-License-Identifier: Apache-2.0
"""Log lines that name the group and the request that changed it."""

import dataclasses
import datetime
import re

from oslo_utils import timeutils

from nova_groupext.cloud import hosts
from nova_groupext.cloud import with_groups
from tests.functional import base

REQUEST = re.compile(r'req-[-0-9a-f]{36}')


class TestLog(base.GroupTestCase):
    PARTS = dataclasses.replace(
        with_groups.HOLISTIC,
        config=f'{with_groups.HOLISTIC.config}\nreap_interval = 1\n',
    )
    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=4),)

    def lines(self, *texts):
        """Return the log lines that contain all of the texts."""
        log = (self.cloud.state / 'cloud.log').read_text()
        return [
            line
            for line in log.splitlines()
            if all(text in line for text in texts)
        ]

    def line(self, *texts):
        """Wait for lines with all of the texts; return the first one."""
        return self.eventually(self.lines, bool, *texts)[0]

    def test_planner_log_names_the_group_and_a_request(self):
        """An earlier request of the project may serve the group, too."""
        response = self.post(topology={'members': {'a': base.member()}})
        uuid = response.json()['vrt_group']['id']

        [request] = REQUEST.findall(self.line('decide.results', uuid, 'HELD'))

        self.line('nova.api.openstack.requestlog', request, 'os-vrt-groups')

    def test_scheduler_log_names_the_group_and_the_request(self):
        uuid = self.hold_group({'members': {'a': base.member()}})['id']
        [hold] = self.holds_of(uuid)

        server = self.redeem(uuid, 'a', 'm1.tiny')

        line = self.line(uuid, hold.uuid, 'cmp-1', 'is REDEEMED', server.id)
        self.assertRegex(line, REQUEST)

    def test_each_reaper_round_has_its_own_request_id(self):
        uuid = self.hold_group({'members': {'a': base.member()}})['id']
        long_ago = timeutils.utcnow() - datetime.timedelta(hours=1)
        self.change_row(uuid, expires_at=long_ago)

        [request] = REQUEST.findall(self.line(uuid, 'has expired'))

        counts = self.line('groups.HELD=', 'oldest_releasing=', request)
        self.assertIn('members.HELD=0', counts)
        self.assertEqual(1, len(self.lines('groups.HELD=', request)))
