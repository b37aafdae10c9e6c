# SPDX-License-Identifier: Apache-2.0
"""Audit and healing of differences between our tables and Placement."""

import datetime

from nova.scheduler.client import report
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.audit import heal
from nova_groupext.scheduler.placement import bodies
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.placement import http
from tests.functional import base
from tests.functional import foreign_consumers

Kind = audit.Kind


class AuditTestCase(base.StepTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=4),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=4),
    )

    def audit(self):
        return audit.audit(self.context, self.placement_client)

    def found(self, *kinds):
        """Audit, and expect findings of these kinds; returns them."""
        findings = self.audit()
        self.assertEqual(
            sorted(kinds), sorted(each.kind for each in findings), findings
        )
        return findings

    def heal(self):
        heal.heal(
            self.context, self.placement_client, self.audit(), orphans=True
        )

    def heals(self):
        """Heal, and expect that a second audit has no findings."""
        self.heal()
        self.found()

    def one_held(self, flavor='m1.tiny'):
        """Hold a member; returns its group's uuid and its hold."""
        uuid = self.hold_group({'members': {'a': base.member(flavor)}})['id']
        # A group is not forgotten while something is wrong with it.
        self.addCleanup(self.heal)
        [hold] = self.holds_of(uuid)
        return uuid, hold

    def statuses(self, uuid):
        return [each['status'] for each in self.group(uuid)['members']]

    def written(self, consumer):
        return self.cloud.placement.get(f'/allocations/{consumer}').json()

    def erase(self, consumer):
        """Delete allocations like ``nova-manage placement audit --delete``."""
        self.cloud.placement.delete(f'/allocations/{consumer}')

    def change(self, model, row_id, **values):
        db.compare_and_set(self.context, model, model.id == row_id, **values)

    def change_hold(self, hold, **values):
        self.change(models.Hold, hold.id, **values)

    def change_member(self, hold, **values):
        self.change(models.Member, hold.member_id, **values)

    @staticmethod
    def long_ago():
        return timeutils.utcnow() - datetime.timedelta(days=1)


