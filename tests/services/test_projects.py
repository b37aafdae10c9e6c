# SPDX-License-Identifier: Apache-2.0
"""Concurrent requests of a project: its quota and its client tokens."""

import fixtures
from nova import context
from nova import quota as nova_quota
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext import quota
from tests import groups
from tests.services import concurrency
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
    """Writers with connections of their own, as in their own processes."""

    def create(self, **values):
        group = groups.unstored(**values)
        for member_set in group.member_sets:
            member_set.resolved_request = REQUEST
        group.create(context.get_admin_context())
        return group

    def test_concurrent_holds_of_the_last_quota_admit_one(self):
        self.useFixture(
            fixtures.MockPatchObject(
                nova_quota.QUOTAS,
                'get_project_quotas',
                lambda _context, _project_id: LIMITS,
            )
        )
        for _round in range(ROUNDS):
            # The project is new, so that its lock does not exist yet.
            project = uuidutils.generate_uuid()
            wanted = [self.create(project_id=project) for _ in range(WRITERS)]

            outcomes = concurrency.call_concurrently(
                [self.holder(each) for each in wanted]
            )

            refused = [
                each
                for each in outcomes
                if isinstance(each, exception.LimitExceeded)
            ]
            [held] = [each for each in outcomes if each not in refused]
            self.assertEqual(3, len(held), held)
            for each in refused:
                self.assertIn(
                    '3 requested, 3 of 3 already used or held', str(each)
                )

    @staticmethod
    def holder(group):
        """Return a call that checks the quota and writes holds."""
        requester = context.get_admin_context()

        def write_down():
            quota.check(requester, group.project_id, group.members)
            return groups.create_holds(requester, group)

        return lambda: quota.with_project_lock(
            requester, group.project_id, write_down
        )

    def test_similar_client_tokens_are_different(self):
        tokens = ['token', 'TOKEN', 'tökén']

        made = {
            token: self.create(client_token=token).uuid for token in tokens
        }

        for token in tokens:
            found = objects.VRTGroup.find_by_token(
                context.get_admin_context(), 'project', token
            )
            self.assertEqual(made[token], found.uuid)
