# SPDX-License-Identifier: Apache-2.0
"""Serve a WSGI application: ``serve_wsgi.py MODULE PORT THREADS``.

It runs in the environments of all services, so it imports nothing of ours.
Several processes may serve one port: the kernel divides the connections.
"""

import importlib
import signal
import sys

from cheroot import wsgi

# Longer than clients keep a connection idle.
IDLE_SECONDS = 120


def main(module, port, threads):
    # Some applications parse the arguments themselves.
    sys.argv = sys.argv[:1]
    application = importlib.import_module(module).application
    server = wsgi.Server(
        ('127.0.0.1', int(port)),
        application,
        numthreads=int(threads),
        request_queue_size=128,
    )
    server.reuse_port = True
    server.timeout = IDLE_SECONDS
    # This ends the server's loop, which then waits for its requests.
    signal.signal(signal.SIGTERM, lambda *_args: sys.exit())
    server.safe_start()


if __name__ == '__main__':
    main(*sys.argv[1:])
