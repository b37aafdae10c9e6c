# SPDX-License-Identifier: Apache-2.0
"""Many servers that are created at once for a group that grows."""

import concurrent.futures
import threading

from nova_groupext.cloud import hosts
from nova_groupext.scheduler.decide import create_draft
from tests.functional import base
from tests.functional import growing

NUMBER = 20
SPREAD = {'type': 'spread', 'scope': 'rack', 'min_domains': 2}


class TestManyCreates(growing.GrowingCase):
    HOSTS = tuple(
        hosts.Host(f'cmp-{number}', f'r{number % 2}', 'az1', vcpus=16)
        for number in range(1, 5)
    )

    def hold(self, max_count):
        worker = base.member(count=1, max_count=max_count)
        topology = {'members': {'w': worker}, 'policies': [SPREAD]}
        self.uuid = self.hold_group(topology)['id']

    def test_servers_created_at_once_are_decided_together(self):
        self.hold(NUMBER + 1)
        self.grow()
        decided = self.count_decisions()

        with concurrent.futures.ThreadPoolExecutor(NUMBER) as threads:
            servers = [*threads.map(lambda _n: self.grow(), range(NUMBER))]

        self.assertEqual({'ACTIVE'}, {each.status for each in servers})
        self.assertEqual(['ACTIVE'] * 21, [*self.statuses().values()])
        self.assertLessEqual(len(decided), 3, decided)
        self.assert_refused(403)
        self.assertEqual([], self.group(self.uuid)['drift'])
        self.assert_sound()

    def test_eight_servers_of_one_request_are_placed_together(self):
        self.hold(9)
        self.grow()

        servers = self.boot_many(8)

        self.assertEqual({'ACTIVE'}, {each.status for each in servers})
        self.assertEqual(['ACTIVE'] * 9, [*self.statuses().values()])
        self.assert_sound()

    def count_decisions(self):
        """Return a list that gets an entry for each draft of creates."""
        decided, lock = [], threading.Lock()
        store_draft = create_draft.store

        def store(context, group, chosen):
            with lock:
                decided.append(len(chosen))
            return store_draft(context, group, chosen)

        self.patch(create_draft, 'store', store)
        return decided
