# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/membership/stored.py``."""

from unittest import mock

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext.membership import allowed
from nova_groupext.membership import creates
from nova_groupext.membership import stored
from nova_groupext.membership.creates import Obstacle
from nova_groupext.membership.roster import Roster
from nova_groupext.objects import states
from nova_groupext.objects.member_set import Matching
from nova_groupext.objects.member_set import kind_of
from tests import groups
from tests.unit.membership import stored_groups
from tests.unit.membership.stored_groups import M1
from tests.unit.membership.stored_groups import M2

Member = states.Member


class TestRead(stored_groups.StoredCase):
    def statuses(self, **kwargs):
        roster = stored.read(self.group, **kwargs)
        return {each.path: each.status for each in roster.members}

    def test_reserved_member_counts_as_one_with_its_server(self):
        self.change('workers/w-2', reserved_for=uuids.third)

        roster = stored.read(self.group)

        member = roster.find('workers/w-2')
        self.assertEqual(Member.REDEEMING, member.status)
        self.assertEqual(uuids.third, member.server)

    def test_holds_of_an_expired_group_are_no_places(self):
        self.group.has_expired = True

        self.assertEqual(
            (Member.ACTIVE, Member.TENTATIVE),
            (
                self.statuses()['workers/w-0'],
                self.statuses()['workers/w-2'],
            ),
        )

    def test_member_of_a_gone_server_is_missing_if_described(self):
        self.change('workers/w-2', status=Member.TENTATIVE)

        statuses = self.statuses(gone={uuids.second})

        self.assertEqual(Member.ACTIVE, statuses['workers/w-0'])
        self.assertIn(Member.TENTATIVE, statuses.values())

    def test_member_of_a_gone_server_beyond_count_is_forgotten(self):
        self.assertEqual(
            {'master', 'workers/w-0', 'workers/w-2'},
            self.statuses(gone={uuids.second}).keys(),
        )

    def test_cost_of_gone_servers_does_not_grow_with_other_member_sets(self):
        """1,000 sets of one server each took minutes."""

        def calls_for(number):
            sets = [groups.member_set(f's{n}', M1) for n in range(number)]
            self.group = groups.unstored(
                **groups.members_of(*sets), has_expired=False
            )
            for index, member in enumerate(self.group.members):
                member.id = index
                member.status = Member.ACTIVE
                member.server_uuid = member.path
                member.reserved_for = member.server_request = None
            with mock.patch.object(
                Roster,
                'members_of',
                autospec=True,
                side_effect=Roster.members_of,
            ) as members_of:
                statuses = self.statuses(gone={each.path for each in sets})
            self.assertEqual({Member.TENTATIVE}, {*statuses.values()})
            return members_of.call_count

        self.assertEqual(10 * calls_for(3), calls_for(30))

    def test_paths_in_policies_and_relationships_are_named(self):
        self.assertEqual(
            {'', 'workers', 'master'}, stored.read(self.group).named
        )


class TestSuccessors(stored_groups.StoredCase):
    def read(self):
        return [
            (each.path, each.succeeds, stored.path_of(each))
            for each in stored.read(self.group).members
            if each.is_successor
        ]

    def test_paths_are_those_that_successors_get_as_members(self):
        for path, succeeds, expected in (
            ('workers/w-0', 'workers/w-0', 'workers/w-0'),
            ('workers/w-7', 'workers/w', 'workers/w-7'),
            ('workers/w', 'workers/w', None),
            ('workers/w', '', None),
        ):
            stored_path = self.successor(path, succeeds)
            self.assertEqual([(expected, succeeds, stored_path)], self.read())
            self.group.members.pop()

    def test_successor_of_a_single_member_has_its_path(self):
        self.group.member_sets[1].description = {}

        for succeeds, expected in (('workers/w', 'workers/w'), ('', None)):
            path = self.successor('workers/w', succeeds)
            self.assertEqual([(expected, succeeds, path)], self.read())
            self.group.members.pop()

    def test_successor_that_waits_for_its_server_counts(self):
        self.successor(
            *('workers/w-0', 'workers/w-0'),
            status=Member.HELD,
            server_uuid=None,
            reserved_for=uuids.new,
        )

        self.assertEqual(1, len(self.read()))

    def test_successor_without_a_server_has_ended(self):
        for status in (Member.HELD, Member.TENTATIVE, Member.FAILED):
            self.successor('workers/w-0', 'workers/w-0', status=status)
            self.assertEqual([], self.read())
            self.group.members.pop()

    def test_successor_fits_the_set_that_describes_its_server_now(self):
        for request, expected in ((None, 'workers/w'), (M2, 'master')):
            self.successor('workers/w', '', server_request=request)

            roster = stored.read(self.group)

            [successor] = [m for m in roster.members if m.server == uuids.new]
            self.assertEqual(expected, successor.request)
            self.group.members.pop()

    def test_only_the_request_of_a_server_describes_others(self):
        matching = Matching({'workers/w': kind_of(M2)})
        member = self.group.members[1]
        for status, expected in (
            (Member.ACTIVE, True),
            (Member.TENTATIVE, False),
        ):
            member.status, member.server_request = status, M2
            self.assertIs(expected, matching.described_before(member))

    def test_successor_follows_in_a_set_like_the_matching_one(self):
        """The hint names one of the two sets only."""
        for request, expected in ((M2, 'master'), (M1, 'workers/w')):
            self.group.member_sets[1].resolved_request = request
            self.change('master', status=Member.ACTIVE, server_uuid=uuids.db)
            self.successor('workers/w', '')
            self.describe(count=3, max_surge=1)

            roster = stored.read(
                self.group, self.matching_workers(), [uuids.db]
            )

            [successor] = [m for m in roster.members if m.server == uuids.new]
            self.assertEqual(expected, successor.member_set)
            self.group.members.pop()

    def test_successor_of_a_subgroup_may_follow_in_sets_that_are_alike(self):
        for request, is_alike in ((M2, True), ({'flavor_id': 'm3'}, False)):
            self.group.member_sets[0].resolved_request = request
            self.group.member_sets[1].resolved_request = M2
            self.successor('workers/w', '')
            member_sets = stored.read(self.group).member_sets
            requests = {each.request for each in member_sets.values()}
            self.assertEqual(is_alike, len(requests) == 1)
            self.group.members.pop()

    def test_successor_described_before_is_like_no_set_that_is_like_its_own(
        self,
    ):
        """Its own set describes other servers now, as another one does."""
        self.group.member_sets[1].resolved_request = M2
        former = {'flavor_id': 'former'}
        self.successor('workers/w', '', server_request=former)

        roster = stored.read(self.group)

        [successor] = [m for m in roster.members if m.server == uuids.new]
        self.assertNotIn(
            successor.request,
            {each.request for each in roster.member_sets.values()},
        )


