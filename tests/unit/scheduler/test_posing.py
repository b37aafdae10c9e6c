# SPDX-License-Identifier: Apache-2.0
"""What does a revision ask, and who is welcome while it comes about?"""

from oslotest import base

from nova_groupext.conf import CONF
from nova_groupext.scheduler.decide import posing

RAW = {
    'version': 1,
    'levels': ['host'],
    'hosts': [{'id': name, 'free': {'VCPU': 4}} for name in 'xyz'],
    'classes': {'large': {'request': {'VCPU': 2}, 'scores': {'y': 5}}},
    'topology': {
        'members': {'a': {'class': 'large'}, 'b': {'class': 'large'}},
        'policies': [{'type': 'anti-affinity', 'scope': 'host'}],
    },
    'pinned': {'a': 'x', 'b': 'y'},
}


class TestPosing(base.BaseTestCase):
    def allow_same_host(self, is_allowed):
        CONF.set_override('allow_resize_to_same_host', is_allowed)
        self.addCleanup(CONF.clear_override, 'allow_resize_to_same_host')

    def read(self):
        growing = {'a': 'x'}
        raw = posing.pinning(RAW, {}, growing)
        return posing.read(raw, growing, set())

    def test_who_is_to_be_resized_had_rather_stay(self):
        self.allow_same_host(True)

        problem = self.read()

        self.assertEqual({'b': 'y'}, problem.pinned)
        own = problem.class_of['a']
        self.assertEqual({*'xyz'}, own.hosts)
        self.assertEqual('x', max(own.scores, key=own.scores.get))

    def test_unless_nova_does_not_resize_there(self):
        self.allow_same_host(False)

        self.assertEqual({*'yz'}, self.read().class_of['a'].hosts)

    def test_who_shares_a_host_with_one_who_may_be_there_is_unwelcome(self):
        places = {'a': {'x', 'z'}, 'b': {'y', 'z'}}

        for coming, unwelcome in (
            ({'a': 'z'}, {'a'}),
            ({'a': 'x'}, set()),
            ({'a': 'z', 'b': 'z'}, {'a', 'b'}),
        ):
            found = posing.unwelcome(RAW, coming, {'a': 'x', 'b': 'y'}, places)
            self.assertEqual(unwelcome, found, coming)

    def test_two_do_not_change_places(self):
        """Either may be resized first."""
        places = {'a': {'x', 'y'}, 'b': {'x', 'y'}}

        found = posing.unwelcome(
            RAW, {'a': 'y', 'b': 'x'}, {'a': 'x', 'b': 'y'}, places
        )

        self.assertEqual({'a', 'b'}, found)
