# SPDX-License-Identifier: Apache-2.0
"""Options: holds in Placement and their lifetimes."""

from oslo_config import cfg

OPTS = [
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
    cfg.BoolOpt(
        'placement_excludes_overcommit',
        default=False,
        help="""
Whether Placement has one of the settings with which concurrent requests cannot
overcommit a host; see the admin guide about Placement.

A scheduler then redeems a hold without comparing its host's usages with the
inventory first, which saves two requests for each server. Planners still
compare them, for hosts that others have changed, after they have written holds
and in each round of the reaper, so that a smaller inventory is noticed.
""",
    ),
    cfg.IntOpt(
        'default_expires_in',
        default=3600,
        min=60,
        help="""
Seconds after which the holds of a group are released, if its description has
no ``expires_in``; at most ``max_expires_in``.

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
