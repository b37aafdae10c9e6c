# SPDX-License-Identifier: Apache-2.0
"""Quota checks, in which holds count like servers."""

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
from tests import fixtures as test_fixtures
from tests import groups
from tests.unit.api import base

Hold = states.Hold
CELL0 = '00000000-0000-0000-0000-000000000000'
CELL1 = '11111111-1111-1111-1111-111111111111'
SERVER = '3c1f0d52-7a38-4a4e-9d0e-2f6f0c8d9b11'
BIG = {'members': {'big': {**base.SMALL, 'count': 2}}}


class TestQuota(base.GroupTestCase):
    """Counts of Nova are mocked here; tests/functional has real ones."""

    def quotas(self, **resources):
        """Mock {resource: (limit, in use)} of Nova; others are unlimited."""
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
        group = self.unstored_group(
            topology, base.request(vcpus=4, memory_mb=100)
        )
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
        hold = objects.VRTHold.for_member(member, groups.placement(SERVER, 1))
        hold.status = status
        hold.create(self.context)

    def check(self):
        """Check the quota for two members of 3 cores each."""
        asked = base.request(vcpus=3, memory_mb=10)
        quota.check(
            self.context, base.OWNER, self.unstored_group(BIG, asked).members
        )

    def held_cores(self):
        """Return the number of cores that the check counts for holds."""
        self.quotas(cores=(0, 0))
        [held] = re.findall('cores: 6 requested, (\\d+) of 0', self.refusal())
        return int(held)

    def refusal(self):
        error = self.assertRaises(exception.LimitExceeded, self.check)
        return error.format_message()

    def test_without_limits_everything_fits(self):
        self.quotas()

        self.check()

    def test_request_up_to_the_limit_is_allowed(self):
        self.quotas(instances=(5, 3), cores=(9, 3), ram=(1020, 1000))

        self.check()

    def test_refusal_names_the_excess_of_each_resource(self):
        self.quotas(instances=(4, 3), cores=(9, 4), ram=(1020, 1000))

        self.assertEqual(
            'Quota exceeded: instances: 2 requested, 3 of 4 already used or '
            'held, 1 over the quota; cores: 6 requested, 4 of 9 already used '
            'or held, 1 over the quota',
            self.refusal(),
        )

    def test_held_members_of_all_groups_count(self):
        self.hold(Hold.HELD, Hold.HELD)
        self.hold(Hold.HELD)
        self.quotas(cores=(18, 0))
        self.check()

        self.quotas(cores=(17, 0))

        self.assertIn('12 of 17 already used or held, 1 over', self.refusal())

    def test_only_holds_without_a_server_count(self):
        for status, cores in (
            (Hold.WRITING, 4),
            (Hold.HELD, 8),
            (Hold.REDEEMING, 12),
            (Hold.REDEEMED, 12),
            (Hold.RELEASING, 12),
        ):
            self.hold(status)
            self.assertEqual(cores, self.held_cores())

    def test_member_with_a_hold_and_its_successor_counts_once(self):
        [member] = self.hold(Hold.REDEEMING)
        self.write(member, Hold.WRITING)

        self.assertEqual(4, self.held_cores())

    def test_requested_member_with_an_old_hold_counts_once(self):
        """A planner that died may have left holds of the same members."""
        members = self.hold(Hold.WRITING, Hold.HELD)
        self.quotas(instances=(2, 0))

        quota.check(self.context, base.OWNER, members)

    def test_held_members_of_a_former_description_count_with_theirs(self):
        former = base.request(vcpus=1, memory_mb=10)
        [member, _other] = self.hold(Hold.HELD, Hold.HELD)
        member.update_row(self.context, server_request=former)

        self.assertEqual(4 + 1, self.held_cores())

    def test_holds_of_other_projects_do_not_count(self):
        self.hold(Hold.HELD, project_id=base.FOREIGN)

        self.assertEqual(0, self.held_cores())

    def test_a_server_that_is_being_created_counts_once(self):
        """By its settings Nova counts servers in cells, or all mappings."""
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
                        r'(\d+) of 0 already used', self.refusal()
                    )
                ),
            )

    def test_redeemed_member_counts_until_nova_counts_its_server(self):
        """If Nova counts in the cells, a new server is in none at first."""
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

    def test_redeemed_member_without_a_cell_counts_for_one_lease(self):
        self.map_server(None)
        self.redeem()
        self.assertEqual(4, self.held_cores())

        self.set('operation_lease', 30, 'vrt')
        self.useFixture(
            test_fixtures.Clock(
                timeutils.utcnow() + datetime.timedelta(seconds=31)
            )
        )

        self.assertEqual(0, self.held_cores())

    def redeem(self):
        """Store a member whose hold has just been redeemed."""
        [member] = self.hold(Hold.HELD, status=states.Member.ACTIVE)
        db.compare_and_set(
            self.context,
            models.Hold,
            models.Hold.member_id == member.id,
            status=Hold.REDEEMED,
        )

    def map_server(self, cell):
        """Mock Nova's instance mapping of the server with this cell."""
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

    def test_members_beyond_max_held_members_are_refused(self):
        self.quotas()
        self.hold(Hold.HELD, Hold.WRITING)
        for limit in (4, -1):
            self.set('max_held_members_per_project', limit, 'vrt')
            self.check()

        self.set('max_held_members_per_project', 3, 'vrt')

        self.assertEqual(
            '2 members requested and 2 already held, but the VRT groups of a '
            'project may hold at most 3 members in total.',
            self.refusal(),
        )

    def set(self, name, value, group):
        CONF.set_override(name, value, group)
        self.addCleanup(CONF.clear_override, name, group)

    def test_limit_of_0_is_enforced(self):
        self.quotas(instances=(0, 0))

        self.assertIn('instances', self.refusal())

    def test_unset_unified_limits_allow_everything(self):
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
