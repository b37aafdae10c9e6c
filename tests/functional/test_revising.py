# SPDX-License-Identifier: Apache-2.0
"""Does a group take another definition, around what it has already?"""

import fixtures
from nova.scheduler.client import report
from oslo_db import exception as db_exc

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.redeem import reserve
from tests.functional import base
from tests.functional import revising

APART = {'type': 'anti-affinity', 'scope': 'host'}


class TestGrowing(revising.RevisingTestCase):
    def test_who_is_held_stays_and_more_are_held(self):
        uuid = self.held({'members': {'a': base.member(count=2)}})['id']
        before = self.held_on(uuid)

        group = self.revised(uuid, {'members': {'a': base.member(count=5)}})

        self.assertEqual(
            {f'a-{n}': 'HELD' for n in range(5)}, self.states(group)
        )
        self.assertEqual(5, len(self.held_on(uuid)))
        self.assertLessEqual(before.items(), self.held_on(uuid).items())
        self.assertEqual(3, sum(self.free().values()))

    def test_servers_stay_and_the_rest_keeps_the_policies(self):
        topology = {'members': {'a': base.member()}, 'policies': [APART]}
        uuid = self.held(topology)['id']
        server = self.redeem(uuid, 'a', 'm1.tiny')

        self.revised(
            uuid,
            {**topology, 'members': {'a': base.member(), 'b': base.member()}},
        )

        planned = self.planned(uuid)
        self.assertEqual(self.host_of(server), planned['a'])
        self.assertNotEqual(planned['a'], planned['b'])
        self.assertEqual('ACTIVE', self.attempt(uuid, 'b'))

    def test_what_is_dropped_is_given_back(self):
        uuid = self.held({'members': {'a': base.member(count=5)}})['id']

        group = self.revised(uuid, {'members': {'b': base.member()}})

        self.assertEqual({'b': 'HELD'}, self.states(group))
        self.eventually(lambda: sum(self.free().values()), lambda n: n == 7)
        self.assertEqual(1, len(self.holds_of(uuid)))

    def test_what_was_extended_is_held_as_long_as_before(self):
        topology = {'members': {'a': base.member()}}
        uuid = self.held(topology, expires_in=100)['id']
        self.act(uuid, 'extend', {'expires_in': 5000})
        before = self.group(uuid)['expires_at']

        group = self.revised(uuid, {'members': {'a': base.member(count=2)}})

        self.assertEqual(before, group['expires_at'])

    def test_name_and_description_change_too(self):
        topology = {'members': {'a': base.member()}}
        uuid = self.held(topology)['id']

        group = self.revised(uuid, topology, name='new', description='text')

        self.assertEqual(
            ('new', 'text'), (group['name'], group['description'])
        )


class TestShowing(revising.RevisingTestCase):
    def test_what_is_shown_is_not_older_than_its_revision(self):
        """A revision is done between the look at the group and at drafts."""
        uuid = self.held({'members': {'a': base.member()}})['id']
        drafts_of = objects.VRTGroup.drafts_of
        topologies = [{'members': {'b': base.member()}}]

        def revise_and_look(*args):
            if topologies:
                self.revised(uuid, topologies.pop())
            return drafts_of(*args)

        self.patch(objects.VRTGroup, 'drafts_of', revise_and_look)

        group = self.group(uuid)

        self.assertEqual({'b': 'HELD'}, self.states(group))


class TestRefusal(revising.RevisingTestCase):
    def setUp(self):
        super().setUp()
        self.topology = {'members': {'a': base.member(count=2)}}
        self.uuid = self.held(self.topology)['id']

    def test_what_does_not_fit_changes_nothing_and_says_why(self):
        before = self.group(self.uuid), self.held_on(self.uuid)
        wanted = {'members': {'a': base.member(count=20)}}

        group = self.decided(self.uuid, wanted)

        revision = group.pop('revision')
        self.assertEqual('REFUSED', revision['status'])
        self.assertTrue(revision['refusal']['conflict'])
        self.assertEqual(wanted, revision['topology'])
        self.assertEqual(before[0]['members'], group['members'])
        self.assertEqual(before[0]['topology'], group['topology'])
        self.assertEqual(before[1], self.held_on(self.uuid))

        self.revised(self.uuid, {'members': {'a': base.member(count=3)}})

    def test_an_old_generation_is_refused(self):
        generation = self.group(self.uuid)['generation']

        self.assertRefused(
            409,
            'has changed since',
            self.put(self.uuid, self.topology, generation - 1),
        )

    def test_members_that_are_servers_are_not_dropped(self):
        self.redeem(self.uuid, 'a-1', 'm1.tiny')

        self.assertRefused(
            409,
            'Member a-1 is ACTIVE',
            self.put(self.uuid, {'members': {'b': base.member()}}),
        )

    def test_of_servers_only_the_flavor_is_described_anew(self):
        self.redeem(self.uuid, 'a-1', 'm1.tiny')

        self.assertRefused(
            409,
            'Member a-1 is ACTIVE',
            self.put(
                self.uuid,
                {
                    'members': {
                        'a': base.member(count=2, availability_zone='az1')
                    }
                },
            ),
        )

    def test_a_released_group_is_not_revised(self):
        self.act(self.uuid, 'release')

        self.assertRefused(
            409, 'describe a new group', self.put(self.uuid, self.topology)
        )

    def test_nor_is_one_that_is_released_before_it_is_planned(self):
        plan = planner.Planner._plan

        def release_and_plan(*args):
            group = objects.VRTGroup.get(self.context, self.uuid)
            transitions.give_up(self.context, group)
            return plan(*args)

        self.patch(planner.Planner, '_plan', release_and_plan)

        group = self.decided(
            self.uuid, {'members': {'a': base.member(count=3)}}
        )

        self.assertEqual('RELEASED', group['status'])
        self.assertEqual('UNDECIDED', group['revision']['status'])
        self.assertIn(
            'describe a new group', group['revision']['fault']['message']
        )


