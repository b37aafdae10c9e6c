# SPDX-License-Identifier: Apache-2.0
"""Options of ``[vrt_database]``, the database of groups and holds."""

from oslo_config import cfg
from oslo_db import options as oslo_db_options

GROUP = cfg.OptGroup(
    'vrt_database',
    title='VRT database options',
    help="""
Where nova_groupext keeps its tables.

When ``connection`` is not set, the tables live in Nova's API database, the
one ``[api_database]connection`` names. They have names of their own
(``vrt_*``) and an alembic version table of their own, so that
``nova-manage api_db sync`` and ``nova-groupext-manage db sync`` never meet.
""",
)


def register_opts(conf):
    conf.register_group(GROUP)
    conf.register_opts(oslo_db_options.database_opts, group=GROUP)


def list_opts():
    return {GROUP: oslo_db_options.database_opts}
