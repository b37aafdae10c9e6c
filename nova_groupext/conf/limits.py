# SPDX-License-Identifier: Apache-2.0
"""Options: limits of groups, projects and requests."""

from oslo_config import cfg

OPTS = [
    cfg.IntOpt(
        'max_members',
        default=1000,
        min=1,
        help="""
Maximum number of members of one group, counted members included.

A description must also fit into one request. With the default of that limit,
114688 bytes, any number of counted members fit, and about 800 members that
have names, ids of flavor and image, and a zone each.

Related options:

* ``[oslo_middleware]max_request_body_size``
""",
    ),
    cfg.IntOpt(
        'max_depth',
        default=6,
        min=1,
        help="""
Maximum depth of nested subgroups below a group.
""",
    ),
    cfg.IntOpt(
        'max_entries_per_list',
        default=200,
        min=1,
        help="""
Maximum number of entries in any one list or mapping of a topology: the
members, the subgroups, the policies or the relationships of one node.
""",
    ),
    cfg.IntOpt(
        'max_classes',
        default=50,
        min=1,
        help="""
Maximum number of member classes of one group. A class is a combination of
flavor, image and availability zone.

Planning queries Placement and runs Nova's filters and weighers once for each
class. In a large cloud that takes up to a second per class.

Related options:

* ``planning_time_limit``
""",
    ),
    cfg.IntOpt(
        'max_groups_per_project',
        default=50,
        min=1,
        help="""
Maximum number of groups that one project may have at a time.

Related options:

* ``max_held_members_per_project``
""",
    ),
    cfg.IntOpt(
        'max_planning_per_project',
        default=20,
        min=1,
        help="""
Maximum number of groups of one project that may be planned, or wait to be
planned, at a time. Revisions and proposals count. Further requests are refused
with 409.

Related options:

* ``max_concurrent_plans``
""",
    ),
    cfg.IntOpt(
        'max_held_members_per_project',
        default=2000,
        min=-1,
        help="""
Maximum number of members that one project may hold at a time, in all of its
groups together. A held member takes the capacity of a server that does not
exist yet; this limit applies even where the project's quota of servers is
unlimited.

Possible values:

* ``-1`` for no limit but the quota

Related options:

* ``max_groups_per_project``
* ``max_members``
""",
    ),
]
