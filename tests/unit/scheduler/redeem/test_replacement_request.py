# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/redeem/replacement_request.py``."""

import fixtures
from nova import exception as nova_exc
import oslo_messaging as messaging

from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.redeem import replacement_request
from tests.unit.scheduler import base

Outcome = rpcapi.Outcome

GROUP = 'a group'
REASON = 'a filter refuses'


class TestReplacementRequest(base.ProtocolTestCase):
    """A scheduler asks planners, whose answers the test has prepared.

    :ivar answers: outcomes of the next calls, the last one of all later ones
    :ivar calls: [(excluded hosts, time limit)] of the calls
    """

    def setUp(self):
        super().setUp()
        self.set_option('redeem_replacement_time_limit', 10)
        self.set_option('redeem_replacement_attempts', 2)
        self.answers, self.calls = [Outcome.DONE], []
        planner = self

        class Planner:
            def replace_members(self, _context, group, excluded, seconds):
                return planner.answer(group, excluded, seconds)

        self.useFixture(
            fixtures.MockPatchObject(rpcapi, 'PlannerAPI', Planner)
        )
        self.request = replacement_request.ReplacementRequest(
            self.context, GROUP
        )

    def answer(self, group, excluded, seconds):
        self.assertEqual(GROUP, group)
        self.calls.append(
            ({path: [*nodes] for path, nodes in excluded.items()}, seconds)
        )
        answer = (
            self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        )
        if isinstance(answer, Exception):
            raise answer
        return answer

    def refusal(self, refused=None):
        error = self.assertRaises(
            nova_exc.NoValidHost,
            *(self.request.send, refused or {'m-0': 'a'}, REASON),
        )
        self.assertIn(REASON, str(error))
        return str(error)

    def test_replaced_members_are_no_refusal(self):
        self.request.send({'m-0': 'a', 'm-1': None}, REASON)

        self.assertEqual([({'m-0': ['a'], 'm-1': []}, 10)], self.calls)

    def test_hosts_that_were_refused_before_stay_excluded(self):
        self.request.send({'m-0': 'a'}, REASON)
        self.request.send({'m-0': 'b'}, REASON)

        excluded = [each for each, _seconds in self.calls]
        self.assertEqual([{'m-0': ['a']}, {'m-0': ['a', 'b']}], excluded)

    def test_requests_end_after_the_last_attempt(self):
        for _attempt in range(2):
            self.request.send({'m-0': 'a'}, REASON)

        self.assertIn(replacement_request.OTHER_HOSTS_REFUSED, self.refusal())
        self.assertEqual(2, len(self.calls))

    def test_busy_planners_are_asked_again(self):
        self.answers = [Outcome.BUSY, Outcome.BUSY, Outcome.DONE]

        self.request.send({'m-0': 'a'}, REASON)

        pause = replacement_request.PAUSE
        self.assertEqual(
            [10, 10 - pause, 10 - 2 * pause],
            [round(seconds, 3) for _excluded, seconds in self.calls],
        )

    def test_busy_planners_are_a_refusal_once_the_time_is_over(self):
        self.answers = [Outcome.BUSY]

        self.assertIn(
            replacement_request.REASONS[Outcome.BUSY], self.refusal()
        )
        self.assertEqual(10 / replacement_request.PAUSE, len(self.calls))

    def test_all_attempts_share_one_time_limit(self):
        self.request.send({'m-0': 'a'}, REASON)
        self.sleep(8)

        self.request.send({'m-0': 'b'}, REASON)

        self.assertEqual(2, round(self.calls[-1][1], 3))

    def test_missing_host_is_a_refusal(self):
        self.answers = [Outcome.NO_OTHER_HOST]

        self.assertIn(
            replacement_request.REASONS[Outcome.NO_OTHER_HOST],
            self.refusal(),
        )
        self.assertIn(replacement_request.STAYS_HELD, self.refusal())

    def test_silent_planners_are_a_refusal(self):
        self.answers = [messaging.MessagingTimeout()]

        self.assertIn(replacement_request.REASONS[None], self.refusal())

    def test_no_planner_is_asked_without_a_time_limit(self):
        self.set_option('redeem_replacement_time_limit', 0)

        self.assertIn(replacement_request.STAYS_HELD, self.refusal())

        self.assertEqual([], self.calls)

    def test_requests_beyond_the_limit_do_not_wait(self):
        """Waiting ones take the threads that other servers need."""
        free = [
            replacement_request._waiting.acquire(blocking=False)
            for _each in range(replacement_request.MAX_WAITING)
        ]
        self.assertTrue(all(free))

        try:
            self.assertIn('busy', self.refusal())
        finally:
            for _each in free:
                replacement_request._waiting.release()

        self.assertEqual([], self.calls)
        self.request.send({'m-0': 'a'}, REASON)
