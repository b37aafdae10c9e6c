# SPDX-License-Identifier: Apache-2.0
"""Random operations on a group, after each of which the promises hold.

The number of a test is its seed. A failing test shows its operations.
"""

import random

from testtools import content

from nova_groupext.scheduler.protocol import release_holds
from tests.functional import base
from tests.functional import group_operations
from tests.functional import moves

SEEDS = 8
STEPS = 20


class TestRandomOperations(group_operations.GroupOperations):
    def setUp(self):
        super().setUp()
        self.set_quota(instances=self.MAX_SERVERS)
        # Nobody but the test sends requests: none is on its way for long.
        self.patch(release_holds, 'REQUEST_LIFETIME', 0)
        self.operations = []
        self.addOnException(self._add_operations)

    def _add_operations(self, _failure):
        text = '\n'.join(self.operations)
        self.addDetail('operations', content.text_content(text))

    def run_operations(self, seed):
        self.rng = rng = random.Random(seed)
        topology = moves.group(3, rng.choice(group_operations.POLICIES))
        topology['members'] = {name: base.member() for name in 'abc'}
        self.uuid = self.hold_group(topology)['id']
        self.assert_invariants_hold()
        for _step in range(STEPS):
            name = rng.choice(self.possible_operations())
            self.operations.append(name)
            self.operations[-1] = self.run_operation(name)
            self.assert_invariants_hold()
        self.end()

    def assert_invariants_hold(self):
        """Assert that all promises hold once every operation has ended."""
        self.eventually(self.violated_invariants, lambda broken: not broken)

    def end(self):
        self.delete_group(self.uuid)
        self.delete_servers(*self.current_servers.values())
        for host in self.HOSTS:
            [service] = self.compute_services(host.name)
            service.manager.enable(service.id)
        everything = {host.name: host.vcpus for host in self.HOSTS}
        self.assertEqual(everything, self.free())


for _seed in range(SEEDS):
    setattr(
        TestRandomOperations,
        f'test_promises_hold_with_seed_{_seed}',
        lambda self, seed=_seed: self.run_operations(seed),
    )
