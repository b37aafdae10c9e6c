# SPDX-License-Identifier: Apache-2.0
"""What is held counts like what runs."""

import fixtures
from nova import quota as nova_quota
from nova.limit import utils as limit_utils

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.objects import states
from tests.unit.api import base

BIG = {'members': {'big': {**base.SMALL, 'count': 2}}}


class TestQuota(base.GroupCase):
    """Nova's own numbers are those of a try-out cloud in tests/functional."""

    def quotas(self, **resources):
        """Have Nova say {resource: (limit, in use)}; without limits else."""
        said = {
            name: dict(zip(('limit', 'in_use'), values, strict=True))
            for name, values in {
                'instances': (-1, 0),
                'cores': (-1, 0),
                'ram': (-1, 0),
                **resources,
            }.items()
        }
        self.useFixture(
            fixtures.MockPatchObject(
                nova_quota.QUOTAS,
                'get_project_quotas',
                lambda _context, _project_id: said,
            )
        )

    def hold(self, *statuses, project_id=base.OWNER):
        """Store a group whose members have these states, 4 cores each."""
        topology = {
            'members': {'held': {**base.SMALL, 'count': len(statuses)}}
        }
        group = self.described(topology, base.request(vcpus=4, memory_mb=100))
        group.project_id = project_id
        for member, status in zip(group.members, statuses, strict=True):
            member.status = status
        group.create(self.context)

    def check(self):
        """Ask for two members of 3 cores each."""
        asked = base.request(vcpus=3, memory_mb=10)
        quota.check(
            self.context, base.OWNER, self.described(BIG, asked).members
        )

    def refusal(self):
        error = self.assertRaises(exception.LimitExceeded, self.check)
        return error.format_message()

    def test_without_limits_everything_fits(self):
        self.quotas()

        self.check()

    def test_what_just_fits_is_allowed(self):
        self.quotas(instances=(5, 3), cores=(9, 3), ram=(1020, 1000))

        self.check()

    def test_each_resource_says_how_much_it_is_over(self):
        self.quotas(instances=(4, 3), cores=(9, 4), ram=(1020, 1000))

        self.assertEqual(
            'Quota exceeded: instances: 2 asked for, 3 of 4 used or held, '
            '1 too many; cores: 6 asked for, 4 of 9 used or held, 1 too many',
            self.refusal(),
        )

    def test_held_members_of_all_groups_count(self):
        self.hold(states.Member.HELD, states.Member.REDEEMING)
        self.hold(states.Member.HELD)
        self.quotas(cores=(18, 0))
        self.check()

        self.quotas(cores=(17, 0))

        self.assertIn('12 of 17 used or held, 1 too many', self.refusal())

    def test_what_is_not_held_does_not_count(self):
        self.hold(
            *(s for s in states.Member if s not in ('HELD', 'REDEEMING'))
        )
        self.quotas(cores=(6, 0))

        self.check()

    def test_what_others_hold_does_not_count(self):
        self.hold(states.Member.HELD, project_id=base.STRANGER)
        self.quotas(cores=(6, 0))

        self.check()

    def test_a_limit_of_0_is_one(self):
        self.quotas(instances=(0, 0))

        self.assertIn('instances', self.refusal())

    def test_unified_limits_that_nobody_set_are_none(self):
        self.quotas(cores=(0, 0))
        enforced = self.useFixture(
            fixtures.MockPatchObject(
                limit_utils, 'should_enforce', return_value=False
            )
        )
        self.check_with_unified_limits()

        [info] = enforced.mock.call_args.args[0].over_limit_info_list
        self.assertEqual('class:VCPU', info.resource_name)

    def check_with_unified_limits(self):
        self.useFixture(
            fixtures.MockPatchObject(
                limit_utils, 'use_unified_limits', lambda: True
            )
        )
        self.check()
