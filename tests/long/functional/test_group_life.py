# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a group, are the promises kept?

The number of a life is its seed. A life that fails shows its steps.
"""

import random

from testtools import content

from nova_groupext.scheduler.protocol import release_holds
from tests.functional import base
from tests.functional import group_life
from tests.functional import moves

LIVES = 8
STEPS = 20


class TestGroupLife(group_life.GroupLife):
    def setUp(self):
        super().setUp()
        self.limit(instances=self.LIMIT)
        # Nobody but the test sends requests: none is on its way for long.
        self.patch(release_holds, 'REQUEST_LIFETIME', 0)
        self.story = []
        self.addOnException(self._tell)

    def _tell(self, _failure):
        text = '\n'.join(self.story)
        self.addDetail('life', content.text_content(text))

    def lead(self, seed):
        self.rng = rng = random.Random(seed)
        topology = moves.group(3, rng.choice(group_life.POLICIES))
        topology['members'] = {name: base.member() for name in 'abc'}
        self.uuid = self.held(topology)['id']
        self.look()
        for _step in range(STEPS):
            name = rng.choice(self.possible())
            self.story.append(name)
            self.story[-1] = self.take(name)
            self.look()
        self.end()

    def look(self):
        """See that all promises are kept, once all has come to rest."""
        self.eventually(self.broken, lambda broken: not broken)

    def end(self):
        self.delete_group(self.uuid)
        self.remove(*self.servers_now.values())
        for host in self.HOSTS:
            [service] = self.computes(host.name)
            service.manager.enable(service.id)
        everything = {host.name: host.vcpus for host in self.HOSTS}
        self.assertEqual(everything, self.free())


for _seed in range(LIVES):
    setattr(
        TestGroupLife,
        f'test_promises_are_kept_in_life_{_seed}',
        lambda self, seed=_seed: self.lead(seed),
    )
