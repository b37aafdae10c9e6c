# SPDX-License-Identifier: Apache-2.0
"""The tables, all named ``vrt_*``.

A group's definition is stored once, in rows: subgroups, members, policies and
relationships. The topologies that tenants see and that the planner solves are
composed from these rows (see objects/topology.py).

Three mechanisms protect against concurrent writers: ``vrt_groups.generation``
increases with every change; ``vrt_leases.group_id`` is unique, so that one
planner at a time works on a group; the ``counter`` columns serialise the
transactions that count and hold for a project (``vrt_project_locks``) or that
evaluate a group as a whole (``vrt_groups``).
"""

from nova_groupext.db.models.base import Base
from nova_groupext.db.models.capacity import Hold
from nova_groupext.db.models.capacity import Move
from nova_groupext.db.models.definition import Group
from nova_groupext.db.models.definition import Member
from nova_groupext.db.models.definition import MemberSet
from nova_groupext.db.models.definition import Plan
from nova_groupext.db.models.definition import Policy
from nova_groupext.db.models.definition import Proposal
from nova_groupext.db.models.definition import Relationship
from nova_groupext.db.models.definition import Subgroup
from nova_groupext.db.models.process import Boot
from nova_groupext.db.models.process import Create
from nova_groupext.db.models.process import Event
from nova_groupext.db.models.process import Key
from nova_groupext.db.models.process import Lease
from nova_groupext.db.models.process import Planner
from nova_groupext.db.models.process import ProjectLock

__all__ = [
    'Base',
    'Boot',
    'Create',
    'Event',
    'Group',
    'Hold',
    'Key',
    'Lease',
    'Member',
    'MemberSet',
    'Move',
    'Plan',
    'Planner',
    'Policy',
    'ProjectLock',
    'Proposal',
    'Relationship',
    'Subgroup',
]
