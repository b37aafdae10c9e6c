# SPDX-License-Identifier: Apache-2.0
"""Revisions of exclusive groups."""

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
        """Return an admin's client, as the exclusive policy demands."""
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
        """Revise, and expect at each fault point that a host is full."""
        found = []

        def look(_reached):
            found.append(self.cloud.free(host))

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.handler', look):
            self.put_revision(uuid, topology)
        self.assertTrue(found)
        for free in found:
            self.assertEqual({*free.values()}, {0}, found)

    def test_host_stays_exclusive_during_revisions(self):
        uuid = self.hold_group(group('a', policies=[ALONE]))['id']
        self.redeem(uuid, 'a', 'm1.tiny', user='admin')
        home = self.planned_hosts(uuid)['a']
        self.is_alone(home)

        # Members replace placeholders.
        one_host = [ALONE, TOGETHER]
        self.watched(home, uuid, group('a', 'b', 'c', policies=one_host))
        self.assertEqual(dict.fromkeys('abc', home), self.planned_hosts(uuid))
        self.is_alone(home)

        # Members move away, to a host that becomes exclusive.
        self.watched(home, uuid, group('a', 'b', policies=[ALONE, APART]))
        other = self.planned_hosts(uuid)['b']
        self.assertNotEqual(home, other)
        self.is_alone(home, other)
        self.assertEqual([], audit.audit(self.context, self.placement_client))

        # The group is no longer exclusive.
        self.put_revision(uuid, group('a', 'b', policies=[]))
        self.is_alone()
        self.assertEqual(
            {'a': 'ACTIVE', 'b': 'HELD'},
            self.member_statuses(self.group(uuid)),
        )

    def test_foreign_consumers_refuse_a_new_exclusive_policy(self):
        for host in self.HOSTS:
            self.fill(host.name, VCPU=1)
        uuid = self.hold_group(group('a', policies=[]))['id']
        before = self.free(), self.held_hosts(uuid)

        now = self.put_and_wait(uuid, group('a', policies=[ALONE]))

        self.assertEqual('REFUSED', now['revision']['status'])
        self.assertEqual(before, (self.free(), self.held_hosts(uuid)))
        self.assertEqual({'a': 'HELD'}, self.member_statuses(now))


class TestRefused(ExclusiveTestCase, base.StepTestCase):
    """A cloud without a reaper, which would fail the disabled member."""

    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 4))

    def test_exclusive_member_of_a_refused_host_is_replaced(self):
        uuid = self.hold_group(group('a', policies=[ALONE]))['id']
        home = self.planned_hosts(uuid)['a']
        services = self.cloud.nova('admin').services
        [found] = services.list(host=home, binary='nova-compute')
        services.disable(found.id)
        self.addCleanup(services.enable, found.id)

        server = self.redeem(uuid, 'a', 'm1.tiny', user='admin')

        self.assertEqual('ACTIVE', server.status, vars(server))
        other = self.host_of(server)
        self.assertNotEqual(home, other)
        self.assertEqual({'a': other}, self.planned_hosts(uuid))
        self.is_alone(other)
        self.assertEqual([], audit.audit(self.context, self.placement_client))


class TestDying(ExclusiveTestCase, revising.PlanningTestCase):
    HOSTS = (hosts.Host('cmp-1', vcpus=4),)

    def delete_group(self, uuid, user='demo'):
        """Leave the deletion to the test, as no planner service runs."""

    def test_host_stays_exclusive_when_a_planner_dies(self):
        topology = group('a', policies=[ALONE])
        uuid = self.post(topology=topology).json()['vrt_group']['id']
        self.plan(uuid)
        self.assertEqual({'cmp-1': 0}, self.free())
        draft = self.put_draft(uuid, group('a', 'b', policies=[ALONE]))

        self.kill_at('after swap.apply', draft)

        self.assertEqual({'a': 'HELD'}, self.member_statuses(self.group(uuid)))
        self.planner.maintain_exclusive(self.context)
        self.assertEqual({'cmp-1': 0}, self.free())
        self.plan(draft)
        self.assertEqual(
            dict.fromkeys('ab', 'HELD'), self.member_statuses(self.group(uuid))
        )
        rounds.reap(self.planner, self.context)
        self.assertEqual({'cmp-1': 0}, self.free())
        self.assertEqual([], self.audit())
        self.delete_and_check(uuid)
