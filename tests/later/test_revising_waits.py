# SPDX-License-Identifier: Apache-2.0
"""Groups whose revision waits for a planner, or cannot be decided."""

import fixtures

from nova_groupext import exception
from nova_groupext.cloud import hosts
from nova_groupext.objects.group import VRTGroup
from nova_groupext.scheduler import planner
from nova_groupext.scheduler import serve
from tests.functional import base
from tests.functional import revising

CANDIDATES = (
    'nova_groupext.scheduler.placement.client.PlacementClient.candidates'
)
ALONE = {'type': 'exclusive', 'scope': 'host'}


def alone(**members):
    return {'members': members, 'policies': [ALONE]}


class WaitingCase(revising.PlanningTestCase):
    HOSTS = tuple(hosts.Host(f'cmp-{n}', vcpus=4) for n in range(1, 3))

    def api(self, user='demo'):
        """Return an admin's client: exclusive hosts need its role."""
        return super().api('admin')

    def delete_group(self, uuid, user='demo'):
        """Leave the deletion to the test, as no planner service runs."""

    def described(self, topology):
        uuid = self.post(topology=topology).json()['vrt_group']['id']
        self.addCleanup(self.delete_and_check, uuid)
        self.plan(uuid)
        return uuid

    def strange_member(self):
        """Return a member that no host satisfies."""
        flavors = self.cloud.nova('admin').flavors
        flavor = flavors.create('strange', 512, 1, 1)
        self.addCleanup(flavor.delete)
        flavor.set_keys({'trait:CUSTOM_NOT_THERE': 'required'})
        return base.member('strange')

    def revision(self, uuid):
        found = self.group(uuid)['revision']
        return found['status'], found['fault']['message']


class TestUnknownTrait(WaitingCase):
    """A flavor with a required trait that Placement does not know."""

    def test_new_group_with_an_unknown_trait_is_refused(self):
        strange = self.strange_member()
        uuid = self.described({'members': {'a': base.member(), 'b': strange}})

        group = self.group(uuid)

        self.assertEqual('REFUSED', group['status'], group)
        [conflict] = group['refusal']['conflict']
        self.assertEqual('b', conflict['members'])
        self.assertIn(
            'No host can take b: the flavor', group['fault']['message']
        )

    def test_revision_is_accepted_after_a_refused_one(self):
        uuid = self.described(alone(a=base.member()))
        more = alone(a=base.member(), b=self.strange_member())

        self.plan(self.put_draft(uuid, more))

        status, fault = self.revision(uuid)
        self.assertEqual('REFUSED', status)
        self.assertIn('No host can take b: the flavor', fault)
        self.plan(self.put_draft(uuid, alone(b=base.member())))
        self.assertIsNone(self.group(uuid)['revision'])


class TestWaiting(WaitingCase):
    def setUp(self):
        super().setUp()
        self.uuid = self.described(alone(a=base.member()))
        self.before = self.free()
        self.assertEqual([0, 4], sorted(self.before.values()))

    def lose(self, is_placeholder):
        """Delete the allocation of a hold or placeholder of the group."""
        hold = next(
            each
            for each in self.holds_of(self.uuid)
            if each.is_placeholder == is_placeholder
        )
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        self.assertNotEqual(self.before, self.free())

    def test_group_stays_exclusive_until_its_revision_is_planned(self):
        draft = self.put_draft(self.uuid, alone(a=base.member(count=2)))
        self.lose(is_placeholder=True)

        self.planner.maintain_exclusive(self.context)

        self.assertEqual(self.before, self.free())
        self.plan(draft)
        self.assertIsNone(self.group(self.uuid)['revision'])

    def test_lost_hold_is_replaced_until_the_revision_is_planned(self):
        draft = self.put_draft(self.uuid, alone(a=base.member(count=2)))
        self.lose(is_placeholder=False)

        self.planner.reap(self.context)
        self.planner.maintain_exclusive(self.context)

        self.assertEqual(self.before, self.free())
        self.plan(draft)
        self.assertIsNone(self.group(self.uuid)['revision'])

    def test_revision_waits_until_placement_answers(self):
        def say_nothing(*_args):
            raise exception.PlacementUnavailable(reason='it is away')

        draft = self.put_draft(self.uuid, alone(a=base.member(count=2)))
        with fixtures.MonkeyPatch(CANDIDATES, say_nothing):
            self.plan(draft)
        self.assertEqual(
            ('PLANNING', serve.PLACEMENT_SILENT), self.revision(self.uuid)
        )
        self.assertEqual('HELD', self.group(self.uuid)['status'])

        self.planner.beat(self.context)
        self.planner.serve_waiting(self.context)

        group = self.group(self.uuid)
        self.assertEqual((None, None), (group['revision'], group['fault']))
        self.assertEqual(['a-0', 'a-1'], sorted(self.member_statuses(group)))

    def test_maintenance_of_exclusive_hosts_uses_the_revised_group(self):
        """The revision ends after the exclusive groups were listed."""
        found = VRTGroup.list_exclusive(self.context)
        wide = alone(a=base.member(), b=base.member('m1.large'))
        self.plan(self.put_draft(self.uuid, wide))
        self.assertIsNone(self.group(self.uuid)['revision'])
        self.assertEqual([0, 0], [*self.free().values()])

        with fixtures.MockPatchObject(
            VRTGroup, 'list_exclusive', lambda _c: found
        ):
            self.planner.maintain_exclusive(self.context)

        self.assertEqual([0, 0], [*self.free().values()])

    def test_unfinished_swap_is_not_maintained(self):
        """The lease of the dead planner has not expired."""
        draft = self.put_draft(self.uuid, alone(a=base.member(count=2)))
        self.kill_at('before revise.commit', draft)
        rows = {hold.uuid: hold.status for hold in self.holds_of(self.uuid)}

        planner.Planner('another').maintain_exclusive(self.context)

        self.assertEqual(
            rows, {hold.uuid: hold.status for hold in self.holds_of(self.uuid)}
        )
        self.plan(draft)
        self.assertIsNone(self.group(self.uuid)['revision'])
