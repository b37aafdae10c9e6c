# SPDX-License-Identifier: Apache-2.0
"""The planner's problem of a revision."""

from oslotest import base

from nova_groupext.conf import CONF
from nova_groupext.scheduler.decide import revision_problem
from nova_groupext.solver.model import problems

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


class TestRevisionProblem(base.BaseTestCase):
    def allow_same_host(self, is_allowed):
        CONF.set_override('allow_resize_to_same_host', is_allowed)
        self.addCleanup(CONF.clear_override, 'allow_resize_to_same_host')

    def read(self):
        resizing = {'a': 'x'}
        problem = revision_problem.pin(problems.parse(RAW), {}, resizing)
        return revision_problem.build(problem, resizing, set())

    def test_resized_member_prefers_its_own_host(self):
        self.allow_same_host(True)

        problem = self.read()

        self.assertEqual({'b': 'y'}, problem.pinned)
        own = problem.class_of['a']
        self.assertEqual({*'xyz'}, own.hosts)
        self.assertEqual('x', max(own.scores, key=own.scores.get))

    def test_own_host_is_excluded_if_nova_does_not_resize_there(self):
        self.allow_same_host(False)

        self.assertEqual({*'yz'}, self.read().class_of['a'].hosts)
