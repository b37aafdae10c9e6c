# SPDX-License-Identifier: Apache-2.0
"""Options: failure domains and what tenants see of them."""

from oslo_config import cfg

from nova_groupext.conf import topology_levels

OPTS = [
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
