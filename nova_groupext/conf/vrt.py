# SPDX-License-Identifier: Apache-2.0
"""Options of ``[vrt]``: topology, limits, planning and holding."""

from oslo_config import cfg

from nova_groupext.conf import holds
from nova_groupext.conf import limits
from nova_groupext.conf import planning
from nova_groupext.conf import reaper
from nova_groupext.conf import topology
from nova_groupext.conf import topology_levels

GROUP = cfg.OptGroup(
    'vrt',
    title='VRT group options',
    help="""
Options of nova_groupext, which plans whole groups of servers (virtual
resource topologies) in one joint decision.
""",
)

ALL_OPTS = [
    *topology.OPTS,
    *limits.OPTS,
    *planning.OPTS,
    *holds.OPTS,
    *reaper.OPTS,
]


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
