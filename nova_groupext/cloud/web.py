# SPDX-License-Identifier: Apache-2.0
"""HTTP server on the loopback that serves all APIs of the try-out cloud."""

import logging
import threading
import time

from cheroot import server
from cheroot import wsgi
import webob.exc

from nova_groupext.cloud import errors

LOG = logging.getLogger(__name__)

# Threads at the start.
THREADS = 64
# nova-api calls other APIs of this server while its own client waits: if all
# threads served such clients, all of them would wait for ever. So a free
# thread is always left, and there are more of them when it gets tight.
FREE_THREADS = 8
# Connections queued while every thread is busy; the kernel resets further
# ones. cheroot's default is 5.
MAX_QUEUED = 512
SHUTDOWN_SECONDS = 5
# Maximum time to wait for the data of one request, head and body. Short,
# because clients run on this machine.
READ_SECONDS = 10
# Longer than clients keep a connection idle: a request fails if the server
# closes its connection at the same time.
IDLE_SECONDS = 120


class _TimedSocket:
    """A socket that waits READ_SECONDS in total for the data of a request.

    With a time limit for each read, a client could occupy a thread as long as
    it wanted, by sending one byte at a time.
    """

    def __init__(self, stock):
        self._stock = stock
        self._seconds = 0

    def __getattr__(self, name):
        return getattr(self._stock, name)

    def begin_request(self):
        self._seconds = READ_SECONDS
        self._stock.settimeout(READ_SECONDS)

    def recv_into(self, *args):
        if self._seconds <= 0:
            raise TimeoutError('timed out')
        began = time.monotonic()
        self._stock.settimeout(self._seconds)
        try:
            return self._stock.recv_into(*args)
        finally:
            self._seconds -= time.monotonic() - began
            # For writes.
            self._stock.settimeout(READ_SECONDS)


class _Connection(server.HTTPConnection):
    def __init__(self, listener, stock, *args):
        super().__init__(listener, _TimedSocket(stock), *args)


class _Listener(wsgi.Server):
    """A cheroot server with as many threads as there are requests.

    Idle connections occupy no thread. Its error for a failed bind is shorter
    than cheroot's.
    """

    ConnectionClass = _Connection

    def process_conn(self, conn):
        """Give a connection to a thread, once it has sent data."""
        if conn.last_used is None:
            # Wait for data without a thread, as for a kept-alive connection.
            self._connections.put(conn)
            return
        conn.socket.begin_request()
        if self.requests.idle < self.requests.qsize + FREE_THREADS:
            self.requests.grow(FREE_THREADS)
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
    """An HTTP server, bound when created and serving after start().

    Its URL is therefore known before the start. ``port`` 0 takes any free
    port; an unavailable one raises ``errors.CannotStart``.
    """

    def __init__(self, port=0):
        self._server = _Listener(
            ('127.0.0.1', port),
            self._dispatch,
            numthreads=THREADS,
            request_queue_size=MAX_QUEUED,
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
        """URL of the server, without a trailing slash."""
        host, port = self._server.bind_addr
        return f'http://{host}:{port}'

    def mount(self, name, application):
        """Serve an application at ``<url>/<name>``, also after the start."""
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
