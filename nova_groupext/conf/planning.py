# SPDX-License-Identifier: Apache-2.0
"""Options: planners, their time and memory, and their place in Nova."""

from oslo_config import cfg

OPTS = [
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
a host for its member, because the member has none, or Nova refuses the planned
one: it is disabled or down, was deleted, or is rejected by one of the
operator's filters.

When the time ends, or no planner answers, the server gets the status ERROR as
for any other lack of a valid host, and a held member stays held.
nova-conductor waits for the scheduler for ``rpc_response_timeout``, which
should be longer.

Possible values:

* ``0`` to request no host

Related options:

* ``redeem_replacement_attempts``
* ``planning_time_limit``
""",
    ),
    cfg.IntOpt(
        'max_waiting_creates',
        default=40,
        min=1,
        help="""
Maximum number of requests for servers, in all schedulers together, that wait
for planners to find hosts for members of their groups. Each occupies a thread
of its scheduler and one of its conductor. Further ones are refused at once.

Related options:

* ``max_waiting_creates_per_project``
* ``redeem_replacement_time_limit``
""",
    ),
    cfg.IntOpt(
        'max_waiting_creates_per_project',
        default=24,
        min=1,
        help="""
Maximum number of these requests of one project.

Related options:

* ``max_waiting_creates``
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
        'snapshot_max_age',
        default=60,
        min=0,
        help="""
Maximum age in seconds of what a planner keeps of its last look at the cloud,
if the cloud has at least 1,000 hosts. A later look starts from there and reads
the providers that have changed. States of hosts may be as old as this, and
capacity of deleted servers may be missing. Its plans are for all members, on
hosts that Nova's filters accept at the time. Before a group is refused, and
before members are left out, the whole cloud is read.

0 reads the whole cloud for each plan.

Related options:

* ``planning_time_limit``
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
