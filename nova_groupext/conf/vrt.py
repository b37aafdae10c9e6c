# SPDX-License-Identifier: Apache-2.0
"""Options of ``[vrt]``: topology, limits, planning and holding."""

from oslo_config import cfg

from nova_groupext.conf import topology_levels

GROUP = cfg.OptGroup(
    'vrt',
    title='VRT group options',
    help="""
Options of nova_groupext, which plans whole groups of servers (virtual
resource topologies) in one joint decision.
""",
)

TOPOLOGY_OPTS = [
    cfg.Opt(
        'topology_levels',
        default=[],
        type=topology_levels.TopologyLevels(),
        help="""
The levels of this cloud's topology between a host and an availability zone.

Each item is ``level:key``: the level's name, used as ``scope`` in policies,
and the key of the host aggregate metadata that names a host's domain at that
level. The smallest level comes first. ``host`` is always the first level and
``zone``, the availability zone, the last; neither is listed here. Each level
is listed once.

A host whose aggregates carry two different values for one key has no domain
at that level, which is logged as a warning.

Possible values:

* A list such as ``rack:rack, row:row``. With an aggregate ``rack-17`` that has
  the metadata ``rack=17``, its hosts are in the rack ``17``.
""",
    ),
    cfg.StrOpt(
        'domain_key',
        secret=True,
        max_length=255,
        help="""
Secret key from which the ids that tenants see instead of the names of racks,
hosts and other domains are derived.

Changing the key changes all ids. If it is not set, the first process that
needs the key generates one and stores it in the tables.

Possible values:

* A long random text, the same for every ``nova-api``.

Related options:

* ``topology_levels``
""",
    ),
]

