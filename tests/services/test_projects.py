# SPDX-License-Identifier: Apache-2.0
"""Does a project get what it may have and no more, whatever comes at once?"""

import fixtures
from nova import context
from nova import quota as nova_quota
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext import quota
from tests import groups
from tests.services import at_once
from tests.services import databases
from tests.services import servers

WRITERS = 6
ROUNDS = 3
# Of each, a group of three members may be held.
LIMITS = {
    name: {'limit': 3, 'in_use': 0} for name in ('instances', 'cores', 'ram')
}
REQUEST = {'flavor': {'nova_object.data': {'vcpus': 1, 'memory_mb': 1}}}


@databases.on(*servers.DATABASES, servers.SNAPSHOTS)
class Projects:
    """Writers have connections of their own, as in their own processes."""

    def create(self, **values):
        group = groups.described(**values)
        for member in group.members:
            member.request = REQUEST
        group.create(context.get_admin_context())
        return group

    def test_of_many_that_want_the_last_slots_one_gets_them(self):
        self.useFixture(
            fixtures.MockPatchObject(
                nova_quota.QUOTAS,
                'get_project_quotas',
                lambda _context, _project_id: LIMITS,
            )
        )
        for _round in range(ROUNDS):
            # The first of all is one that nobody has counted for before.
            project = uuidutils.generate_uuid()
            wanted = [self.create(project_id=project) for _ in range(WRITERS)]

            outcomes = at_once.at_once([self.holder(each) for each in wanted])

            refused = [
                each
                for each in outcomes
                if isinstance(each, exception.LimitExceeded)
            ]
            [held] = [each for each in outcomes if each not in refused]
            self.assertEqual(3, len(held), held)
            for each in refused:
                self.assertIn('3 asked for, 3 of 3 used or held', str(each))

    @staticmethod
    def holder(group):
        """Return a call that counts and writes down as a planner does."""
        requester = context.get_admin_context()

        def write_down():
            quota.check(requester, group.project_id, group.members)
            return groups.holds(requester, group)

        return lambda: quota.serialised(
            requester, group.project_id, write_down
        )

    def test_client_tokens_that_look_alike_are_different_ones(self):
        tokens = ['token', 'TOKEN', 'tökén']

        made = {
            token: self.create(client_token=token).uuid for token in tokens
        }

        for token in tokens:
            found = objects.VRTGroup.get_by_token(
                context.get_admin_context(), 'project', token
            )
            self.assertEqual(made[token], found.uuid)
