# SPDX-License-Identifier: Apache-2.0
"""What becomes of a group while its revision waits, or cannot be decided?"""

import fixtures

from nova_groupext import exception
from nova_groupext.cloud import hosts
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.reap import reaper
from tests.functional import base
from tests.functional import revising

CANDIDATES = (
    'nova_groupext.scheduler.placement.placement_client.'
    'PlacementClient.candidates'
)
ALONE = {'type': 'exclusive', 'scope': 'host'}


def alone(**members):
    return {'members': members, 'policies': [ALONE]}


class WaitingCase(revising.PlanningTestCase):
    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 3))

    def api(self, user='demo'):
        """Only admins may have hosts alone, or see these flavors."""
        return super().api('admin')

    def delete_group(self, uuid, user='demo'):
        """There is no planner to do it but the test's own."""

    def described(self, topology):
        uuid = self.post(topology=topology).json()['vrt_group']['id']
        self.addCleanup(self.forget, uuid)
        self.plan(uuid)
        return uuid

    def strange_member(self):
        """A member for which no host can ever do."""
        flavors = self.cloud.nova('admin').flavors
        flavor = flavors.create('strange', 512, 1, 1)
        self.addCleanup(flavor.delete)
        flavor.set_keys({'trait:CUSTOM_NOT_THERE': 'required'})
        return base.member('strange')

    def revision(self, uuid):
        found = self.group(uuid)['revision']
        return found['status'], found['fault']['message']


class TestUnknown(WaitingCase):
    """A flavor requires a trait that Placement does not know."""

    def test_a_new_group_is_refused_and_told_why(self):
        strange = self.strange_member()
        uuid = self.described({'members': {'a': base.member(), 'b': strange}})

        group = self.group(uuid)

        self.assertEqual('REFUSED', group['status'], group)
        [conflict] = group['refusal']['conflict']
        self.assertEqual('b', conflict['members'])
        self.assertIn(
            'No host can take b: the flavor', group['fault']['message']
        )

    def test_a_revision_is_refused_and_another_one_taken(self):
        uuid = self.described(alone(a=base.member()))
        more = alone(a=base.member(), b=self.strange_member())

        self.plan(self.drafted(uuid, more))

        status, fault = self.revision(uuid)
        self.assertEqual('REFUSED', status)
        self.assertIn('No host can take b: the flavor', fault)
        self.plan(self.drafted(uuid, alone(b=base.member())))
        self.assertIsNone(self.group(uuid)['revision'])


class TestWaiting(WaitingCase):
    def setUp(self):
        super().setUp()
        self.uuid = self.described(alone(a=base.member()))
        self.before = self.free()
        self.assertEqual([0, 4], sorted(self.before.values()))

    def lose(self, is_placeholder):
        """Remove what holds a part of the group's host."""
        hold = next(
            each
            for each in self.holds_of(self.uuid)
            if each.is_placeholder == is_placeholder
        )
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        self.assertNotEqual(self.before, self.free())

    def test_a_group_is_kept_alone_until_its_revision_is_planned(self):
        draft = self.drafted(self.uuid, alone(a=base.member(count=2)))
        self.lose(is_placeholder=True)

        self.planner.keep_exclusive(self.context)

        self.assertEqual(self.before, self.free())
        self.plan(draft)
        self.assertIsNone(self.group(self.uuid)['revision'])

    def test_what_is_held_is_followed_until_then(self):
        draft = self.drafted(self.uuid, alone(a=base.member(count=2)))
        self.lose(is_placeholder=False)

        self.planner.reap(self.context)
        self.planner.keep_exclusive(self.context)

        self.assertEqual(self.before, self.free())
        self.plan(draft)
        self.assertIsNone(self.group(self.uuid)['revision'])

    def test_it_waits_until_placement_answers(self):
        def say_nothing(*_args):
            raise exception.PlacementUnavailable(reason='it is away')

        draft = self.drafted(self.uuid, alone(a=base.member(count=2)))
        with fixtures.MonkeyPatch(CANDIDATES, say_nothing):
            self.plan(draft)
        self.assertEqual(
            ('PLANNING', planner.PLACEMENT_SILENT), self.revision(self.uuid)
        )
        self.assertEqual('HELD', self.group(self.uuid)['status'])

        self.planner.beat(self.context)
        self.planner.serve_waiting(self.context)

        group = self.group(self.uuid)
        self.assertEqual((None, None), (group['revision'], group['fault']))
        self.assertEqual(['a-0', 'a-1'], sorted(self.states(group)))

    def test_who_keeps_a_group_knows_it_as_it_is_by_then(self):
        """It is revised after it was found among those to be kept."""
        found = reaper.to_keep(self.context)
        wide = alone(a=base.member(), b=base.member('m1.large'))
        self.plan(self.drafted(self.uuid, wide))
        self.assertIsNone(self.group(self.uuid)['revision'])
        self.assertEqual([0, 0], [*self.free().values()])

        with fixtures.MockPatchObject(reaper, 'to_keep', lambda _c: found):
            self.planner.keep_exclusive(self.context)

        self.assertEqual([0, 0], [*self.free().values()])

    def test_nothing_is_kept_while_places_change_hands(self):
        """Whoever died over that has the group's lease still."""
        draft = self.drafted(self.uuid, alone(a=base.member(count=2)))
        self.die_at('before revise.commit', draft)
        rows = {hold.uuid: hold.status for hold in self.holds_of(self.uuid)}

        planner.Planner('another').keep_exclusive(self.context)

        self.assertEqual(
            rows, {hold.uuid: hold.status for hold in self.holds_of(self.uuid)}
        )
        self.plan(draft)
        self.assertIsNone(self.group(self.uuid)['revision'])
