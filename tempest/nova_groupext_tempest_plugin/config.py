# SPDX-License-Identifier: Apache-2.0
"""Options that the plugin adds to ``tempest.conf``."""

from oslo_config import cfg

SERVICE_AVAILABLE_OPTS = [
    cfg.BoolOpt(
        'vrt',
        default=True,
        help="""
The compute API has the routes of VRT groups. If false, all tests of the
plugin are skipped.
""",
    ),
]

VRT_GROUP = cfg.OptGroup('vrt', title='Tests of VRT groups')

VRT_OPTS = [
    cfg.IntOpt(
        'build_timeout',
        default=300,
        min=1,
        help="""
Seconds to wait for a change of a group: a plan, a revision, an expiry, or
the release of its holds. It must be longer than ``[vrt] reap_interval`` and
``[vrt] planning_time_limit`` of the cloud.
""",
    ),
    cfg.FloatOpt(
        'build_interval',
        default=1.0,
        min=0.05,
        help="""
Seconds between two polls of a group that a test waits for.
""",
    ),
    cfg.BoolOpt(
        'check_allocations',
        default=False,
        help="""
Check through the admin's Placement endpoint that holds appear, and that no
allocation of VRT groups is left after a class of tests. Set it only where no
other user holds groups while the tests run: the holds of all projects are
counted together.

Related options:

* ``hold_project_id``
""",
    ),
    cfg.StrOpt(
        'hold_project_id',
        default='nova-groupext-holds',
        help="""
Project under which the cloud writes holds into Placement: the value of
``[vrt] hold_project_id`` in its ``nova.conf``.
""",
    ),
]


def list_opts():
    """Return the options for ``oslo-config-generator``."""
    return [
        (VRT_GROUP, VRT_OPTS),
        ('service_available', SERVICE_AVAILABLE_OPTS),
    ]
