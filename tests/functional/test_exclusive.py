# SPDX-License-Identifier: Apache-2.0
"""Is a group alone where its policy says so, as long as it stands?"""

import dataclasses

import fixtures
from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import objects as nova_objects
from nova.scheduler import host_manager
from oslo_db import exception as db_exc

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.cloud import holistic
from nova_groupext.cloud import hosts
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import transitions
from nova_groupext.scheduler.filters import holistic_filter
from nova_groupext.scheduler.follow import audit
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import heal
from nova_groupext.scheduler.hold import exclusive
from tests.functional import base

HOSTS = (
    hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
    hosts.Host('cmp-2', 'r1', 'az1', vcpus=8),
    hosts.Host('cmp-3', 'r2', 'az1', vcpus=8),
)

# A host has twice as many VCPU as one consumer may have.
OVERCOMMITTED = '\n[DEFAULT]\ncpu_allocation_ratio = 2.0\n'

# A rack alone; the large members fit into the first rack only.
ONE_RACK = {
    'members': {'a': base.member('m1.xlarge', count=3)},
    'policies': [
        {'type': 'affinity', 'scope': 'rack'},
        {'type': 'exclusive', 'scope': 'rack'},
    ],
}


class ExclusiveTestCase(base.GroupTestCase):
    HOSTS = HOSTS
    ALONE = ('cmp-1', 'cmp-2')

    def exclusive(self, topology=ONE_RACK, **group):
        """Only admins may ask for it, unless the operator says otherwise."""
        return self.held(topology, user='admin', **group)

    def assert_alone(self, *names):
        """Nobody gets the smallest part of anything on these hosts."""
        for name in names or self.ALONE:
            for resource, rest in self.cloud.free(name).items():
                self.assertEqual(0, rest, (name, resource))
                self.assertRaises(
                    ks_exc.Conflict, self.cloud.fill, name, **{resource: 1}
                )

    def stranger(self, host, **kwargs):
        return self.boot(
            user='admin', availability_zone=f'az1:{host}', **kwargs
        )

    def empty(self):
        return {host.name: 2 * host.vcpus for host in HOSTS}

    def consumers(self, host):
        """Return {consumer: its type} of a host."""
        provider = self.cloud.provider(host)
        path = f'/resource_providers/{provider}/allocations'
        written = self.cloud.placement.get(path).json()['allocations']
        found = {
            uuid: self.cloud.placement.get(f'/allocations/{uuid}').json()
            for uuid in written
        }
        # One may have gone since it was listed.
        return {
            uuid: each['consumer_type']
            for uuid, each in found.items()
            if each['allocations']
        }