class TestExchange(revising.RevisingTestCase):
    HOSTS = (
        hosts.Host('cmp-1', vcpus=4),
        hosts.Host('cmp-2', vcpus=2),
    )

    def test_two_change_places_when_there_is_no_other_room(self):
        large, small = base.member('m1.large'), base.member('m1.medium')
        uuid = self.held({'members': {'a': large, 'b': small}})['id']
        self.assertEqual({'a': 'cmp-1', 'b': 'cmp-2'}, self.planned(uuid))

        self.revised(uuid, {'members': {'a': small, 'b': large}})

        self.assertEqual({'a': 'cmp-2', 'b': 'cmp-1'}, self.planned(uuid))
        self.assertEqual({'cmp-1': 0, 'cmp-2': 0}, self.free())
        self.assertEqual('ACTIVE', self.attempt(uuid, 'a', 'm1.medium'))


class TestRedefining(revising.RevisingTestCase):
    def test_what_is_not_held_is_planned_as_if_it_were_new(self):
        one = {'members': {'a': base.member()}}
        uuid = self.describe(one, hold=False)['id']
        two = {'members': {'a': base.member('m1.medium'), 'b': base.member()}}

        self.assertEqual(202, self.put(uuid, two).status_code)

        group = self.eventually(
            self.group, lambda now: now['status'] == 'PLANNED', uuid
        )
        self.assertEqual(two, group['topology'])
        self.assertEqual({'a', 'b'}, set(self.planned(uuid)))


class TestReplanning(revising.RevisingTestCase):
    def replanned(self, uuid, body=None):
        response = self.act(uuid, 'replan', body)
        self.assertEqual(202, response.status_code, response.text)
        return self.eventually(
            self.group,
            lambda now: (
                revising.is_decided(now) and now['status'] != 'PLANNING'
            ),
            uuid,
        )

    def fail(self, uuid, path):
        """Let a held member fail, as if its build had."""
        [member] = [
            each
            for each in objects.VRTGroup.get(self.context, uuid).members
            if each.path == path
        ]
        hold = objects.VRTHold.get_by_member(self.context, member.id)
        values = {'status': states.Member.FAILED, 'fault': 'it burnt down'}
        ownership.end(self.context, hold, member, values)

    def setUp(self):
        super().setUp()
        self.ledger = placement_client.PlacementClient(
            report.SchedulerReportClient()
        )

    def test_who_has_failed_is_held_on_another_host(self):
        uuid = self.held({'members': {'a': base.member(count=2)}})['id']
        failed_on = self.planned(uuid)['a-0']
        self.fail(uuid, 'a-0')

        group = self.replanned(uuid)

        self.assertEqual({'a-0': 'HELD', 'a-1': 'HELD'}, self.states(group))
        self.assertIsNone(group['members'][0]['fault'])
        self.assertNotEqual(failed_on, self.planned(uuid)['a-0'])
        self.assertEqual('ACTIVE', self.attempt(uuid, 'a-0'))

    def test_where_everybody_has_failed_all_are_held_on_another_host(self):
        uuid = self.held({'members': {'a': base.member()}})['id']
        failed_on = self.planned(uuid)['a']
        self.fail(uuid, 'a')
        self.assertEqual('RELEASED', self.group(uuid)['status'])

        group = self.replanned(uuid)

        self.assertEqual(
            ('HELD', {'a': 'HELD'}), (group['status'], self.states(group))
        )
        self.assertNotEqual(failed_on, self.planned(uuid)['a'])

    def test_what_was_released_is_held_again(self):
        uuid = self.held({'members': {'a': base.member(count=2)}})['id']
        self.act(uuid, 'release')
        self.eventually(self.free, lambda free: sum(free.values()) == 8)

        group = self.replanned(uuid)

        self.assertEqual({'a-0': 'HELD', 'a-1': 'HELD'}, self.states(group))
        self.assertEqual(6, sum(self.free().values()))

    def test_only_named_members_move(self):
        """The soft policy would be met if any of the two moved."""
        together = {'type': 'affinity', 'scope': 'host', 'strict': False}
        others = [self.cloud.fill(host.name, VCPU=3) for host in self.HOSTS]
        uuid = self.held(
            {
                'members': {'a': base.member(), 'b': base.member()},
                'policies': [together],
            }
        )['id']
        before = self.planned(uuid)
        self.assertEqual(2, len(set(before.values())))
        for each in others:
            self.cloud.placement.delete(f'/allocations/{each}')

        self.replanned(uuid, {'members': ['b']})

        self.assertEqual(dict.fromkeys('ab', before['a']), self.planned(uuid))

    def test_only_what_is_no_server_may_move(self):
        uuid = self.held({'members': {'a': base.member()}})['id']
        self.redeem(uuid, 'a', 'm1.tiny')

        self.assertRefused(
            409,
            'servers stay where they are',
            self.act(uuid, 'replan', {'members': ['a']}),
        )

    def test_an_unknown_member_is_not_found(self):
        uuid = self.held({'members': {'a': base.member()}})['id']

        self.assertRefused(
            404,
            'has no member b',
            self.act(uuid, 'replan', {'members': ['b']}),
        )