class TestPlaceable(stored_groups.StoredCase):
    def obstacle(self, hint='workers/w', number=1, gone=(), deleting=()):
        names = [str(index) for index in range(number)]
        try:
            allowed.choose(
                *(self.group, hint, self.matching_workers(), names),
                lambda uuids: ({*gone} & {*uuids}, {*deleting} & {*uuids}),
            )
        except creates.Refused as exc:
            return exc.obstacle
        return None

    def test_as_many_as_max_count_are_placeable(self):
        self.assertIsNone(self.obstacle(number=2))
        self.assertEqual(Obstacle.BEYOND_LIMIT, self.obstacle(number=3))

    def test_gone_server_makes_place(self):
        self.assertIsNone(self.obstacle(number=3, gone=[uuids.first]))

    def test_servers_are_looked_up_only_if_that_matters(self):
        def fail(_uuids):
            raise AssertionError

        self.assertEqual(
            1,
            len(
                allowed.choose(
                    *(self.group, 'workers/w', self.matching_workers()),
                    *(['0'], fail),
                )
            ),
        )

    def test_server_that_is_being_deleted_is_waited_for(self):
        self.assertEqual(
            Obstacle.CHANGING, self.obstacle(number=3, deleting=[uuids.first])
        )

    def test_member_sets_are_those_at_or_below_a_hint(self):
        for hint, expected in (
            ('workers/w-7', ['workers/w']),
            ('workers', ['workers/w']),
            ('', ['master', 'workers/w']),
            ('nobody', []),
        ):
            found = allowed.member_sets_for(self.group, hint)
            self.assertEqual(expected, [each.path for each in found])


class TestFormerDescriptions(stored_groups.StoredCase):
    """The workers of two servers were described otherwise before."""

    FORMER = {'flavor_id': 'former'}

    def setUp(self):
        super().setUp()
        for path in ('workers/w-0', 'workers/w-1'):
            self.change(path, server_request=self.FORMER)

    def matching(self, request, hint='workers/w'):
        return allowed.find_matching(
            self.group, hint, lambda each: each == request
        )

    def choose(self, request):
        return allowed.choose(
            *(self.group, 'workers/w', self.matching(request), ['new']),
            lambda _uuids: ((), ()),
        )

    def test_servers_as_described_match_without_a_request_of_their_own(self):
        self.assertEqual(self.matching_workers(), self.matching(M1))

    def test_servers_like_pending_ones_match(self):
        expected = Matching({'workers/w': kind_of(self.FORMER)})

        self.assertEqual(expected, self.matching(self.FORMER))
        self.assertEqual(expected, self.matching(self.FORMER, hint=''))

    def test_other_servers_do_not_match(self):
        self.assertEqual(Matching(), self.matching({'flavor_id': 'm3'}))

    def test_servers_of_the_former_description_match_until_they_go(self):
        for path in ('workers/w-0', 'workers/w-1'):
            self.change(path, server_request=None)

        self.assertEqual(Matching(), self.matching(self.FORMER))

    def test_held_member_is_placed_anew_for_such_a_server(self):
        for request, is_held in ((M1, True), (self.FORMER, False)):
            [choice] = self.choose(request)

            self.assertEqual('workers/w-2', choice.member.path)
            self.assertEqual(is_held, choice.is_held)
            roster = stored.read(self.group, self.matching(request))
            self.assertEqual(not is_held, roster.is_pending(choice.member))