LIMIT_OPTS = [
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

PLANNING_OPTS = [
    cfg.IntOpt(
        'planner_workers',
        default=1,
        min=1,
        help="""
Number of worker processes of one nova-groupext-planner.
""",
    ),
    cfg.IntOpt(
        'max_concurrent_plans',
        default=3,
        min=2,
        help="""
Number of groups that one worker process plans, and of proposals that it
computes, at a time; others wait for a slot. No project gets all of these
slots. One more slot is reserved for members whose servers wait for another
host.

Related options:

* ``solver_memory_limit``
""",
    ),
    cfg.FloatOpt(
        'planning_time_limit',
        default=60.0,
        min=0.1,
        help="""
Maximum seconds to plan a group: to read the cloud, to decide, to check the
plan with Nova's filters and to hold it. The decision gets a part of this time.
When that ends, the best plan so far is used. Without a plan, or without time
to hold it, the group becomes UNDECIDED and holds no capacity.

Related options:

* ``max_classes``
* ``operation_lease``
""",
    ),
    cfg.FloatOpt(
        'proposal_time_limit',
        default=10.0,
        min=0.1,
        help="""
Maximum seconds to search for the fewest server moves that restore the policies
of a group.
""",
    ),
    cfg.FloatOpt(
        'redeem_replacement_time_limit',
        default=20.0,
        min=0,
        max=50,
        help="""
Maximum seconds for which the scheduling of a server waits for planners to find
another host for its member, because Nova refuses the planned host: it is
disabled or down, was deleted, or is rejected by one of the operator's filters.

When the time ends, or no planner answers, the server gets the status ERROR as
for any other lack of a valid host, and the member stays held. nova-conductor
waits for the scheduler for ``rpc_response_timeout``, which should be longer.

Possible values:

* ``0`` to request no other host

Related options:

* ``redeem_replacement_attempts``
* ``planning_time_limit``
""",
    ),
    cfg.IntOpt(
        'redeem_replacement_attempts',
        default=2,
        min=1,
        help="""
How often planners are asked for another host while one request for servers
waits, if Nova refuses the new host as well.

Related options:

* ``redeem_replacement_time_limit``
""",
    ),
    cfg.IntOpt(
        'solver_memory_limit',
        default=2048,
        min=256,
        help="""
Maximum memory of the solver's process, in MiB of address space.
""",
    ),
    cfg.IntOpt(
        'solver_seed',
        default=0,
        min=0,
        help="""
Seed of the solver. The same cloud, the same group and the same seed give the
same plan.
""",
    ),
    cfg.IntOpt(
        'planning_attempts',
        default=3,
        min=1,
        help="""
Maximum number of attempts to plan a group. A plan is repeated when Nova's
filters refuse a planned host, or another server takes its capacity before it
is held.
""",
    ),
    cfg.IntOpt(
        'operation_lease',
        default=300,
        min=30,
        help="""
Seconds of the lease that a planner has on a group while it works on the group.
The planner renews the lease while it works. The lease should be longer than
``planning_time_limit``: no decision takes longer than half of it.

The groups of a planner that has ended are taken over sooner: by the next
planner on its host when that starts, by others after six times
``heartbeat_interval``. The lease ends the work of a planner that runs but is
stuck.

Related options:

* ``heartbeat_interval``
* ``planning_time_limit``
""",
    ),
    cfg.IntOpt(
        'heartbeat_interval',
        default=5,
        min=1,
        help="""
Seconds between two heartbeats of a planner, which it writes into the database.
At the same interval it polls for groups that wait to be planned, or that
another planner has abandoned. A planner that sends no heartbeat for six times
this interval counts as dead.

Related options:

* ``operation_lease``
""",
    ),
    cfg.FloatOpt(
        'holistic_weight_multiplier',
        default=1000.0,
        min=0,
        help="""
Multiplier of the HolisticWeigher, which weighs the hosts that a member's
server may move to by the cost of the group's soft policies there. It does not
weigh the hosts of other servers.

With the default the group's cost comes first and Nova's own weighers decide
between hosts of equal cost, as they do when a group is planned. Hosts with
failed builds are still avoided: ``[filter_scheduler]
build_failure_weight_multiplier`` is larger.
""",
    ),
]

HOLD_OPTS = [
    cfg.StrOpt(
        'hold_project_id',
        default='nova-groupext-holds',
        help="""
Project under which holds are written into Placement.

nova_groupext itself counts a held member for its tenant's quota. If holds were
written under the tenant's project, Nova would count every member twice where
``[quota]count_usage_from_placement`` is set or unified limits are used.
""",
    ),
    cfg.StrOpt(
        'hold_user_id',
        default='nova-groupext-holds',
        help="""
User under which holds are written into Placement.
""",
    ),
    cfg.IntOpt(
        'holds_per_request',
        default=5,
        min=1,
        max=50,
        help="""
Number of holds that are written in one request to Placement. A request is
atomic; in a busy cloud a large one keeps failing because of concurrent claims.
""",
    ),
    cfg.IntOpt(
        'default_expires_in',
        default=3600,
        min=60,
        help="""
Seconds after which the holds of a group are released, if its description has
no ``expires_in``.

Related options:

* ``max_expires_in``
""",
    ),
    cfg.IntOpt(
        'max_expires_in',
        default=86400,
        min=60,
        help="""
Maximum ``expires_in`` that a tenant may request, in seconds, when a group is
created and each time that it is extended.

Related options:

* ``max_hold_lifetime``
""",
    ),
    cfg.IntOpt(
        'max_hold_lifetime',
        default=7 * 86400,
        min=60,
        help="""
Maximum seconds for which a member may be held without a server, however often
its group is extended, revised or replanned. It is released then.

The capacity that is held for the resize of a server is released after the same
time.

Related options:

* ``max_expires_in``
""",
    ),
]

REAPER_OPTS = [
    cfg.IntOpt(
        'reap_interval',
        default=60,
        min=1,
        help="""
Seconds between two rounds of a planner's reaper, which releases expired groups
and finishes the operations that other processes have abandoned.
""",
    ),
    cfg.IntOpt(
        'unknown_server_deadline',
        default=3600,
        min=60,
        help="""
Seconds after which a member is held again if its server is unknown to Nova:
the server was deleted before it was scheduled, or its conductor died. Until
then Nova may still build it.
""",
    ),
    cfg.IntOpt(
        'tombstone_lifetime',
        default=86400,
        min=3600,
        help="""
Seconds for which the row of a hold that has ended is kept. If a late request
fills the hold again within this time, the reaper releases it; after that it is
an orphan, which only the operator can release (see "holds audit" of
nova-groupext-manage).
""",
    ),
    cfg.IntOpt(
        'exclusive_reap_interval',
        default=5,
        min=1,
        help="""
Seconds between two rounds in which a planner holds the capacity that has
become free on the hosts of groups with a strict policy ``exclusive``.

When a server of such a group is deleted, Nova frees its capacity for all
servers. Until the next round has ended, a server that is not of the group can
be scheduled there. A round without such groups is one query.
""",
    ),
    cfg.BoolOpt(
        'rehold_after_server_end',
        default=False,
        help="""
Whether to hold a member again on the same host when its server could not be
built or was deleted, as long as its group has not expired.

If false, the capacity is released, and the member becomes FAILED or RELEASED.

Related options:

* ``max_automatic_replacements``
""",
    ),
    cfg.IntOpt(
        'max_automatic_replacements',
        default=0,
        min=0,
        help="""
How often planners automatically replace one member that is FAILED: its server
could not be built, its host was taken out of service, or its hold was lost.
The member is held on another host, as long as its group has not expired and
the quota allows it, and another server can be created with the same hints.
Failed attempts count too.

With ``0`` a member stays FAILED until its owner replans the group, except for
a member whose hold was lost during a swap of holds: it is replaced once in any
case. With a larger value a member whose server could not be built is not held
on its former host, even with ``rehold_after_server_end``, which then applies
to deleted servers only.

Related options:

* ``rehold_after_server_end``
""",
    ),
]

ALL_OPTS = TOPOLOGY_OPTS + LIMIT_OPTS + PLANNING_OPTS + HOLD_OPTS + REAPER_OPTS


def register_opts(conf):
    conf.register_group(GROUP)
    conf.register_opts(ALL_OPTS, group=GROUP)


def list_opts():
    return {GROUP: ALL_OPTS}


def levels(conf):
    """Return the level names, smallest first: host, ..., zone."""
    named = [
        topology_levels.name_of(item) for item in conf.vrt.topology_levels
    ]
    return [topology_levels.HOST, *named, topology_levels.ZONE]


def aggregate_keys(conf):
    """Return {level: aggregate metadata key} of the configured levels."""
    return dict(item.split(':', 1) for item in conf.vrt.topology_levels)
