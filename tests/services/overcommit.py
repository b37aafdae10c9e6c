# SPDX-License-Identifier: Apache-2.0
"""Overcommitment by concurrent writers of Placement.

It happens with Placement's defaults. The tests try the settings that the
admin's guide names, and the detection of overcommitment without them.
"""

import collections
import functools
import uuid

from nova import context
from nova.scheduler.client import report
from oslotest import base
from testtools import content

from nova_groupext.scheduler.placement import client
from tests.services import concurrency
from tests.services import databases
from tests.services import placement

WRITERS = 4
TOTAL = 2

ONE_ATTEMPT = 'allocation_conflict_retry_count = 1'


class OvercommitRace(base.BaseTestCase):
    """Rounds of concurrent claims beyond the capacity of a new provider."""

    SERVER = None
    SETTINGS = ''
    ROUNDS = 15

    def setUp(self):
        super().setUp()
        self.SERVER.require(self)
        url = self.useFixture(databases.Database(self.SERVER)).url
        self.placement = self.useFixture(
            placement.Placement(url, self.SETTINGS)
        )
        self.addOnException(self.add_log)
        self.clients = self.placement.clients(WRITERS)

    def add_log(self, _failure):
        log = str(self.placement.log)
        self.addDetail(
            'placement.log', content.content_from_file(log, buffer_now=True)
        )

    def run_rounds(self):
        """Run all rounds; returns the usage after each of them."""
        used = [self.run_round() for _round in range(self.ROUNDS)]
        overcommitted_rounds = sum(each > TOTAL for each in used)
        self.addDetail(
            'rounds',
            content.text_content(
                f'{overcommitted_rounds} of {self.ROUNDS} rounds were '
                f'overcommitted; used of {TOTAL}: '
                f'{sorted(collections.Counter(used).items())}'
            ),
        )
        return used

    def run_round(self):
        admin = self.clients[0]
        provider = placement.make_provider(admin, VCPU=TOTAL)

        statuses = concurrency.call_concurrently(
            [functools.partial(claim, each, provider) for each in self.clients]
        )

        self.assertLessEqual(set(statuses), {204, 409})
        usages = admin.get(f'/resource_providers/{provider}/usages').json()
        used = usages['usages']['VCPU']
        self.assertEqual(used, statuses.count(204))
        placement_client = client.PlacementClient(
            report.SchedulerReportClient(admin)
        )
        requester = context.get_admin_context()
        self.assertEqual(
            {'VCPU': used - TOTAL} if used > TOTAL else {},
            placement_client.overcommitment(
                requester,
                provider,
                placement_client.usages(requester, provider),
            ),
        )
        return used


def claim(user, provider):
    """Claim until the capacity is granted or used up; returns the status."""
    consumer = str(uuid.uuid4())
    while True:
        response = placement.claim(user, provider, consumer, VCPU=1)
        if response.status_code != 409:
            return response.status_code
        [error] = response.json()['errors']
        if error['code'] != 'placement.concurrent_update':
            return 409


class DefaultSettings:
    def test_overcommitment_is_detected(self):
        """The number of rounds in which it happens is only reported."""
        self.run_rounds()


class SafeSettings:
    def test_nothing_is_overcommitted(self):
        self.assertEqual([TOTAL] * self.ROUNDS, self.run_rounds())
