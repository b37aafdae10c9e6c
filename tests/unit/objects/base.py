# SPDX-License-Identifier: Apache-2.0
"""Groups in a database of the test's own."""

from nova import context
from oslotest import base

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests import fixtures
from tests import groups


class GroupCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database())
        self.context = context.get_admin_context()

    def create(self, **values):
        group = groups.described(**values)
        group.create(self.context)
        return group

    def get(self, group):
        return objects.VRTGroup.get(self.context, group.uuid)


class HeldCase(GroupCase):
    def held(self, expires_at=None):
        """Return a group of three that are held."""
        group = self.create()
        holds = groups.holds(self.context, group)
        groups.hold(self.context, group, holds, expires_at)
        return self.get(group)

    def with_hold(self, member):
        """Return a member and what it holds, as servers are given them."""
        return member, objects.VRTHold.get_by_member(self.context, member.id)

    def holds_of(self, group):
        return objects.VRTHold.list_by_group(self.context, group.id)

    def forget(self, group):
        """Forget a group of which nothing is held any more."""
        for hold in self.holds_of(group):
            hold.release(self.context)
        objects.VRTHold.orphan(self.context, group.id)
        group.destroy(self.context)

    def redeem(self, *members):
        for member in members:
            member.change(self.context, states.Member.REDEEMING)
            self.become_server(member)

    def become_server(self, member):
        """Let a member that is REDEEMING be a server."""
        self._change(transitions.redeem, member, states.Member.ACTIVE)

    def end(self, member, became):
        """End a member's hold; returns whether that was done."""
        return self._change(transitions.end_hold, member, became)

    def _change(self, transition, member, became):
        hold = objects.VRTHold.get_by_member(self.context, member.id)
        done = transition(self.context, hold, member.changed(became))
        if done:
            member.status = became
        return done