class TestExclusive(ExclusiveTestCase):
    PARTS = dataclasses.replace(
        holistic.HOLISTIC,
        config=f'{holistic.HOLISTIC.config}\nexclusive_interval = 1\n'
        f'{OVERCOMMITTED}',
    )

    def test_strangers_get_nothing_of_its_rack_while_the_group_stands(self):
        uuid = self.exclusive()['id']

        self.assert_alone()
        outside = self.stranger('cmp-3')
        self.assertEqual('ACTIVE', outside.status)
        inside = self.stranger('cmp-1')
        self.assertIn('No valid host', inside.fault['message'])

        for path in ('a-0', 'a-1', 'a-2'):
            server = self.redeem(uuid, path, 'm1.xlarge', user='admin')
            self.assertEqual('ACTIVE', server.status)
            self.assert_alone()
        self.assertEqual('ACTIVE', self.group(uuid, 'admin')['status'])

        self.remove(server)
        self.eventually(self.free, lambda free: free['cmp-1'] == 0)
        self.eventually(self.free, lambda free: free['cmp-2'] == 0)
        self.assert_alone()

    def test_as_many_fillers_as_max_unit_demands(self):
        self.exclusive(
            {
                'members': {'a': base.member()},
                'policies': [{'type': 'exclusive', 'scope': 'host'}],
            }
        )

        [alone] = [name for name, free in self.free().items() if free == 0]
        self.assert_alone(alone)
        self.assertEqual(
            ['VRT_EXCLUSIVE', 'VRT_EXCLUSIVE', 'VRT_MEMBER'],
            sorted(self.consumers(alone).values()),
        )

    def test_a_released_member_leaves_its_place_to_nobody(self):
        uuid = self.exclusive()['id']

        self.act(uuid, 'release', {'members': ['a-2']}, user='admin')

        self.eventually(
            lambda: [
                *self.consumers('cmp-1').values(),
                *self.consumers('cmp-2').values(),
            ].count('VRT_MEMBER'),
            lambda members: members == 2,
        )
        self.assert_alone()

    def test_everything_goes_back_when_the_last_member_is_released(self):
        uuid = self.exclusive()['id']

        self.act(uuid, 'release', user='admin')

        self.eventually(self.free, lambda free: free == self.empty())

    def test_everything_goes_back_when_the_group_is_deleted(self):
        uuid = self.exclusive()['id']
        server = self.redeem(uuid, 'a-0', 'm1.xlarge', user='admin')

        self.delete_group(uuid, user='admin')

        self.assertEqual(
            sum(self.empty().values()) - 8, sum(self.free().values())
        )
        self.assertEqual('ACTIVE', server.manager.get(server).status)

    def test_where_strangers_are_everywhere_the_group_is_refused(self):
        for name in ('cmp-1', 'cmp-3'):
            self.fill(name, VCPU=1)

        group = self.describe(ONE_RACK, user='admin')

        self.assertEqual('REFUSED', group['status'])
        self.assertEqual(
            sum(self.empty().values()) - 2, sum(self.free().values())
        )

    def test_other_groups_find_no_room_there(self):
        self.exclusive()

        other = self.describe({'members': {'b': base.member(count=17)}})
        another = self.held({'members': {'b': base.member(count=16)}})

        self.assertEqual('REFUSED', other['status'])
        self.assertEqual({'cmp-3'}, set(self.planned(another['id']).values()))

    def test_a_host_that_comes_into_the_rack_is_kept_until_it_leaves(self):
        self.exclusive()
        self.assertEqual(16, self.free()['cmp-3'])

        self.move_host('cmp-3', 'rack-r2', 'rack-r1')
        self.addCleanup(self.move_host, 'cmp-3', 'rack-r1', 'rack-r2')
        self.eventually(self.free, lambda free: free['cmp-3'] == 0)
        self.assert_alone('cmp-1', 'cmp-2', 'cmp-3')

        self.move_host('cmp-3', 'rack-r1', 'rack-r2')
        self.eventually(self.free, lambda free: free['cmp-3'] == 16)
        self.assert_alone()

    def move_host(self, name, source, target):
        aggregates = self.cloud.nova('admin').aggregates
        by_name = {each.name: each for each in aggregates.list()}
        if name in by_name[source].hosts:
            aggregates.remove_host(by_name[source], name)
            aggregates.add_host(by_name[target], name)

    def test_a_member_is_not_moved_and_a_stranger_is(self):
        uuid = self.exclusive(
            {
                'members': {'a': base.member(count=1)},
                'policies': [{'type': 'exclusive', 'scope': 'host'}],
            }
        )['id']
        # Its hint is the name of all that are counted, not its own path.
        member = self.redeem(uuid, 'a', 'm1.tiny', user='admin')
        [own] = [name for name, free in self.free().items() if free == 0]
        source = next(h.name for h in HOSTS if h.name != own)
        stranger = self.stranger(source)

        member.manager.migrate(member)
        stranger.manager.migrate(stranger)

        self.eventually(
            stranger.manager.get,
            lambda now: now.status == 'VERIFY_RESIZE',
            stranger,
        )
        self.eventually(
            self.outcome, lambda outcome: outcome == 'Error', member, 'migrate'
        )
        self.assertEqual('ACTIVE', member.manager.get(member).status)
        self.assertEqual(own, self.host_of(member))
        self.assert_alone(own)

    def outcome(self, server, action):
        """Return how a server's action ended; None before that."""
        actions = self.cloud.nova('admin').instance_action
        for each in actions.list(server):
            if each.action == action:
                shown = actions.get(server, each.request_id)
                return shown.events[0]['result']
        return None

    def test_a_what_if_is_held_later(self):
        uuid = self.describe(ONE_RACK, user='admin', hold=False)['id']
        self.assertEqual(self.empty(), self.free())

        self.act(uuid, 'hold', user='admin')

        self.eventually(
            self.group, lambda now: now['status'] == 'HELD', uuid, 'admin'
        )
        self.assert_alone()

    def test_who_may_not_ask_for_it_may_not_hold_it_either(self):
        uuid = self.describe({'members': {'a': base.member()}}, hold=False)[
            'id'
        ]
        context = nova_context.get_admin_context()
        group = objects.VRTGroup.get(context, uuid)
        # Described while the tenant still had the right.
        db.create(
            context,
            models.Policy(
                group_id=group.id,
                at='',
                type='exclusive',
                definition={'type': 'exclusive', 'scope': 'host'},
            ),
        )

        refused = self.act(uuid, 'hold')
        held = self.act(uuid, 'hold', user='admin')

        self.assertEqual(403, refused.status_code, refused.text)
        self.assertIn('create:exclusive', refused.text)
        self.assertEqual(202, held.status_code, held.text)
        self.eventually(self.group, lambda now: now['status'] == 'HELD', uuid)
        self.assertEqual([0, 16, 16], sorted(self.free().values()))


