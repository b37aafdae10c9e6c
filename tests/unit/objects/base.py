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
        transitions.hold(self.context, group, holds, expires_at)
        return self.get(group)

    def with_hold(self, member):
        """Return a member and what it holds, as servers are given them."""
        return member, objects.VRTHold.get_by_member(self.context, member.id)

    def holds_of(self, group):
        return objects.VRTHold.list_by_group(self.context, group.id)

    def forget(self, group):
        """Forget a group of which nothing is held any more."""
        for hold in self.holds_of(group):
            hold.destroy(self.context)
        group.destroy(self.context)

    def redeem(self, *members):
        for member in members:
            member.change(self.context, states.Member.REDEEMING)
            self.end(member, states.Hold.REDEEMED, states.Member.ACTIVE)

    def end(self, member, status, became):
        """End a member's hold; returns whether that was done."""
        hold = objects.VRTHold.get_by_member(self.context, member.id)
        change = member.changed(became)
        done = transitions.end_hold(self.context, hold, status, change)
        if done:
            member.status = became
        return done
