# SPDX-License-Identifier: Apache-2.0
"""Of moves that begin at the same moment, does each see the ones before?"""

import functools

from nova import context
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import relocation
from nova_groupext.objects import states
from nova_groupext.scheduler.current import locations
from tests import groups
from tests.services import at_once
from tests.services import databases
from tests.services import servers


class Moves:
    MEMBERS = 6

    def setUp(self):
        super().setUp()
        self.context = context.get_admin_context()
        self.group = groups.alike(self.MEMBERS)
        self.group.create(self.context)
        holds = groups.holds(self.context, self.group)
        groups.hold(self.context, self.group, holds, timeutils.utcnow())
        for member in self.group.members:
            server = uuidutils.generate_uuid()
            member.status = states.Member.HELD
            member.change(
                self.context, states.Member.REDEEMING, server_uuid=server
            )

    def begin(self, member):
        """Let a member's server go where nobody else goes."""
        own = context.get_admin_context()
        move = objects.VRTMove(
            group_id=self.group.id,
            member_id=member.id,
            server_uuid=member.server_uuid,
            host='target',
            node='target',
        )
        return relocation.begin_move(
            own, move, lambda: not locations.of(own, self.group).targets
        )

    def test_only_one_gets_what_one_may_have(self):
        begun = at_once.at_once(
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
