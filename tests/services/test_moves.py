# SPDX-License-Identifier: Apache-2.0
"""Moves that begin concurrently and see one another."""

import functools

from nova import context
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import move_transitions
from nova_groupext.objects import states
from nova_groupext.scheduler.current import locations
from tests import groups
from tests.services import concurrency
from tests.services import databases
from tests.services import servers


class Moves:
    MEMBERS = 6

    def setUp(self):
        super().setUp()
        self.context = context.get_admin_context()
        self.group = groups.equal_members(self.MEMBERS)
        self.group.create(self.context)
        holds = groups.create_holds(self.context, self.group)
        groups.hold_all(self.context, self.group, holds, timeutils.utcnow())
        for member in self.group.members:
            server = uuidutils.generate_uuid()
            member.status = states.Member.HELD
            member.change(
                self.context, states.Member.REDEEMING, server_uuid=server
            )

    def begin(self, member):
        """Begin the move of a member's server if no other move is open."""
        own = context.get_admin_context()
        move = objects.VRTMove(
            group_id=self.group.id,
            member_id=member.id,
            server_uuid=member.server_uuid,
            host='target',
            node='target',
        )
        return move_transitions.start_move(
            own, move, lambda: not locations.read(own, self.group).destinations
        )

    def test_concurrent_moves_that_exclude_each_other_admit_one(self):
        begun = concurrency.call_concurrently(
            [
                functools.partial(self.begin, member)
                for member in self.group.members
            ]
        )

        self.assertEqual([False] * (self.MEMBERS - 1) + [True], sorted(begun))
        [_one] = objects.VRTMove.list_by_group(self.context, self.group.id)


class TestOnMariaDB(Moves, databases.DatabaseTestCase):
    SERVER = servers.MARIADB


class TestOnPostgreSQL(Moves, databases.DatabaseTestCase):
    SERVER = servers.POSTGRESQL


class TestOnSQLite(Moves, databases.DatabaseTestCase):
    SERVER = servers.SQLITE
