# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/redeem/redeem_path.py``."""

import types

import fixtures
from nova import exception as nova_exc
from oslo_db import exception as db_exc
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import member_ref
from nova_groupext.db import database_errors
from nova_groupext.objects import redeems
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.redeem import redeem_path
from tests.services import deployment
from tests.services import doubles
from tests.unit.scheduler import base


class TestRedeemPath(base.ProtocolTestCase):
    """Servers for a set of two members on one host."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)
        self.servers = [uuidutils.generate_uuid() for _each in range(2)]
        self.posts.clear()

    def redeem(self, *servers, **options):
        self.deployment.redeem_all(self.uuid, 'm', [*servers], **options)

    def refusal(self, work, *args, **options):
        """Return the reason of a NoValidHost."""
        error = self.assertRaises(nova_exc.NoValidHost, work, *args, **options)
        return str(error)

    def assert_unchanged(self):
        self.assertEqual(['HELD', 'HELD'], self.hold_statuses(self.uuid))
        self.assertEqual([], self.posts)

    def test_all_servers_get_their_capacity_by_one_request(self):
        self.redeem(*self.servers)

        self.assertEqual(1, len(self.posts))
        self.assertEqual({*self.servers}, {*self.deployment.allocations()})
        self.assert_at_rest()

    def test_placement_is_asked_for_overcommitment_unless_it_excludes_it(self):
        requests = []
        self.before_request = lambda label, _about: requests.append(label)
        for excludes, expected in ((False, 2), (True, 0)):
            self.set_option('placement_excludes_overcommit', excludes)
            requests.clear()

            self.redeem(self.servers.pop())

            self.assertEqual(expected, requests.count('GET'), excludes)
            self.assertEqual(1, requests.count('POST'), excludes)

    def test_crash_after_the_reservation_is_finished_by_a_redelivery(self):
        for point in ('redeem.reserve', 'redeem.transfer'):
            server = self.servers.pop()
            self.kill_at(f'after {point}', self.redeem, server)

            self.redeem(server)

            self.assertIn(server, self.deployment.allocations())
        self.assert_at_rest()
        self.assertEqual(4, self.used(self.provider))

    def test_filtered_hosts_leave_the_holds_unchanged(self):
        self.refusal(
            self.redeem,
            self.servers[0],
            scheduler=doubles.RejectingFilters,
        )

        self.assert_unchanged()

    def test_member_that_was_taken_meanwhile_is_replaced_by_another(self):
        first, second = self.servers
        self.call_at('before redeem.reserve', lambda: self.redeem(second))

        self.redeem(first)

        self.assertEqual(
            {'m-0': 'ACTIVE', 'm-1': 'ACTIVE'}, self.statuses(self.uuid)
        )
        self.assert_at_rest()

    def test_members_are_chosen_at_random_only_after_a_conflict(self):
        """Concurrent requests that all choose the first would take turns."""
        path = self.path()
        before = {self.chosen(path) for _each in range(20)}
        path.wait_after_conflict('m')
        after = {self.chosen(path) for _each in range(20)}

        self.assertEqual({'m-0'}, before)
        self.assertEqual({'m-0', 'm-1'}, after)

    def chosen(self, path):
        """Return the path name of the member that one server gets."""
        ref = member_ref.MemberRef(self.uuid, 'm')
        spec = types.SimpleNamespace(project_id=deployment.PROJECT)
        [reservation] = path.choose(
            self.context, ref, spec, self.servers[:1], ()
        )
        return reservation.member.path

    def test_conflicts_end_after_a_while(self):
        path = self.path()
        path.wait_after_conflict('m')
        self.sleep(redeem_path.TIME_LIMIT + 1)

        reason = self.refusal(path.wait_after_conflict, 'm')

        self.assertIn(redeem_path.TOO_MANY_CONFLICTS, reason)

    def path(self):
        return redeem_path.RedeemPath(self.deployment.placement_client(), None)

    def test_incomplete_hints_are_refused(self):
        ref = member_ref.MemberRef(self.uuid, None)

        reason = self.refusal(
            *(self.path().choose, self.context, ref, None, self.servers, ())
        )

        self.assertIn('vrt_group and vrt_member', reason)

    def test_unknown_member_is_refused(self):
        self.refusal(self.deployment.redeem, self.uuid, 'x')

        self.assert_unchanged()

    def test_redeem_goes_on_when_the_answer_to_its_reservation_is_lost(self):
        reserve = redeems.reserve
        answers = [db_exc.DBConnectionError()]

        def lose_answer(*args):
            is_reserved = reserve(*args)
            if answers:
                raise database_errors.OutcomeUnknown(answers.pop())
            return is_reserved

        self.useFixture(
            fixtures.MockPatchObject(redeems, 'reserve', lose_answer)
        )

        self.redeem(self.servers[0])

        self.assertEqual('ACTIVE', self.statuses(self.uuid)['m-0'])
        self.assert_at_rest()

    def test_unknown_outcome_is_a_refusal_that_is_resolved_later(self):
        server = self.servers[0]
        self.call_at('after redeem.reserve', self.silence)

        reason = self.refusal(self.redeem, server)

        self.assertIn(redeem_path.OUTCOME_UNKNOWN, reason)
        self.assertEqual('REDEEMING', self.statuses(self.uuid)['m-0'])
        self.before_request = None
        self.redeem(server)
        self.assert_at_rest()

    def test_lost_hold_is_a_refusal(self):
        first, second = self.servers
        lost = self.deployment.hold(self.uuid, 'm-0')

        def take():
            self.deployment.delete_allocations(lost.uuid)
            self.deployment.fill(self.provider)

        self.call_at('after redeem.reserve', take)

        reason = self.refusal(self.redeem, first, second)

        self.assertIn(redeem.IS_LOST, reason)
        self.assertEqual(
            {'m-0': 'FAILED', 'm-1': 'ACTIVE'}, self.statuses(self.uuid)
        )

    def test_silent_placement_is_a_refusal(self):
        self.silence()

        self.assertIn(
            'Placement did not answer',
            self.refusal(self.redeem, self.servers[0]),
        )

        self.assert_unchanged()

    def test_database_error_is_a_refusal(self):
        def fail():
            with redeem_path.as_no_valid_host('m-0'):
                raise db_exc.DBConnectionError

        self.assertIn('retry later', self.refusal(fail))

    def test_unknown_policy_type_is_a_refusal(self):
        def fail():
            with redeem_path.as_no_valid_host('m-0'):
                raise exception.UnknownPolicyType(types='moon-phase')

        self.assertIn('lacks policy types', self.refusal(fail))

    def test_expired_group_is_refused(self):
        self.deployment.expire(self.uuid)
        self.sleep(deployment.LATER)

        self.refusal(self.redeem, self.servers[0])

        self.assert_unchanged()
