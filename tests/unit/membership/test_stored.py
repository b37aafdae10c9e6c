# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/membership/stored.py``."""

from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base

from nova_groupext.membership import allowed
from nova_groupext.membership import creates
from nova_groupext.membership import stored
from nova_groupext.membership.creates import Obstacle
from nova_groupext.objects import states
from nova_groupext.objects.member_set import Matching
from nova_groupext.objects.member_set import kind_of
from nova_groupext.solver.language import paths
from tests import groups

Member = states.Member
M1, M2 = {'flavor_id': 'm1'}, {'flavor_id': 'm2'}


class StoredCase(base.BaseTestCase):
    """A master, and three workers of whom two are described."""

    def setUp(self):
        super().setUp()
        self.group = self.make(count=3)
        self.describe(count=2, max_count=4)
        for path, server in (
            ('workers/w-0', uuids.first),
            ('workers/w-1', uuids.second),
        ):
            self.change(path, status=Member.ACTIVE, server_uuid=server)
        self.change('workers/w-2', status=Member.HELD)

    def make(self, request=M1, **counts):
        group = groups.unstored(
            **groups.members_of(
                groups.member_set('master', M2),
                groups.member_set('workers/w', request, **counts),
            ),
            has_expired=False,
        )
        for number, member in enumerate(group.members):
            member.id = number
            member.server_uuid = member.reserved_for = None
            member.server_request = None
        return group

    def describe(self, **counts):
        self.group.member_sets[1].description = counts

    def matching_workers(self):
        """Return the Matching of servers that are as workers are described."""
        return Matching.of(self.group.member_sets[1:])

    def change(self, path, **values):
        for member in self.group.members:
            if member.path == path:
                for name, value in values.items():
                    setattr(member, name, value)


class TestRead(StoredCase):
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

    def test_paths_in_policies_and_relationships_are_named(self):
        self.assertEqual(
            {'', 'workers', 'master'}, stored.read(self.group).named
        )


class TestSuccessors(StoredCase):
    def successor(self, path, succeeds, **values):
        described = self.group.member_sets[1]
        stored_path = paths.successor(path, uuids.new)
        member = groups.member(stored_path, described)
        self.group.members.append(member)
        values = {
            'id': 9,
            'succeeds': succeeds,
            'server_uuid': uuids.new,
            'reserved_for': None,
            'server_request': None,
            'status': Member.ACTIVE,
            **values,
        }
        self.change(stored_path, **values)
        return stored_path

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

    def test_revision_keeps_a_successor_and_counts_it(self):
        path = self.successor('workers/w', 'workers/w')
        self.change('workers/w-2', status=Member.ACTIVE)

        revised = stored.revised(self.group, self.make(count=4))

        self.assertEqual(
            ['workers/w-0', 'workers/w-1', 'workers/w-2', path],
            [each for each, *_others in revised if each != 'master'],
        )
        self.assertEqual((path, 'workers/w', 'workers/w'), revised[-1])

    def test_others_that_are_leaving_stay_beside_a_set_that_is_removed(self):
        self.change('master', status=Member.ACTIVE)
        self.successor('workers/w', 'workers/w-0')
        draft = self.make()
        draft.member_sets.clear()

        revised = stored.revised(
            self.group, draft, removed='workers/w', drops_servers=True
        )

        self.assertEqual([('master', 'master', None)], revised)

    def test_revision_counts_a_successor_in_the_set_that_it_makes_alike(self):
        other = {**M1, 'flavor_id': 'other'}
        path = self.successor('workers/w', '', server_request=other)
        draft = self.make(count=3)
        master = draft.member_sets[0]
        master.resolved_request, master.description = other, {'count': 2}

        revised = stored.revised(self.group, draft)

        self.assertIn((path, 'workers/w', ''), revised)
        self.assertEqual(
            1, sum(member_set == 'master' for _, member_set, _ in revised)
        )


class TestRevised(StoredCase):
    def revised(self, request=M1, **counts):
        return stored.revised(self.group, self.make(request, **counts))

    def paths(self, **counts):
        return [
            path
            for path, member_set, _succeeds in self.revised(**counts)
            if member_set == 'workers/w'
        ]

    def test_servers_count_before_holds(self):
        self.change('workers/w-2', status=Member.ACTIVE)
        self.change('workers/w-0', status=Member.HELD)

        self.assertEqual(['workers/w-1', 'workers/w-2'], self.paths(count=2))

    def test_servers_beyond_the_definition_stay(self):
        self.assertEqual(['workers/w-0', 'workers/w-1'], self.paths(count=1))

    def test_servers_beyond_the_definition_may_leave(self):
        self.change('workers/w-2', status=Member.ACTIVE)
        self.describe(count=1, max_count=4)
        draft = self.make(count=1, max_count=2)

        revised = stored.revised(self.group, draft, drops_servers=True)

        left = [each[0] for each in revised if each[0] != 'master']
        self.assertEqual(['workers/w-0', 'workers/w-1'], left)

    def test_others_that_are_leaving_stay_beside_one_that_is_removed(self):
        self.change('workers/w-2', status=Member.ACTIVE)
        self.describe(count=1)

        revised = stored.revised(
            *(self.group, self.make(count=1)),
            removed='workers/w-0',
            drops_servers=True,
        )

        left = [each[0] for each in revised if each[0] != 'master']
        self.assertEqual(['workers/w-1', 'workers/w-2'], left)

    def test_member_that_adopts_a_server_keeps_its_path(self):
        self.change('workers/w-2', status=Member.TENTATIVE)
        self.change('workers/w-0', status=Member.TENTATIVE)
        self.describe(count=2)

        revised = stored.revised(
            *(self.group, self.make(count=2)), {'workers/w-2': uuids.third}
        )

        self.assertEqual(
            ['workers/w-1', 'workers/w-2'],
            [each[0] for each in revised if each[0] != 'master'],
        )

    def test_missing_members_get_free_indexes(self):
        self.group.members.pop(2)

        self.assertEqual(
            [f'workers/w-{index}' for index in range(4)], self.paths(count=4)
        )

    def test_order_is_that_of_the_definition(self):
        self.assertEqual('master', self.revised(count=1)[0][0])

    def test_changed_description_keeps_paths(self):
        self.assertEqual(
            ['workers/w-0', 'workers/w-1', 'workers/w-2'],
            self.paths(request=M2, count=3),
        )

    def test_servers_of_a_set_that_is_left_out_are_last(self):
        draft = groups.unstored(
            **groups.members_of(groups.member_set('master', M2))
        )

        self.assertEqual(
            [
                ('master', 'master', None),
                ('workers/w-0', 'workers/w', None),
                ('workers/w-1', 'workers/w', None),
            ],
            stored.revised(self.group, draft),
        )


class TestPlaceable(StoredCase):
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


class TestFormerDescriptions(StoredCase):
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
