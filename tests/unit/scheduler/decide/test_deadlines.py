# SPDX-License-Identifier: Apache-2.0
"""Deadlines of planning, and leases until then."""

import fixtures
from nova import context
from oslotest import base

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.scheduler.decide import deadlines
from tests import fixtures as test_fixtures
from tests import groups
from tests.unit.solver import builders

PROBLEM = builders.problem(builders.racks(a=(1,)), builders.group(w=1))


class TestDeadline(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(test_fixtures.Database())
        self.context = context.get_admin_context()
        self.now = 0.0
        self.useFixture(
            fixtures.MonkeyPatch('time.monotonic', lambda: self.now)
        )
        group = groups.unstored()
        group.create(self.context)
        self.lease = groups.acquire_lease(self.context, group)

    def deadline(self, seconds):
        return deadlines.Deadline(self.context, self.lease, seconds)

    def ends_soon(self):
        """Shorten the lease to one second; return the time of its end."""
        db.compare_and_set(self.context, models.Lease, ends_at=clock.now(1))
        return self.ends_at()

    def ends_at(self):
        return db.find_one(self.context, models.Lease).ends_at

    def test_planning_after_its_deadline_is_out_of_time(self):
        deadline = self.deadline(60)
        deadline.check()
        self.now = 59
        deadline.check()
        self.now = 60

        error = self.assertRaises(exception.OutOfTime, deadline.check)

        self.assertIn('60 seconds', str(error))
        self.assertRaises(exception.OutOfTime, deadline.limit, PROBLEM)

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

            deadline.check()

            self.assertEqual(is_due, self.ends_at() > before, self.now)

    def test_planning_without_the_lease_is_stopped(self):
        deadline = self.deadline(60)
        db.delete(self.context, models.Lease)

        self.assertRaises(exception.GroupBusy, deadline.check)

    def test_time_while_the_deadline_is_stopped_does_not_count(self):
        deadline = self.deadline(60)
        self.now = 40
        with deadline.paused():
            self.now = 140
        before = self.ends_soon()

        deadline.check()

        self.assertGreater(self.ends_at(), before)
        self.now = 159
        deadline.check()
        self.now = 160
        self.assertRaises(exception.OutOfTime, deadline.check)

    def limits(self, deadline):
        """Return the deadline and the limit of a decision."""
        problem = deadline.limit(PROBLEM)
        return problem.deadline, problem.time_limit

    def test_decision_leaves_time_to_hold_its_plan(self):
        deadline = self.deadline(90)
        self.assertEqual((54, 30), self.limits(deadline))
        self.now = 50
        self.assertEqual((24, 24), self.limits(deadline))
        self.lease.seconds = 40
        self.assertEqual((20, 20), self.limits(deadline))

    def test_deadline_works_without_a_lease(self):
        self.lease = None
        deadline = self.deadline(30)
        deadline.check()
        self.assertEqual((18, 10), self.limits(deadline))
