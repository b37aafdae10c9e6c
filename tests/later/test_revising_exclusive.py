# SPDX-License-Identifier: Apache-2.0
"""Are groups revised that have hosts to themselves?"""

import dataclasses

import fixtures

from nova_groupext.cloud import hosts
from nova_groupext.cloud import with_groups
from nova_groupext.scheduler.audit import audit
from tests import rounds
from tests.functional import base
from tests.functional import revising

ALONE = {'type': 'exclusive', 'scope': 'host'}
TOGETHER = {'type': 'affinity', 'scope': 'host'}
APART = {'type': 'anti-affinity', 'scope': 'host'}


def group(*paths, policies):
    return {
        'members': {path: base.member() for path in paths},
        'policies': policies,
    }


class ExclusiveTestCase(revising.RevisingTestCase):
    def api(self, user='demo'):
        """Only admins may ask for it, unless the operator says otherwise."""
        return super().api('admin')

    def is_alone(self, *names):
        def full():
            return {
                host.name
                for host in self.HOSTS
                if not any(self.cloud.free(host.name).values())
            }

        self.eventually(full, lambda found: found == {*names})


class TestExclusive(ExclusiveTestCase, base.StepTestCase):
    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 4))
    PARTS = dataclasses.replace(
        with_groups.HOLISTIC,
        config=f'{with_groups.HOLISTIC.config}\n'
        'exclusive_reap_interval = 3600\n',
    )

    def watched(self, host, uuid, topology):
        """Revise, and see at each step that nobody gets into a host."""
        found = []

        def look(_reached):
            found.append(self.cloud.free(host))

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', look):
            self.revised(uuid, topology)
        self.assertTrue(found)
        for free in found:
            self.assertEqual({*free.values()}, {0}, found)

    def test_nobody_gets_in_while_members_come_and_go(self):
        uuid = self.held(group('a', policies=[ALONE]))['id']
        self.redeem(uuid, 'a', 'm1.tiny', user='admin')
        home = self.planned(uuid)['a']
        self.is_alone(home)

        # Where fillers are.
        one_host = [ALONE, TOGETHER]
        self.watched(home, uuid, group('a', 'b', 'c', policies=one_host))
        self.assertEqual(dict.fromkeys('abc', home), self.planned(uuid))
        self.is_alone(home)

        # Away from there, and to a host that is new.
        self.watched(home, uuid, group('a', 'b', policies=[ALONE, APART]))
        other = self.planned(uuid)['b']
        self.assertNotEqual(home, other)
        self.is_alone(home, other)
        self.assertEqual([], audit.audit(self.context, self.ledger))

        # And without any of that.
        self.revised(uuid, group('a', 'b', policies=[]))
        self.is_alone()
        self.assertEqual(
            {'a': 'ACTIVE', 'b': 'HELD'}, self.states(self.group(uuid))
        )

    def test_where_strangers_are_a_group_does_not_become_alone(self):
        for host in self.HOSTS:
            self.fill(host.name, VCPU=1)
        uuid = self.held(group('a', policies=[]))['id']
        before = self.free(), self.held_on(uuid)

        now = self.decided(uuid, group('a', policies=[ALONE]))

        self.assertEqual('REFUSED', now['revision']['status'])
        self.assertEqual(before, (self.free(), self.held_on(uuid)))
        self.assertEqual({'a': 'HELD'}, self.states(now))


class TestRefused(ExclusiveTestCase, base.StepTestCase):
    """A reaper would let the member fail whose host is disabled."""

    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 4))

    def test_where_its_host_is_refused_a_group_has_another(self):
        uuid = self.held(group('a', policies=[ALONE]))['id']
        home = self.planned(uuid)['a']
        services = self.cloud.nova('admin').services
        [found] = services.list(host=home, binary='nova-compute')
        services.disable(found.id)
        self.addCleanup(services.enable, found.id)

        server = self.redeem(uuid, 'a', 'm1.tiny', user='admin')

        self.assertEqual('ACTIVE', server.status, vars(server))
        other = self.host_of(server)
        self.assertNotEqual(home, other)
        self.assertEqual({'a': other}, self.planned(uuid))
        self.is_alone(other)
        self.assertEqual([], audit.audit(self.context, self.ledger))


class TestDying(ExclusiveTestCase, revising.PlanningTestCase):
    HOSTS = (hosts.Host('cmp-1', vcpus=4),)

    def delete_group(self, uuid, user='demo'):
        """There is no planner to do it but the test's own."""

    def test_nobody_gets_in_when_a_planner_dies(self):
        topology = group('a', policies=[ALONE])
        uuid = self.post(topology=topology).json()['vrt_group']['id']
        self.plan(uuid)
        self.assertEqual({'cmp-1': 0}, self.free())
        draft = self.drafted(uuid, group('a', 'b', policies=[ALONE]))

        self.die_at('after swap.apply', draft)

        self.assertEqual({'a': 'HELD'}, self.states(self.group(uuid)))
        self.planner.keep_exclusive(self.context)
        self.assertEqual({'cmp-1': 0}, self.free())
        self.plan(draft)
        self.assertEqual(
            dict.fromkeys('ab', 'HELD'), self.states(self.group(uuid))
        )
        rounds.reap(self.planner, self.context)
        self.assertEqual({'cmp-1': 0}, self.free())
        self.assertEqual([], self.audit())
        self.forget(uuid)
