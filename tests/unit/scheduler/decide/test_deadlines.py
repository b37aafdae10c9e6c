# SPDX-License-Identifier: Apache-2.0
"""Is there an end to planning, and a lease until then?"""

import fixtures
from nova import context
from oslotest import base

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.scheduler.decide import deadlines
from tests import fixtures as ours
from tests import groups


class TestDeadline(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(ours.Database())
        self.context = context.get_admin_context()
        self.now = 0.0
        self.useFixture(
            fixtures.MonkeyPatch('time.monotonic', lambda: self.now)
        )
        group = groups.described()
        group.create(self.context)
        self.lease = groups.lease(self.context, group)

    def deadline(self, seconds):
        return deadlines.Deadline(self.context, self.lease, seconds)

    def ends_soon(self):
        """Let the lease end a second from now; returns when it ended."""
        db.compare_and_set(self.context, models.Lease, ends_at=clock.now(1))
        return self.ends_at()

    def ends_at(self):
        return db.find_one(self.context, models.Lease).ends_at

    def test_it_ends(self):
        deadline = self.deadline(60)
        deadline.go_on()
        self.now = 59
        deadline.go_on()
        self.now = 60

        error = self.assertRaises(exception.OutOfTime, deadline.go_on)

        self.assertIn('60 seconds', str(error))
        self.assertRaises(exception.OutOfTime, deadline.for_deciding)

    def test_a_lease_is_renewed_before_it_ends(self):
        quarter = self.lease.seconds / 4
        deadline = self.deadline(10 * quarter)
        for self.now, is_due in (
            (0, True),
            (0.9 * quarter, False),
            (1.1 * quarter, True),
            (2 * quarter, False),
            (2.2 * quarter, True),
        ):
            before = self.ends_soon()

            deadline.go_on()

            self.assertEqual(is_due, self.ends_at() > before, self.now)

    def test_who_has_lost_the_lease_does_not_go_on(self):
        deadline = self.deadline(60)
        db.delete(self.context, models.Lease)

        self.assertRaises(exception.GroupBusy, deadline.go_on)

    def test_no_time_passes_while_the_quota_is_asked_for(self):
        deadline = self.deadline(60)
        self.now = 40
        with deadline.stopped():
            self.now = 140
        before = self.ends_soon()

        deadline.go_on()

        self.assertGreater(self.ends_at(), before)
        self.now = 159
        deadline.go_on()
        self.now = 160
        self.assertRaises(exception.OutOfTime, deadline.go_on)

    def test_a_decision_leaves_time_to_hold_it_and_fits_into_the_lease(self):
        deadline = self.deadline(100)
        self.assertEqual(60, deadline.for_deciding())
        self.now = 50
        self.assertEqual(30, deadline.for_deciding())
        self.lease.seconds = 40
        self.assertEqual(20, deadline.for_deciding())

    def test_where_nothing_is_written_there_is_no_lease(self):
        self.lease = None
        deadline = self.deadline(10)
        deadline.go_on()
        self.assertEqual(6, deadline.for_deciding())
