# SPDX-License-Identifier: Apache-2.0
"""SQLAlchemy enginefacade of nova_groupext, separate from Nova's.

It connects at the first query, so a service may import and configure this
module before it forks its workers.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
import re
from typing import Any
from typing import TypeGuard

from nova.context import RequestContext
from oslo_config import cfg
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.conf import CONF

# Deployment tools write this character set of three bytes at most into URLs.
_SHORT_UTF8 = re.compile(r'\bcharset=utf8(mb3)?(?=&|$)')

context_manager = enginefacade.transaction_context()
_configured_for = None


def is_configured(conf: cfg.ConfigOpts = CONF) -> bool:
    """Check whether configure() has a database connection to use."""
    return bool(_connection(conf))


def _connection(conf: cfg.ConfigOpts) -> str | None:
    return conf.vrt_database.connection or conf.api_database.connection


def configure(conf: cfg.ConfigOpts = CONF) -> None:
    """Configure the facade for ``[vrt_database]``, or Nova's API database.

    Every service of ours calls this when it starts. A later call with another
    connection replaces the facade; one with the same is ignored.
    """
    global _configured_for
    settings = dict(conf.vrt_database.items())
    settings['connection'] = _with_long_utf8(_connection(conf))
    settings['connection_parameters'] = _parameters(**settings)
    if settings['connection'] != _configured_for:
        if settings['connection']:
            parse_url(settings['connection'])
        reset()
        context_manager.configure(**settings)
        _configured_for = settings['connection']


def _with_long_utf8(connection: str | None) -> str | None:
    """Return a URL with the character set of our tables, not a part of it."""
    if not _is_mysql(connection):
        return connection
    return _SHORT_UTF8.sub('charset=utf8mb4', connection)


def _is_mysql(connection: str | None) -> TypeGuard[str]:
    return connection is not None and connection.startswith('mysql')


def parse_url(text: str) -> sa.URL:
    """Return a database URL.

    :raises: sqlalchemy.exc.ArgumentError, never with a part of the URL, which
        may contain a password
    """
    try:
        return sa.make_url(text)
    except ValueError:
        # The text after the last colon may be part of a password.
        raise sa.exc.ArgumentError(
            'The port in the database URL is not a number.'
        ) from None


def _parameters(
    connection: str | None, connection_parameters: str, **_others: Any
) -> str:
    """Return the parameters to append to the connection URL.

    By default oslo.db uses MySQL's and MariaDB's character set of at most
    three bytes per character. Our tables use utf8mb4.
    """
    if (
        not _is_mysql(connection)
        or 'charset=' in f'{connection}&{connection_parameters}'
    ):
        return connection_parameters
    return '&'.join(filter(None, (connection_parameters, 'charset=utf8mb4')))


def reset() -> None:
    """Discard the configuration and close open connections."""
    global context_manager, _configured_for
    if _configured_for is not None:
        context_manager.dispose_pool()
    context_manager = enginefacade.transaction_context()
    _configured_for = None


def reader(context: RequestContext) -> AbstractContextManager[orm.Session]:
    """Return a context manager with a read transaction's session."""
    return context_manager.reader.using(context)


def writer(context: RequestContext) -> AbstractContextManager[orm.Session]:
    """Return a context manager with a write transaction's session."""
    return context_manager.writer.using(context)


def get_engine() -> sa.Engine:
    return context_manager.writer.get_engine()


def connect(
    make_engine: Callable[[], sa.Engine] = get_engine,
    section: str = 'vrt_database',
) -> sa.Connection:
    """Return a new connection.

    :param section: configuration section with the URL's parameters
    :raises: sqlalchemy.exc.ArgumentError when the driver does not accept
        these parameters, and a database error
    """
    try:
        return make_engine().connect()
    except (TypeError, ValueError) as exc:
        raise sa.exc.ArgumentError(
            f'[{section}]connection_parameters, or the part of '
            f'connection after "?", is invalid: {exc}'
        ) from exc
