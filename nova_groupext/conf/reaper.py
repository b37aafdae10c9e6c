# SPDX-License-Identifier: Apache-2.0
"""Options: the reaper's rounds, and what it does for failed servers."""

from oslo_config import cfg

OPTS = [
    cfg.IntOpt(
        'reap_interval',
        default=60,
        min=1,
        help="""
Seconds between two rounds of the reaper, which releases expired groups and
finishes the operations that other processes have abandoned. One planner runs
it for all.
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

If false, the capacity is released, and the member becomes FAILED, or TENTATIVE
if its server was deleted.

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

With ``0`` a member stays FAILED until its owner replans the group or creates
the server again, except for a member whose hold was lost during a swap of
holds: it is replaced once in any case. With a larger value a member whose
server could not be built is not held on its former host, even with
``rehold_after_server_end``, which then applies to deleted servers only.

Related options:

* ``rehold_after_server_end``
""",
    ),
]
