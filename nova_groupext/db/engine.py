# SPDX-License-Identifier: Apache-2.0
"""Our own enginefacade, beside Nova's.

Nothing is connected before the first query, so a service may import and
configure this and fork its workers afterwards.
"""

from oslo_db.sqlalchemy import enginefacade

from nova_groupext.conf import CONF

context_manager = enginefacade.transaction_context()


def configure(conf=CONF):
    """Point the facade at ``[vrt_database]``, or at Nova's API database."""
    settings = dict(conf.vrt_database.items())
    settings['connection'] = (
        settings['connection'] or conf.api_database.connection
    )
    context_manager.configure(**settings)


def reader(context):
    """A read transaction's session, as a context manager."""
    return context_manager.reader.using(context)


def writer(context):
    """A write transaction's session, as a context manager."""
    return context_manager.writer.using(context)


def get_engine():
    return context_manager.writer.get_engine()
