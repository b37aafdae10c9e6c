# SPDX-License-Identifier: Apache-2.0
"""Our own enginefacade, beside Nova's.

Nothing is connected before the first query, so a service may import and
configure this and fork its workers afterwards.
"""

from oslo_db.sqlalchemy import enginefacade

from nova_groupext.conf import CONF

context_manager = enginefacade.transaction_context()
_configured_for = None


def is_configured(conf=CONF):
    """Tell whether there is a database that configure() can point at."""
    return bool(_connection(conf))


def _connection(conf):
    return conf.vrt_database.connection or conf.api_database.connection


def configure(conf=CONF):
    """Point the facade at ``[vrt_database]``, or at Nova's API database.

    Every service of ours calls this when it starts; where several run in one
    process, the first call decides.
    """
    global _configured_for
    settings = dict(conf.vrt_database.items())
    settings['connection'] = _connection(conf)
    settings['connection_parameters'] = _parameters(**settings)
    if settings['connection'] != _configured_for:
        reset()
        context_manager.configure(**settings)
        _configured_for = settings['connection']


def _parameters(connection, connection_parameters, **_others):
    """Complete what is appended to the URL.

    Unless told otherwise, oslo.db talks to MySQL and MariaDB in characters of
    at most three bytes. Our tables have room for all of them.
    """
    if (
        connection is None
        or not connection.startswith('mysql')
        or 'charset=' in f'{connection}&{connection_parameters}'
    ):
        return connection_parameters
    return '&'.join(filter(None, (connection_parameters, 'charset=utf8mb4')))


def reset():
    """Forget the database and close what is open."""
    global context_manager, _configured_for
    if _configured_for is not None:
        context_manager.dispose_pool()
    context_manager = enginefacade.transaction_context()
    _configured_for = None


def reader(context):
    """A read transaction's session, as a context manager."""
    return context_manager.reader.using(context)


def writer(context):
    """A write transaction's session, as a context manager."""
    return context_manager.writer.using(context)


def get_engine():
    return context_manager.writer.get_engine()
