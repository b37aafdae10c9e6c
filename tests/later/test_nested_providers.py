# SPDX-License-Identifier: Apache-2.0
"""Revisions of groups on hosts that have child providers."""

from tests.functional import base
from tests.later import incomplete_snapshots


class TestNested(incomplete_snapshots.IncompleteCase):
    """Hosts with child providers, and a group that fills them."""

    def setUp(self):
        super().setUp()
        self.flavor = self.licensed()
        self.fill('cmp-2', VCPU=8)

    def add_root_inventory(self, total):
        """Give cmp-1 licenses of its own."""
        url = f'/resource_providers/{self.root("cmp-1")}/inventories'
        now = self.cloud.placement.get(url).json()
        now['inventories'][incomplete_snapshots.LICENSE] = {'total': total}
        self.cloud.placement.put(url, json=now)
        self.addCleanup(
            self.cloud.placement.delete,
            f'{url}/{incomplete_snapshots.LICENSE}',
        )

    def fast_flavor(self, trait):
        """Return the name of a flavor that also requires a trait."""
        flavor = self.cloud.nova('admin').flavors.create('fast', 512, 1, 1)
        self.addCleanup(flavor.delete)
        flavor.set_keys(
            {
                f'resources:{incomplete_snapshots.LICENSE}': '1',
                f'trait:{trait}': 'required',
            }
        )
        return flavor.name

    def revise(self, members):
        """Revise the group and wait for the decision; returns the group."""
        body = {
            'generation': self.group(self.uuid)['generation'],
            'topology': {'members': members},
        }
        self.api().put(f'{base.GROUPS}/{self.uuid}', json={'vrt_group': body})
        return self.eventually(
            self.group,
            lambda now: (
                now['revision'] is None
                or now['revision']['status'] != 'PLANNING'
            ),
            self.uuid,
        )

    def assert_revised(self, group, count):
        self.assertIsNone(group['revision'], group)
        self.assertEqual(count, len(group['members']))
        self.assertEqual({'HELD'}, {m['status'] for m in group['members']})

    def test_child_provider_of_a_host_that_the_group_fills_is_used(self):
        self.provider('child', parent=self.root('cmp-1'))
        self.hold(8)
        self.assertEqual({'cmp-1': 0, 'cmp-2': 0}, self.free())

        group = self.revise({'b': base.member(self.flavor, count=8)})

        self.assert_revised(group, 8)

    def test_child_provider_beside_a_full_root_provider_is_used(self):
        self.add_root_inventory(1)
        self.fill('cmp-1', **{incomplete_snapshots.LICENSE: 1})
        self.provider('child', parent=self.root('cmp-1'))
        self.hold(8)

        group = self.revise({'b': base.member(self.flavor)})

        self.assert_revised(group, 1)

    def test_member_grows_on_the_child_provider_that_the_group_fills(self):
        self.provider('child', parent=self.root('cmp-1'), total=4)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor, count=4)}}
        )['id']

        group = self.revise({'a': base.member(self.licensed(2), count=2)})

        self.assert_revised(group, 2)

    def test_member_that_outgrows_its_child_provider_is_refused(self):
        self.provider('child', parent=self.root('cmp-1'), total=4)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor, count=4)}}
        )['id']

        group = self.revise({'a': base.member(self.licensed(2), count=3)})

        self.assertEqual('REFUSED', group['revision']['status'], group)

    def test_irrelevant_child_provider_does_not_prevent_a_refusal(self):
        self.provider('child', parent=self.root('cmp-1'))
        self.hold(8)

        group = self.revise({'b': base.member(count=9)})

        self.assertEqual('REFUSED', group['revision']['status'], group)

    def test_holds_on_root_and_child_provider_are_both_reused(self):
        self.add_root_inventory(1)
        self.provider('child', parent=self.root('cmp-1'), total=1)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor, count=2)}}
        )['id']

        group = self.revise({'b': base.member(self.flavor, count=2)})

        self.assert_revised(group, 2)

    def test_hold_on_a_child_without_a_required_trait_does_not_count(self):
        self.provider('child', parent=self.root('cmp-1'), total=1)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor)}}
        )['id']
        self.cloud.placement.put('/traits/CUSTOM_FAST')
        nova = self.cloud.nova('admin')
        [flavor] = [
            each for each in nova.flavors.list() if each.name == self.flavor
        ]
        flavor.set_keys({'trait:CUSTOM_FAST': 'required'})

        group = self.revise({'b': base.member(self.flavor)})

        self.assertEqual('REFUSED', group['revision']['status'], group)

    def test_own_hold_is_an_alternative_to_free_capacity(self):
        self.add_root_inventory(1)
        self.provider('child', parent=self.root('cmp-1'), total=1)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor, count=1)}}
        )['id']

        group = self.revise({'b': base.member(self.flavor, count=2)})

        self.assert_revised(group, 2)

    def test_free_capacity_of_a_child_provider_beside_own_holds_counts(self):
        self.provider('child', parent=self.root('cmp-1'))
        self.uuid = self.hold_group(
            {
                'members': {
                    'a': base.member(self.flavor, count=2),
                    'b': base.member(count=6),
                }
            }
        )['id']
        self.assertEqual({'cmp-1': 0, 'cmp-2': 0}, self.free())

        group = self.revise(
            {
                'a': base.member(self.flavor, count=4),
                'b': base.member(count=4),
            }
        )

        self.assert_revised(group, 8)

    def test_equal_members_share_the_child_providers_of_their_host(self):
        for name in ('first', 'second'):
            self.provider(name, parent=self.root('cmp-1'), total=2)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor, count=2)}}
        )['id']
        before = self.hold_uuids()
        # Because of its cost the planner asks whether moves are better.
        apart = {'type': 'anti-affinity', 'scope': 'host', 'strict': False}

        group = self.revise(
            {
                'a': {
                    **base.member(self.flavor, count=4),
                    'policies': [apart],
                }
            }
        )

        self.assert_revised(group, 4)
        self.assertLessEqual(before.items(), self.hold_uuids().items())

    def test_member_takes_another_child_provider_of_its_host(self):
        fast = 'CUSTOM_FAST'
        self.cloud.placement.put(f'/traits/{fast}')
        root = self.root('cmp-1')
        self.provider('fast', parent=root, traits=[fast], total=1)
        self.uuid = self.hold_group(
            {'members': {'a': base.member(self.flavor)}}
        )['id']
        self.provider('slow', parent=root, total=1)
        # Before the provider, which the group uses from now on.
        self.addCleanup(self.delete_group, self.uuid)

        group = self.revise(
            {
                'a': base.member(self.flavor),
                'b': base.member(self.fast_flavor(fast)),
            }
        )

        self.assert_revised(group, 2)
