# SPDX-License-Identifier: Apache-2.0
"""Options of ``[vrt]``: topology, limits, planning and holding."""

from oslo_config import cfg
from oslo_config import types

GROUP = cfg.OptGroup(
    'vrt',
    title='VRT group options',
    help="""
Options of nova_groupext, which places whole groups of servers (virtual
resource topologies) with one joint decision.
""",
)

TOPOLOGY_OPTS = [
    cfg.ListOpt(
        'topology_levels',
        default=[],
        item_type=types.String(regex=r'^[A-Za-z][\w.-]*:\S+$'),
        help="""
The levels of this cloud's topology between a host and an availability zone.

Each item is ``level:key``: the level's name, used as ``scope`` in policies,
and the key of the host aggregate metadata that names a host's domain at that
level. The smallest level comes first. ``host`` is always the first level and
``zone``, the availability zone, the last; neither is listed here.

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
The secret under which the names of racks, hosts and other domains become the
ids that tenants see.

With another one all ids are others. Without one the first process that needs
it makes one and stores it in the tables.

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
Most servers that one group may describe, counted members included.
""",
    ),
    cfg.IntOpt(
        'max_depth',
        default=6,
        min=1,
        help="""
Deepest nesting of subgroups below a group.
""",
    ),
    cfg.IntOpt(
        'max_entries_per_list',
        default=200,
        min=1,
        help="""
Most entries in any one list or mapping of a topology: the members, the
subgroups, the policies or the relationships of one node.
""",
    ),
    cfg.IntOpt(
        'max_classes',
        default=50,
        min=1,
        help="""
Most kinds of members that one group may describe: those with another flavor,
image or availability zone are of another kind.

Placement, and Nova's filters and weighers, are asked once for each kind. In a
large cloud that takes a good part of a second each.

Related options:

* ``planning_time_limit``
""",
    ),
    cfg.IntOpt(
        'max_body_size',
        default=1024 * 1024,
        min=1024,
        help="""
Largest description of a group, in bytes of its JSON.

Nova's API refuses what is larger than ``[oslo_middleware]
max_request_body_size`` before it gets here.
""",
    ),
    cfg.IntOpt(
        'max_groups_per_project',
        default=50,
        min=1,
        help="""
Most groups that one project may keep at a time.

Related options:

* ``max_held_members_per_project``
""",
    ),
    cfg.IntOpt(
        'max_planning_per_project',
        default=20,
        min=1,
        help="""
Most groups of one project that may be planned, or wait for that, at a time.
Revisions and proposals count; what is more is refused with 409.

Related options:

* ``max_concurrent_plans``
""",
    ),
    cfg.IntOpt(
        'max_held_members_per_project',
        default=2000,
        min=-1,
        help="""
Most members that one project may hold at a time, in all of its groups
together. A held member takes the place of a server that nobody uses yet; this
limit bounds them also where the project's quota for servers does not.

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
Worker processes of one nova-groupext-planner.
""",
    ),
    cfg.IntOpt(
        'max_concurrent_plans',
        default=3,
        min=2,
        help="""
Groups that one worker process plans at a time, and proposals that it works
out; others wait for their turn. No project has all of these slots. One more is
kept for members for which a server waits to get another place.

Related options:

* ``solver_memory_limit``
""",
    ),
    cfg.FloatOpt(
        'planning_time_limit',
        default=60.0,
        min=0.1,
        help="""
Seconds that it may take to plan a group: to look at the cloud, to decide, to
try the plan with Nova's filters and to hold it. Deciding gets a part of that.
When it runs out the best lawful plan found so far is used. When there is none,
or no time to hold it, the group is UNDECIDED and nothing of it is held.

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
Seconds that the search for the fewest moves which would mend a group may take.
""",
    ),
    cfg.FloatOpt(
        'redeem_replacement_time_limit',
        default=20.0,
        min=0,
        max=50,
        help="""
Seconds for which a server waits, while it is scheduled, for planners to find
another place for its member because Nova refuses the planned host: it is
disabled or down, was deleted, or an operator's filter does not let it pass.

When they run out, or no planner answers, the server ends in ERROR as for any
other lack of a valid host, and the member stays held. nova-conductor waits for
the scheduler for ``rpc_response_timeout``, which should be longer.

Possible values:

* ``0`` to ask no planner

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
How often planners are asked for another place while one request for servers
waits, if Nova refuses the new place as well.

Related options:

* ``redeem_replacement_time_limit``
""",
    ),
    cfg.IntOpt(
        'solver_memory_limit',
        default=2048,
        min=256,
        help="""
Most memory of the solver's process, in MiB of address space.
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
How often a group is looked at and decided anew when Nova's filters refuse a
planned host or somebody else takes its capacity before it is held.
""",
    ),
    cfg.IntOpt(
        'operation_lease',
        default=300,
        min=30,
        help="""
Seconds for which a planner owns a group while it works on it. It is renewed
while that goes on. It should be longer than ``planning_time_limit``: no
decision takes longer than half of it.

What a planner that died was at work on is taken over sooner: by the next one
on its host when that starts, by others after six times ``heartbeat_interval``.
The lease is what counts when a planner is there and gets stuck.

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
Seconds between two signs of life of a planner, which it writes into the
database. As often it looks whether a group waits to be planned, or was left
by another planner. A planner of which nothing is heard for six times as long
is taken for dead.

Related options:

* ``operation_lease``
""",
    ),
    cfg.FloatOpt(
        'holistic_weight_multiplier',
        default=1000.0,
        min=0,
        help="""
Multiplier of the HolisticWeigher, which weighs the hosts to which a member's
server may move by what the group would cost there. Other servers are not
weighed by it.

With the default the group's cost comes first and Nova's own weighers decide
between hosts that cost the same, as they do when a group is planned. Hosts
with failed builds are still avoided: ``[filter_scheduler]
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

A held member is charged to its tenant by nova_groupext itself. If holds were
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
Members whose holds are written in one request to Placement. A request is
atomic; a large one starves beside the claims of a busy cloud.
""",
    ),
    cfg.IntOpt(
        'default_expires_in',
        default=3600,
        min=60,
        help="""
Seconds after which what is still held of a group is released, when its
description does not say ``expires_in``.

Related options:

* ``max_expires_in``
""",
    ),
    cfg.IntOpt(
        'max_expires_in',
        default=86400,
        min=60,
        help="""
Largest ``expires_in`` that a tenant may ask for, in seconds, when a group is
described and each time that it is extended.

Related options:

* ``max_hold_lifetime``
""",
    ),
    cfg.IntOpt(
        'max_hold_lifetime',
        default=7 * 86400,
        min=60,
        help="""
Seconds for which a member may be held without becoming a server, however often
its group is extended, revised or replanned. It is released then.

What is held for the resize of a server is given up after as long.

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
Seconds between two rounds of a planner's reaper, which releases expired
groups and finishes what other processes began and did not end.
""",
    ),
    cfg.IntOpt(
        'unknown_server_deadline',
        default=3600,
        min=60,
        help="""
Seconds after which the capacity of a member is held again whose server Nova
knows nothing of: it was deleted before it was scheduled, or its conductor
died. Until then Nova may still build it.
""",
    ),
    cfg.IntOpt(
        'tombstone_lifetime',
        default=86400,
        min=3600,
        help="""
Seconds for which it is remembered that a hold has ended. If a request that was
sent before that fills it again, the reaper gives it back; later it is an
orphan, which is left to the operator (see "holds audit" of
nova-groupext-manage).
""",
    ),
    cfg.IntOpt(
        'exclusive_reap_interval',
        default=5,
        min=1,
        help="""
Seconds between two rounds in which a planner holds what has become free on
hosts that groups with a strict policy ``exclusive`` have to themselves.

When a server of such a group is deleted, Nova gives its capacity back to
everybody. For so long, and for the time of one round, a server that is not of
the group can be scheduled there. A round without such groups is one query.
""",
    ),
    cfg.BoolOpt(
        'rehold_after_server_end',
        default=False,
        help="""
Hold a member's place again when its server could not be built or was deleted,
as long as its group has not expired.

Without it the capacity goes back to everybody, and the member is FAILED or
RELEASED.

Related options:

* ``max_automatic_replacements``
""",
    ),
    cfg.IntOpt(
        'max_automatic_replacements',
        default=0,
        min=0,
        help="""
How often planners place one member anew by themselves when it is FAILED: its
server could not be built, its host was taken out of service, or its hold is
gone. It is held elsewhere than where it failed, as long as its group has not
expired and the quota allows it, and another server can be created with the
same hints. Tries in vain count too.

With ``0`` it stays FAILED until its owner replans the group, but for a member
whose hold Placement has lost while holds were exchanged: that one is placed
anew once in any case. A member whose server could not be built is not held
where it was then, even with ``rehold_after_server_end``, which goes on to be
about servers that were deleted.

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
    named = [item.split(':', 1)[0] for item in conf.vrt.topology_levels]
    return ['host', *named, 'zone']


def aggregate_keys(conf):
    """Return {level: aggregate metadata key} of the configured levels."""
    return dict(item.split(':', 1) for item in conf.vrt.topology_levels)