class TestDying(revising.PlanningTestCase):
    """A planner dies; another one finds what it has left."""

    POINTS = ('before swap.apply', 'after swap.apply', 'after revise.commit')
    HOSTS = TestExchange.HOSTS
    LARGE, SMALL = base.member('m1.large'), base.member('m1.medium')
    OLD = {'members': {'a': LARGE, 'b': SMALL}}
    # Both change places, and there is no other room.
    NEW = {'members': {'a': SMALL, 'c': LARGE}}

    def described(self):
        """Return the uuids of a held group and of its draft."""
        uuid = self.post(topology=self.OLD).json()['vrt_group']['id']
        self.addCleanup(self.forget, uuid)
        self.plan(uuid)
        self.assertEqual('HELD', self.group(uuid)['status'])
        return uuid, self.drafted(uuid, self.NEW)

    def delete_group(self, uuid, user='demo'):
        """There is no planner to do it but the test's own."""

    def test_the_group_is_old_or_new_wherever_it_dies(self):
        for point in self.POINTS:
            uuid, draft = self.described()

            self.die_at(point, draft)

            is_new = point == 'after revise.commit'
            self.check(uuid, self.NEW if is_new else self.OLD, point)
            # Who comes next finishes it, or takes up what is left.
            self.plan(draft)
            self.reap()
            self.check(uuid, self.NEW, point)
            self.assertEqual([], self.audit(), point)
            self.forget(uuid)

    def test_nobody_gets_what_changes_places_until_it_changes_back(self):
        """However long it takes until another planner decides."""
        uuid, draft = self.described()
        self.die_at('before revise.commit', draft)
        self.age(draft)

        for _round in range(2):
            self.planner.reap(self.context)
            self.assertEqual({'cmp-1': 0, 'cmp-2': 0}, self.free())
        self.reap()

        self.check(uuid, self.NEW, 'later')
        self.assertEqual([], self.audit())

    def test_no_server_comes_while_places_change_hands(self):
        self.patch(reserve, 'PATIENCE', 1)
        uuid, draft = self.described()
        self.die_at('before revise.commit', draft)

        told = self.attempt(uuid, 'a', 'm1.large')

        self.assertIn('its group is being revised at this moment', told)
        self.plan(draft)
        self.check(uuid, self.NEW, told)
        self.assertEqual([], self.audit())

    def fail_once(self, name):
        """Let something happen, once, that nobody expects."""
        stock = getattr(revisions, name)

        def fail(*_args, **_kwargs):
            self.patch(revisions, name, stock)
            raise ValueError

        self.patch(revisions, name, fail)

    def test_all_stays_after_what_nobody_expected(self):
        uuid, draft = self.described()
        before = self.planned(uuid)
        self.fail_once('prepare')

        self.plan(draft)

        group = self.group(uuid)
        self.assertEqual('ERROR', group['revision']['status'])
        self.check(uuid, self.OLD, 'prepare')
        self.assertEqual(before, self.planned(uuid))
        self.assertEqual([], self.audit())

    def test_once_places_have_changed_the_group_is_revised(self):
        uuid, draft = self.described()
        self.fail_once('commit')

        self.plan(draft)

        self.assertIsNone(self.group(uuid)['revision'])
        self.check(uuid, self.NEW, 'commit')
        self.assertEqual([], self.audit())

    def check(self, uuid, topology, point):
        """The group is as described, and all of it is held."""
        self.planner.reap(self.context)
        group = self.group(uuid)
        self.assertEqual(topology, group['topology'], point)
        self.assertEqual(
            dict.fromkeys(topology['members'], 'HELD'),
            self.states(group),
            point,
        )

    def test_trouble_with_the_database_costs_a_retry(self):
        uuid, draft = self.described()

        def fail(*_args, **_kwargs):
            raise db_exc.DBError

        with fixtures.MonkeyPatch(
            'nova_groupext.objects.revisions.commit', fail
        ):
            self.plan(draft)
        self.assertEqual('PLANNING', self.group(uuid)['revision']['status'])

        self.planner.beat(self.context)
        self.planner.serve_waiting(self.context)

        self.check(uuid, self.NEW, 'the next try')
        self.assertEqual([], self.audit())