class TestKeeping(ExclusiveTestCase, base.StepTestCase):
    """The step itself; nobody else takes it meanwhile."""

    PARTS = dataclasses.replace(
        base.WITHOUT_REAPER,
        config=f'{base.WITHOUT_REAPER.config}\n{OVERCOMMITTED}',
    )

    def setUp(self):
        super().setUp()
        self.uuid = self.exclusive()['id']
        self.strangers = set()

    def keep(self):
        [group] = objects.VRTGroup.list_exclusive(self.context)
        exclusive.keep(self.context, self.ledger, group, self.strangers)

    def filler_of(self, resource):
        """Return a filler that has some of a resource."""
        return next(
            hold
            for hold in self.holds_of(self.uuid)
            if hold.is_filler
            and resource in hold.allocations[hold.provider_uuid]['resources']
        )

    def test_nothing_changes_where_nothing_has_changed(self):
        before = {hold.uuid for hold in self.holds_of(self.uuid)}

        self.keep()

        self.assertEqual(
            before, {hold.uuid for hold in self.holds_of(self.uuid)}
        )
        self.assertEqual(set(), self.strangers)

    def test_members_get_back_what_fillers_took_when_holds_were_removed(self):
        for hold in self.holds_of(self.uuid):
            self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        self.assertEqual(self.empty(), self.free())

        self.keep()
        self.assert_alone()
        follow.follow_holds(self.context, self.ledger)
        self.keep()

        self.assert_alone()
        group = self.group(self.uuid, 'admin')
        self.assertEqual(
            ['HELD', 'HELD', 'HELD'],
            [member['status'] for member in group['members']],
        )
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        self.assertEqual('ACTIVE', server.status)

    def test_what_is_given_up_is_exchanged_not_freed(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        [first, *_] = group.members
        transitions.give_up(self.context, group, [first])

        self.keep()

        # Nobody has emptied the hold: the filler has taken its place.
        self.assert_alone()
        self.assertEqual(2, self.members_held())

    def members_held(self):
        return sum(not hold.is_filler for hold in self.holds_of(self.uuid))

    def test_a_stranger_is_told_of_once_and_left_alone(self):
        filler = self.filler_of('VCPU')
        self.cloud.placement.delete(f'/allocations/{filler.uuid}')
        self.fill(filler.host, VCPU=1)

        self.keep()

        [(group, host, _consumer)] = self.strangers
        self.assertEqual((self.uuid, filler.host), (group, host))
        self.assert_alone()

    def test_a_server_that_was_not_scheduled_is_no_stranger(self):
        self.bury(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        follow.follow_servers(self.context, self.ledger)

        self.keep()

        self.assertEqual(set(), self.strangers)
        self.assert_alone()
        self.assertEqual('FAILED', self.status_of('a-0'))
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def status_of(self, path):
        members = self.group(self.uuid, 'admin')['members']
        return {each['path']: each['status'] for each in members}[path]

    def test_a_smaller_host_keeps_its_members_and_less_of_the_rest(self):
        filler = self.filler_of('MEMORY_MB')
        path = (
            f'/resource_providers/{filler.provider_uuid}/inventories/MEMORY_MB'
        )
        inventory = self.cloud.placement.get(path).json()
        self.cloud.placement.put(path, json={**inventory, 'reserved': 1024})
        self.addCleanup(self.restore, path, inventory)

        self.keep()

        self.assert_alone()
        self.assertEqual(3, self.members_held())

    def restore(self, path, inventory):
        now = self.cloud.placement.get(path).json()
        generation = now['resource_provider_generation']
        self.cloud.placement.put(
            path,
            json={**inventory, 'resource_provider_generation': generation},
        )

    def test_a_host_out_of_service_is_let_go(self):
        services = self.cloud.nova('admin').services
        [service] = services.list(host='cmp-1', binary='nova-compute')
        services.disable(service.id)
        self.addCleanup(services.enable, service.id)

        self.keep()

        self.assertEqual(
            [],
            [
                hold
                for hold in self.holds_of(self.uuid)
                if hold.is_filler and hold.host == 'cmp-1'
            ],
        )
        self.assert_alone('cmp-2')

    def test_a_plan_waits_for_a_cell_that_does_not_answer(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        plan = objects.VRTPlan.newest(self.context, group.id)
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova.objects.Service.get_by_compute_host', no_answer
            )
        )

        self.assertRaises(
            exception.HoldFailed,
            exclusive.fillers,
            self.context,
            self.ledger,
            group,
            plan,
        )

    def test_an_audit_finds_fillers_in_order_and_strays_of_them(self):
        self.assertEqual([], audit.audit(self.context, self.ledger))

        filler = self.filler_of('VCPU')
        stray = filler.again()
        self.ledger.hold(self.context, [stray], instead_of=[filler])
        findings = audit.audit(self.context, self.ledger)
        heal.heal(self.context, self.ledger, findings)
        self.keep()

        self.assertEqual(
            {('missing', filler.uuid), ('stray', stray.uuid)},
            {(each.kind, each.consumer) for each in findings},
        )
        self.assertEqual([], audit.audit(self.context, self.ledger))
        self.assert_alone()

    def test_a_member_moves_only_when_its_group_cannot_be_read(self):
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        move = nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        )

        self.assertEqual([], self.filtered(move))
        self.hide('vrt_policies')
        self.assertEqual(['cmp-3'], self.filtered(move))

    def test_a_rebuild_is_no_move(self):
        server = self.redeem(self.uuid, 'a-0', 'm1.xlarge', user='admin')
        rebuild = nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        )
        rebuild.scheduler_hints['_nova_check_type'] = ['rebuild']

        self.assertEqual(['cmp-3'], self.filtered(rebuild))

    def filtered(self, spec):
        """Return the hosts that our filter lets pass."""
        host = host_manager.HostState('cmp-3', 'cmp-3', None)
        passed = holistic_filter.HolisticFilter().filter_all([host], spec)
        return [each.host for each in passed]


def no_answer(*args):
    raise db_exc.DBConnectionError