class TestAudit(AuditTestCase):
    def test_consistent_cloud_has_no_findings(self):
        uuid = self.hold_group({'members': {'a': base.member(count=2)}})['id']
        self.redeem(uuid, 'a-0', 'm1.tiny')

        self.found()
        self.heals()

        self.assertEqual(['ACTIVE', 'HELD'], self.statuses(uuid))

    def test_audit_of_a_consistent_cloud_reads_only_providers_with_holds(self):
        _uuid, hold = self.one_held()
        asked = []
        self.placement_client.usages = lambda context, provider: (
            asked.append(provider)
            or client.PlacementClient.usages(
                self.placement_client, context, provider
            )
        )

        self.found()

        self.assertEqual([hold.provider_uuid], asked)

    def test_removed_hold_gets_a_successor(self):
        uuid, hold = self.one_held()
        self.erase(hold.uuid)

        [finding] = self.found(Kind.MISSING)
        self.assertEqual(
            (uuid, 'a', hold.uuid, hold.provider_uuid),
            (
                finding.group,
                finding.member,
                finding.consumer,
                finding.provider,
            ),
        )
        self.heals()

        [again] = self.holds_of(uuid)
        self.assertNotEqual(hold.uuid, again.uuid)
        self.assertEqual(
            hold.allocations,
            self.placement_client.allocations(self.context, again.uuid),
        )

    def test_removed_hold_without_free_capacity_fails_its_member(self):
        uuid, hold = self.one_held('m1.medium')
        self.erase(hold.uuid)
        self.fill(hold.host, VCPU=3)

        self.found(Kind.MISSING)
        self.heals()

        self.assertEqual(['FAILED'], self.statuses(uuid))
        self.assertEqual([], self.holds_of(uuid))

    def test_changed_hold_gets_a_successor(self):
        uuid, hold = self.one_held()
        self.enlarge(hold, 1)

        self.found(Kind.MISMATCH)
        self.heals()

        [again] = self.holds_of(uuid)
        self.assertEqual(
            hold.allocations,
            self.placement_client.allocations(self.context, again.uuid),
        )
        self.assertEqual({}, self.allocations(hold.uuid))

    def enlarge(self, hold, vcpus):
        """Change what a hold owns in Placement."""
        changed = self.written(hold.uuid)
        changed['allocations'] = {
            provider: {'resources': part['resources']}
            for provider, part in changed['allocations'].items()
        }
        own = changed['allocations'][hold.provider_uuid]
        own['resources']['VCPU'] += vcpus
        self.cloud.placement.put(f'/allocations/{hold.uuid}', json=changed)

    def orphan(self, host, consumer_type=bodies.HOLD_TYPE):
        """Write an allocation without a row in our tables."""
        consumer = foreign_consumers.fill(self.cloud, host, VCPU=1)
        self.delete_allocations_later(consumer)
        body = self.written(consumer)
        self.cloud.placement.put(
            f'/allocations/{consumer}',
            json={
                **body,
                'consumer_type': consumer_type,
                'project_id': CONF.vrt.hold_project_id,
            },
        )
        return consumer

    def test_orphan_is_not_released_by_default(self):
        """Another installation on the same Placement may own the orphan."""
        orphan = self.orphan('cmp-1')

        heal.heal(self.context, self.placement_client, self.audit())
        for _round in range(2):
            planner.Planner('a').reap(self.context)

        self.assertNotEqual({}, self.allocations(orphan))
        self.found(Kind.ORPHAN)

    def test_late_allocation_of_a_released_hold_is_released(self):
        uuid, hold = self.one_held()
        self.act(uuid, 'release')
        self.eventually(self.holds_of, lambda holds: not holds, uuid)
        self.placement_client.hold(self.context, [hold])

        [finding] = self.found(Kind.REFILLED)
        heal.heal(self.context, self.placement_client, [finding])

        self.assertEqual(hold.uuid, finding.consumer)
        self.assertEqual({}, self.allocations(hold.uuid))
        self.found()

    def test_orphans_are_released_on_request(self):
        """One orphan is on a provider with a hold, one on another provider."""
        self.one_held()
        orphans = {self.orphan('cmp-1'), self.orphan('cmp-2')}

        findings = self.found(Kind.ORPHAN, Kind.ORPHAN)
        self.assertEqual(orphans, {each.consumer for each in findings})
        self.heals()

        for consumer in orphans:
            self.assertEqual({}, self.allocations(consumer))

    def test_orphan_is_reported_while_a_deleted_group_is_leased(self):
        self.orphan('cmp-1')
        no_group = 0
        self.patch(objects.VRTLease, 'leased_groups', lambda _c: {no_group})

        self.found(Kind.ORPHAN)

    def test_allocations_of_foreign_consumers_are_kept(self):
        self.orphan('cmp-1')
        other = self.orphan('cmp-1', consumer_type='SOMETHING_ELSE')
        server = self.boot('m1.tiny')

        self.found(Kind.ORPHAN)
        self.heals()

        self.assertNotEqual({}, self.allocations(other))
        self.assertNotEqual({}, self.allocations(server.id))

    def test_overdue_hold_in_writing_is_released(self):
        uuid, hold = self.one_held()
        rest = hold.duplicate()
        rest.create(self.context)
        self.placement_client.hold(self.context, [rest])
        self.found()

        self.change_hold(rest, updated_at=self.long_ago())

        self.found(Kind.OVERDUE)
        self.heals()
        self.assertEqual([hold.uuid], [h.uuid for h in self.holds_of(uuid)])
        self.assertEqual({}, self.allocations(rest.uuid))

    def test_overdue_hold_in_releasing_is_released(self):
        uuid, hold = self.one_held()
        self.change_member(hold, status=states.Member.RELEASED)
        self.change_hold(
            hold,
            status=states.Hold.RELEASING,
            updated_at=self.long_ago(),
        )

        self.found(Kind.OVERDUE)
        self.heals()

        self.assertEqual([], self.holds_of(uuid))
        self.assertEqual({}, self.allocations(hold.uuid))

    def test_overdue_redeem_is_resolved(self):
        uuid, hold = self.one_held()
        self.begin_to_create(hold)
        self.found()

        self.change_member(hold, updated_at=self.long_ago())

        self.found(Kind.OVERDUE)
        self.heals()
        self.assertEqual(['ACTIVE'], self.statuses(uuid))

    def begin_to_create(self, hold):
        """Begin to create a server for a member; returns its uuid."""
        server = uuidutils.generate_uuid()
        self.delete_allocations_later(server)
        [member] = objects.VRTMember.list_by_ids(
            self.context, [hold.member_id]
        )
        own = {server: (member, hold)}
        self.assertTrue(redeems.reserve(self.context, own))
        return server

    def test_a_swap_under_way_is_no_finding(self):
        uuid, hold = self.one_held()
        server = self.begin_to_create(hold)
        body = bodies.for_server(hold, 'demo', 'demo')
        self.placement_client.transfer(
            self.context, {server: hold}, {server: body}
        )

        self.found()

        self.change_member(hold, updated_at=self.long_ago())
        self.heals()
        self.assertEqual(['ACTIVE'], self.statuses(uuid))

    def test_member_of_a_deleted_server_has_no_host(self):
        uuid, _hold = self.one_held()
        server = self.redeem(uuid, 'a', 'm1.tiny')
        self.delete_servers(server)

        [finding] = self.found(Kind.SERVER_WITHOUT_ALLOCATION)
        self.assertEqual(server.id, finding.consumer)
        self.heals()

        self.assertEqual(['TENTATIVE'], self.statuses(uuid))

    def test_running_server_without_an_allocation_is_reported(self):
        uuid, _hold = self.one_held()
        server = self.redeem(uuid, 'a', 'm1.tiny')
        self.erase(server.id)

        self.found(Kind.SERVER_WITHOUT_ALLOCATION)
        self.heal()

        self.found(Kind.SERVER_WITHOUT_ALLOCATION)
        self.assertEqual(['ACTIVE'], self.statuses(uuid))

    def test_hold_on_an_overcommitted_host_is_released(self):
        uuid, hold = self.one_held('m1.medium')
        path = f'/resource_providers/{hold.provider_uuid}/inventories/VCPU'
        self.fill(hold.host, VCPU=2)
        self.reserve(path, 1)
        self.addCleanup(self.reserve, path, 0)

        [finding] = self.found(Kind.OVERCOMMITTED)
        self.assertEqual(hold.uuid, finding.consumer)
        self.heals()

        self.assertEqual(['FAILED'], self.statuses(uuid))

    def reserve(self, path, amount):
        inventory = self.cloud.placement.get(path).json()
        self.cloud.placement.put(path, json={**inventory, 'reserved': amount})

    def test_held_member_without_a_hold_fails(self):
        uuid, hold = self.one_held()
        self.change_hold(hold, status=states.Hold.RELEASING)

        [finding] = self.found(Kind.INCONSISTENT)
        self.assertEqual((uuid, 'a'), (finding.group, finding.member))
        self.heals()

        self.assertEqual(['FAILED'], self.statuses(uuid))
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def test_second_hold_of_a_member_is_released(self):
        uuid, hold = self.one_held()
        second = hold.duplicate()
        second.create(self.context)
        self.placement_client.hold(self.context, [second])
        self.change_hold(second, status=states.Hold.HELD)

        [finding] = self.found(Kind.INCONSISTENT)
        self.assertEqual(second.uuid, finding.consumer)
        self.heals()

        self.assertEqual([hold.uuid], [h.uuid for h in self.holds_of(uuid)])
        self.assertEqual({}, self.allocations(second.uuid))

    def test_hold_of_a_released_member_is_released(self):
        uuid, hold = self.one_held()
        self.change_member(hold, status=states.Member.RELEASED)

        self.found(Kind.INCONSISTENT)
        self.heals()

        self.assertEqual([], self.holds_of(uuid))
        self.assertEqual({}, self.allocations(hold.uuid))

    def one_filled(self):
        """Hold a group with an exclusive host; returns its placeholder."""
        uuid = self.describe(
            {
                'members': {'a': base.member()},
                'policies': [{'type': 'exclusive', 'scope': 'host'}],
            },
            user='admin',
        )['id']
        self.addCleanup(self.heal)
        [placeholder] = [
            hold for hold in self.holds_of(uuid) if hold.is_placeholder
        ]
        return uuid, placeholder

    def refilled(self, uuid, placeholder):
        """Expect that a new placeholder has the amounts of an old one."""
        [new] = [hold for hold in self.holds_of(uuid) if hold.is_placeholder]
        self.assertNotEqual(placeholder.uuid, new.uuid)
        self.assertEqual(
            placeholder.allocations,
            self.placement_client.allocations(self.context, new.uuid),
        )

    def test_removed_placeholder_is_replaced(self):
        uuid, placeholder = self.one_filled()
        self.found()
        self.erase(placeholder.uuid)

        self.found(Kind.MISSING)
        self.heals()

        self.refilled(uuid, placeholder)

    def test_changed_placeholder_is_replaced(self):
        uuid, placeholder = self.one_filled()
        self.enlarge(placeholder, -1)

        self.found(Kind.MISMATCH)
        self.heals()

        self.refilled(uuid, placeholder)

    def test_leased_group_is_skipped(self):
        uuid, hold = self.one_held()
        self.change_member(hold, status=states.Member.RELEASED)
        group = objects.VRTGroup.get(self.context, uuid)
        lease = objects.VRTLease.acquire(
            self.context, group.id, 'another', 'operation', seconds=60
        )
        self.addCleanup(lease.release, self.context)

        self.found()
        self.heals()

        self.assertNotEqual({}, self.allocations(hold.uuid))

    def lose_answers(self, about):
        """Lose the answers to requests whose URL has this ending."""
        self.placement_client._http = UnansweredConnection(
            report.SchedulerReportClient(), about
        )

    def test_unreadable_provider_is_reported_and_its_holds_are_kept(self):
        uuid, hold = self.one_held()
        self.erase(hold.uuid)
        orphan = self.orphan(hold.host)
        self.lose_answers(f'{hold.provider_uuid}/allocations')

        [finding] = self.found(Kind.UNKNOWN)
        self.assertEqual(hold.provider_uuid, finding.provider)
        self.heal()

        self.assertEqual([hold.uuid], [h.uuid for h in self.holds_of(uuid)])
        self.assertNotEqual({}, self.allocations(orphan))

    def test_orphan_is_reported_while_the_provider_list_is_unreadable(self):
        _uuid, hold = self.one_held()
        self.orphan(hold.host)
        self.lose_answers('resource_providers')
        self.addCleanup(self.heal)

        self.found(Kind.UNKNOWN, Kind.ORPHAN)


class UnansweredConnection(http.Connection):
    """A connection without an answer from URLs with one ending."""

    def __init__(self, client, about):
        super().__init__(client)
        self._about = about

    def get(self, context, url, **kwargs):
        if url.endswith(self._about):
            raise exception.PlacementUnavailable(reason=url)
        return super().get(context, url, **kwargs)
