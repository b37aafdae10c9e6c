# SPDX-License-Identifier: Apache-2.0
"""One HTTP server on the loopback for every API of the try-out cloud."""

import logging
import threading

from cheroot import wsgi
import webob.exc

from nova_groupext.cloud import errors

LOG = logging.getLogger(__name__)

# nova-api asks its neighbours on this very server while its own client is
# waiting: there must be more threads than clients, or all wait for ever.
THREADS = 64
# Those who come while every thread is busy: cheroot lets 5 of them wait, the
# kernel resets the connections of the others.
WAITING = 512
SHUTDOWN_SECONDS = 5
# A request, once it has begun, comes as fast as this machine is.
READ_SECONDS = 10
# Longer than clients leave a connection idle: one that is closed while it is
# used again costs them a request.
IDLE_SECONDS = 120


class _Listener(wsgi.Server):
    """Lets nobody keep a thread who says nothing.

    It tells why it could not be bound; cheroot has only a long text for it.
    """

    def process_conn(self, conn):
        """Have a thread serve a connection, as soon as it says something."""
        if conn.last_used is None:
            # To be watched like one that is kept alive.
            self._connections.put(conn)
            return
        conn.socket.settimeout(READ_SECONDS)
        super().process_conn(conn)

    def bind(self, family, type, proto=0):
        try:
            return super().bind(family, type, proto)
        except OSError as exc:
            host, port = self.bind_addr
            raise errors.CannotStart(
                f'{host}, port {port}: {exc.strerror}'
            ) from exc


class Server:
    """Bound when made, so that its URL is known; serves after start().

    ``port`` 0 takes any free port. One that is not to be had is an
    :class:`~nova_groupext.cloud.errors.CannotStart`.
    """

    def __init__(self, port=0):
        self._server = _Listener(
            ('127.0.0.1', port),
            self._dispatch,
            numthreads=THREADS,
            request_queue_size=WAITING,
            timeout=IDLE_SECONDS,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        self._server.error_log = _log
        self._server.prepare()
        self._mounted = {}
        self._thread = threading.Thread(
            target=self._server.serve, name='tryout-http', daemon=True
        )

    @property
    def url(self):
        """The server's own URL, without a slash at its end."""
        host, port = self._server.bind_addr
        return f'http://{host}:{port}'

    def mount(self, name, application):
        """Serve a WSGI application at ``<url>/<name>``, now or later."""
        self._mounted[name] = application

    def start(self):
        self._thread.start()

    def stop(self):
        self._server.stop()
        if self._thread.is_alive():
            self._thread.join()

    def _dispatch(self, environ, start_response):
        name = environ['PATH_INFO'].split('/')[1]
        application = self._mounted.get(name, webob.exc.HTTPNotFound())
        environ['SCRIPT_NAME'] += f'/{name}'
        environ['PATH_INFO'] = environ['PATH_INFO'][len(name) + 1 :]
        return application(environ, start_response)


def _log(message='', level=logging.INFO, traceback=False):
    LOG.log(level, message, exc_info=traceback)
