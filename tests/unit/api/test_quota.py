# SPDX-License-Identifier: Apache-2.0
"""What is held counts like what runs."""

import datetime
import re

import fixtures
from nova import objects as nova_objects
from nova import quota as nova_quota
from nova.limit import utils as limit_utils
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from tests import fixtures as ours
from tests import groups
from tests.unit.api import base

Hold = states.Hold
CELL0 = '00000000-0000-0000-0000-000000000000'
CELL1 = '11111111-1111-1111-1111-111111111111'
SERVER = '3c1f0d52-7a38-4a4e-9d0e-2f6f0c8d9b11'
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

    def hold(self, *holds, status=states.Member.HELD, project_id=base.OWNER):
        """Store a group of members of 4 cores, with the states of holds."""
        topology = {'members': {'held': {**base.SMALL, 'count': len(holds)}}}
        group = self.described(topology, base.request(vcpus=4, memory_mb=100))
        group.project_id = project_id
        for member in group.members:
            member.status = status
            member.server_uuid = SERVER
        group.create(self.context)
        for member, each in zip(group.members, holds, strict=True):
            self.write(member, each)
        return group.members

    def write(self, member, status):
        """Store a hold of a member."""
        hold = objects.VRTHold.of(member, groups.seat(SERVER, 1))
        hold.status = status
        hold.create(self.context)

    def check(self):
        """Ask for two members of 3 cores each."""
        asked = base.request(vcpus=3, memory_mb=10)
        quota.check(
            self.context, base.OWNER, self.described(BIG, asked).members
        )

    def held_cores(self):
        """Return how many cores of holds the check sees."""
        self.quotas(cores=(0, 0))
        [held] = re.findall(r'cores: 6 asked for, (\d+) of 0', self.refusal())
        return int(held)

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
        self.hold(Hold.HELD, Hold.HELD)
        self.hold(Hold.HELD)
        self.quotas(cores=(18, 0))
        self.check()

        self.quotas(cores=(17, 0))

        self.assertIn('12 of 17 used or held, 1 too many', self.refusal())

    def test_what_is_held_is_what_has_a_hold_that_is_no_servers(self):
        for status, cores in (
            (Hold.WRITING, 4),
            (Hold.HELD, 8),
            (Hold.REDEEMING, 12),
            (Hold.REDEEMED, 12),
            (Hold.RELEASING, 12),
        ):
            self.hold(status)
            self.assertEqual(cores, self.held_cores())

    def test_a_member_whose_hold_is_written_anew_counts_once(self):
        [member] = self.hold(Hold.REDEEMING)
        self.write(member, Hold.WRITING)

        self.assertEqual(4, self.held_cores())

    def test_who_is_asked_for_does_not_count_as_held(self):
        """A planner that died may have left holds of the same members."""
        members = self.hold(Hold.WRITING, Hold.HELD)
        self.quotas(instances=(2, 0))

        quota.check(self.context, base.OWNER, members)

    def test_what_others_hold_does_not_count(self):
        self.hold(Hold.HELD, project_id=base.STRANGER)

        self.assertEqual(0, self.held_cores())

    def test_a_server_that_is_being_created_counts_once(self):
        """Nova counts what has a cell, or all mappings: by its settings."""
        self.hold(Hold.HELD, status=states.Member.REDEEMING)
        for cell, from_placement, held in (
            (None, False, (1, 4)),
            (None, True, (0, 4)),
            (CELL1, False, (0, 0)),
            (CELL1, True, (0, 0)),
            (CELL0, False, (1, 4)),
            (CELL0, True, (1, 4)),
        ):
            self.map_server(cell)
            self.set('count_usage_from_placement', from_placement, 'quota')
            self.quotas(instances=(0, 0), cores=(0, 0))
            self.assertEqual(
                held,
                tuple(
                    int(number)
                    for number in re.findall(
                        r'(\d+) of 0 used or held', self.refusal()
                    )
                ),
            )

    def test_a_server_counts_from_the_swap_until_nova_counts_it(self):
        """Where Nova counts in the cells, it is in none for a while."""
        self.redeem()
        for cell, from_placement, cores in (
            (None, False, 4),
            (None, True, 0),
            (CELL1, False, 0),
            (CELL1, True, 0),
            (CELL0, False, 0),
        ):
            self.map_server(cell)
            self.set('count_usage_from_placement', from_placement, 'quota')
            self.assertEqual(cores, self.held_cores())

    def test_a_server_that_never_came_to_a_cell_counts_for_a_lease(self):
        self.map_server(None)
        self.redeem()
        self.assertEqual(4, self.held_cores())

        self.set('operation_lease', 30, 'vrt')
        self.useFixture(
            ours.Clock(timeutils.utcnow() + datetime.timedelta(seconds=31))
        )

        self.assertEqual(0, self.held_cores())

    def redeem(self):
        """Store a member whose hold has become its server's just now."""
        [member] = self.hold(Hold.HELD, status=states.Member.ACTIVE)
        db.compare_and_set(
            self.context,
            models.Hold,
            models.Hold.member_id == member.id,
            status=Hold.REDEEMED,
        )

    def map_server(self, cell):
        """Let Nova's mapping of the server name this cell."""
        nova_objects.register_all()
        mapping = nova_objects.InstanceMapping(
            instance_uuid=SERVER,
            cell_mapping=cell and nova_objects.CellMapping(uuid=cell),
        )
        self.useFixture(
            fixtures.MockPatchObject(
                nova_objects.InstanceMappingList,
                'get_by_instance_uuids',
                lambda _context, _uuids: [mapping],
            )
        )

    def test_the_operator_limits_how_many_members_are_held(self):
        self.quotas()
        self.hold(Hold.HELD, Hold.WRITING)
        for limit in (4, -1):
            self.set('max_held_members_per_project', limit, 'vrt')
            self.check()

        self.set('max_held_members_per_project', 3, 'vrt')

        self.assertEqual(
            '2 members are asked for and 2 are held: the VRT groups of a '
            'project may hold 3 members in all.',
            self.refusal(),
        )

    def set(self, name, value, group):
        CONF.set_override(name, value, group)
        self.addCleanup(CONF.clear_override, name, group)

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
