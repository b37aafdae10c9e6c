# SPDX-License-Identifier: Apache-2.0
"""Options of ``[vrt_database]``, the database of groups and holds."""

import copy

from oslo_config import cfg
from oslo_db import options as oslo_db_options

GROUP = cfg.OptGroup(
    'vrt_database',
    title='VRT database options',
    help="""
Database with the tables of nova_groupext.

If ``connection`` is not set, the tables are in Nova's API database, that of
``[api_database]connection``. Their names (``vrt_*``) and their alembic version
table are separate from Nova's, so that ``nova-manage api_db sync`` and
``nova-groupext-manage db sync`` do not affect each other.
""",
)


# A query waits for its retries only: with oslo.db's ten attempts to connect,
# ten seconds apart, each query to a server that is away would take minutes.
DEFAULTS = {'max_retries': 0}


def _options():
    options = copy.deepcopy(oslo_db_options.database_opts)
    for option in options:
        if option.name in DEFAULTS:
            option.default = DEFAULTS[option.name]
    return options


def register_opts(conf):
    conf.register_group(GROUP)
    conf.register_opts(_options(), group=GROUP)


def list_opts():
    return {GROUP: _options()}
