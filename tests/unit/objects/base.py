# SPDX-License-Identifier: Apache-2.0
"""Base classes with groups in a database."""

import datetime

from nova import context
from oslo_utils import timeutils
from oslotest import base

from nova_groupext import objects
from nova_groupext.objects import redeems
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from tests import fixtures
from tests import groups

NOON = datetime.datetime(2026, 11, 1, 12)


class GroupTestCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database())
        self.context = context.get_admin_context()

    def create(self, **values):
        group = groups.unstored(**values)
        group.create(self.context)
        return group

    def get(self, group):
        return objects.VRTGroup.get(self.context, group.uuid)


class HeldGroupTestCase(GroupTestCase):
    def create_held_group(self, expires_at=None):
        """Return a group with three held members."""
        group = self.create()
        holds = groups.create_holds(self.context, group)
        groups.hold_all(self.context, group, holds, expires_at)
        return self.get(group)

    def member_and_hold(self, member):
        """Return a member and its hold."""
        return member, objects.VRTHold.find_by_member(self.context, member.id)

    def holds_of(self, group):
        return objects.VRTHold.list_by_group(self.context, group.id)

    def delete(self, group):
        """Delete a group after the release of its holds."""
        objects.VRTHold.release_all(self.context, self.holds_of(group))
        watched_holds.detach_tombstones(self.context, group.id)
        group.purge(self.context)

    def redeem(self, *members):
        for member in members:
            member.change(self.context, states.Member.REDEEMING)
            self.complete_redeem(member)

    def complete_redeem(self, member):
        """Redeem the hold of a member that is REDEEMING."""
        self._change(redeems.redeem, member, states.Member.ACTIVE)

    def end_hold(self, member, became):
        """End a member's hold; return whether that succeeded."""
        return self._change(redeems.end_hold, member, became)

    def _change(self, transition, member, became):
        hold = objects.VRTHold.find_by_member(self.context, member.id)
        done = transition(self.context, hold, member.status_change(became))
        if done:
            member.status = became
        return done


class ExpiringGroupTestCase(HeldGroupTestCase):
    """A held group of three that expires 60 seconds after NOON."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock(NOON))
        self.group = self.create_held_group(
            NOON + datetime.timedelta(seconds=60)
        )

    def pass_seconds(self, seconds):
        timeutils.advance_time_seconds(seconds)

    def extend(self, seconds=60):
        self.get(self.group).extend(self.context, seconds)

    def expire(self):
        return releases.expire(self.context, self.group)
