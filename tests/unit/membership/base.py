# SPDX-License-Identifier: Apache-2.0
"""A group without a cloud: servers come and go, only membership is real."""

import itertools

from oslotest import base

from nova_groupext.membership import creates
from nova_groupext.membership import revising
from nova_groupext.membership import roster as rosters
from nova_groupext.membership import settling
from nova_groupext.objects import states

Obstacle = creates.Obstacle

# Requests
SMALL, BIG = 'small', 'big'


def member_set(count=None, max_count=None, max_surge=0, request=SMALL):
    return rosters.MemberSet(request, count, max_count, max_surge)


class MembershipTestCase(base.BaseTestCase):
    """The group is ``self.roster``; all that is chosen finds capacity."""

    def setUp(self):
        super().setUp()
        self._servers = (f's{number}' for number in itertools.count(1))
        self.deleting = set()

    def describe(self, named=(), **member_sets):
        """Create a group whose members are held."""
        self.roster = rosters.Roster({}, named=named)
        self.revise(**member_sets)

    def revise(self, left_out=0, **member_sets):
        """Revise the group; return the paths of the members to place."""
        to_place = revising.revise(self.roster, member_sets)
        for member in to_place[len(to_place) - left_out :]:
            revising.leave_out(self.roster, member)
        settling.settle(self.roster)
        return [member.path for member in to_place]

    def choose(self, hint, number=1, request=SMALL):
        """Create servers that are built; return their Choices."""
        servers = [next(self._servers) for _each in range(number)]
        choices = creates.choose(
            self.roster, hint, servers, request, self.deleting
        )
        for choice in choices:
            choice.member.status = states.Member.ACTIVE
        settling.settle(self.roster)
        return choices

    def create(self, hint, **kwargs):
        """Create a server; return its uuid."""
        [choice] = self.choose(hint, **kwargs)
        return choice.member.server

    def member(self, server):
        [member] = [m for m in self.roster.members if m.server == server]
        return member

    def delete(self, server, status=states.Member.TENTATIVE):
        """Delete a server for good: it is gone from Nova."""
        self.deleting.discard(server)
        settling.leave(self.roster, self.member(server), status)

    def assert_refused(self, obstacle, hint, **kwargs):
        before = self.shown()
        error = self.assertRaises(creates.Refused, self.choose, hint, **kwargs)
        self.assertEqual(obstacle, error.obstacle)
        self.assertEqual(before, self.shown())

    def shown(self):
        """Return {path: server, or status}; successors have no path."""
        return {
            each.path: each.server or each.status
            for each in sorted(self.roster.members, key=rosters.by_path)
            if not each.is_successor
        }

    def successors(self):
        return [m.server for m in self.roster.members if m.is_successor]
