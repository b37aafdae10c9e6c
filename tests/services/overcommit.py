# SPDX-License-Identifier: Apache-2.0
"""Does Placement give away more than there is to parallel writers?

By default it does. The settings that the admin's guide names are tried here,
and what our ledger says of what is left behind without them.
"""

import collections
import functools
import uuid

from nova import context
from nova.scheduler.client import report
from oslotest import base
from testtools import content

from nova_groupext.scheduler.placement import placement_client
from tests.services import at_once
from tests.services import databases
from tests.services import placement

WRITERS = 4
TOTAL = 2

ONE_ATTEMPT = 'allocation_conflict_retry_count = 1'


class Race(base.BaseTestCase):
    """In each round many claim at once what a new provider has for some."""

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
        self.addOnException(self.show_log)
        self.clients = self.placement.clients(WRITERS)

    def show_log(self, _failure):
        log = str(self.placement.log)
        self.addDetail(
            'placement.log', content.content_from_file(log, buffer_now=True)
        )

    def run_rounds(self):
        """Race; return how much was given away in each round."""
        used = [self.run_round() for _round in range(self.ROUNDS)]
        over = sum(each > TOTAL for each in used)
        self.addDetail(
            'rounds',
            content.text_content(
                f'{over} of {self.ROUNDS} rounds overcommitted; '
                f'used of {TOTAL}: {sorted(collections.Counter(used).items())}'
            ),
        )
        return used

    def run_round(self):
        admin = self.clients[0]
        provider = placement.make_provider(admin, VCPU=TOTAL)

        answers = at_once.at_once(
            [functools.partial(claim, each, provider) for each in self.clients]
        )

        self.assertLessEqual(set(answers), {204, 409})
        usages = admin.get(f'/resource_providers/{provider}/usages').json()
        used = usages['usages']['VCPU']
        self.assertEqual(used, answers.count(204))
        books = placement_client.PlacementClient(
            report.SchedulerReportClient(admin)
        )
        requester = context.get_admin_context()
        self.assertEqual(
            {'VCPU': used - TOTAL} if used > TOTAL else {},
            books.excess(requester, provider, books.used(requester, provider)),
        )
        return used


def claim(user, provider):
    """Claim until it is granted or there is no more; return the status."""
    consumer = str(uuid.uuid4())
    while True:
        response = placement.claim(user, provider, consumer, VCPU=1)
        if response.status_code != 409:
            return response.status_code
        [error] = response.json()['errors']
        if error['code'] != 'placement.concurrent_update':
            return 409


class Defaults:
    def test_what_is_overcommitted_is_seen(self):
        """The number of rounds in which it happens is only reported."""
        self.run_rounds()


class Safe:
    def test_nothing_is_overcommitted(self):
        self.assertEqual([TOTAL] * self.ROUNDS, self.run_rounds())
