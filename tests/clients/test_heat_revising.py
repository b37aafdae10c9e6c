# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext_client/heat/revising.py``."""

import types

from oslotest import base

from nova_groupext_client.heat import revising

WEB = {'flavor': 'm1.tiny', 'count': 2, 'max_surge': 2}


def definition(expires_in=60, **members):
    return {
        'name': 'shop',
        'expires_in': expires_in,
        'topology': {
            'members': {'db': {'flavor': 'm1.tiny', 'max_surge': 1}},
            'groups': {'web': {'members': members or {'web': WEB}}},
        },
    }


def group(status='ACTIVE', revision=None, members=()):
    return types.SimpleNamespace(
        status=status,
        revision=revision,
        members=members,
        is_planning=status == 'PLANNING',
    )


def member(status):
    return {'path': 'web/web-0', 'status': status}


class TestIsDue(base.BaseTestCase):
    def is_due(self, sent=None, now=None, **present):
        return revising.is_due(
            group(**present), sent or definition(), now or definition()
        )

    def test_same_definition_is_not_sent_again(self):
        self.assertFalse(self.is_due())

    def test_time_of_expiry_alone_is_nothing_new(self):
        self.assertFalse(self.is_due(now=definition(expires_in=90)))

    def test_other_time_of_expiry_that_is_given_is_sent(self):
        for expires_in, is_due in ((60, False), (90, True)):
            with self.subTest(expires_in):
                now = definition(expires_in=expires_in)

                found = revising.is_due(
                    group(), definition(), now, has_expiry=True
                )

                self.assertEqual(is_due, found)

    def test_definition_that_was_never_accepted_is_sent(self):
        self.assertTrue(revising.is_due(group(), None, definition()))

    def test_other_definitions_are_sent(self):
        for other in (
            definition(web={**WEB, 'flavor': 'm1.small'}),
            definition(web={**WEB, 'count': 3}),
            definition(web=WEB, more=WEB),
            {**definition(), 'name': 'other'},
        ):
            with self.subTest(other):
                self.assertTrue(self.is_due(now=other))

    def test_only_a_larger_surge_is_sent(self):
        fewer = definition(web={**WEB, 'max_surge': 1})

        self.assertFalse(self.is_due(now=fewer))
        self.assertTrue(self.is_due(sent=fewer))

    def test_smaller_surge_of_a_new_member_is_sent(self):
        new = definition(web=WEB, more={**WEB, 'max_surge': 0})

        self.assertTrue(self.is_due(now=new))

    def test_refused_definition_is_sent_again(self):
        for present in (
            {'status': 'REFUSED'},
            {'revision': revision('REFUSED')},
            {'revision': revision('UNDECIDED')},
        ):
            with self.subTest(present):
                self.assertTrue(self.is_due(**present))

    def test_what_a_planner_was_refused_is_not_sent_again(self):
        for origin in ('create', 'replacement'):
            self.assertFalse(self.is_due(revision=revision('REFUSED', origin)))

    def test_members_that_lost_their_place_are_held_again(self):
        for status in ('TENTATIVE', 'FAILED', 'RELEASED'):
            with self.subTest(status):
                self.assertTrue(self.is_due(members=[member(status)]))

    def test_members_with_a_place_need_nothing(self):
        placed = [member('HELD'), member('ACTIVE'), member('SHELVED')]

        self.assertFalse(self.is_due(members=placed))


def revision(status, origin='request'):
    return {'status': status, 'origin': origin}


class TestMayRetry(base.BaseTestCase):
    def test_conflict_is_retried_while_something_is_under_way(self):
        for present in (
            group('PLANNING'),
            group(members=[member('ACTIVE'), member('REDEEMING')]),
        ):
            self.assertTrue(revising.may_retry(present, 1000))

    def test_other_conflicts_are_retried_for_a_while(self):
        for attempts, may_retry in ((1, True), (1000, False)):
            with self.subTest(attempts):
                self.assertEqual(
                    may_retry, revising.may_retry(group('RELEASED'), attempts)
                )
