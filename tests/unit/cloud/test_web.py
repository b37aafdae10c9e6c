# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the try-out cloud, one for all applications."""

from concurrent import futures
import contextlib
import socket
import threading
import time

import fixtures
from oslotest import base
import requests
import webob
import webob.dec

from nova_groupext.cloud import errors
from nova_groupext.cloud import web


@webob.dec.wsgify
def echo(request):
    return f'{request.script_name} {request.path_info}'


@webob.dec.wsgify
def repeat(request):
    return request.body


class TestServer(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.server = web.Server()
        self.server.mount('echo', echo)
        self.server.mount('repeat', repeat)
        self.server.start()
        self.addCleanup(self.server.stop)

    def get(self, path):
        return requests.get(self.server.url + path, timeout=10)

    def test_prefix_becomes_the_script_name(self):
        self.assertEqual('/echo /v1/thing', self.get('/echo/v1/thing').text)

    def test_prefix_alone_has_an_empty_path(self):
        self.assertEqual('/echo ', self.get('/echo').text)

    def test_unknown_prefix_is_not_found(self):
        self.assertEqual(404, self.get('/other/v1').status_code)

    def test_application_mounted_after_the_start_is_served(self):
        self.server.mount('late', echo)

        self.assertEqual('/late /', self.get('/late/').text)

    def test_requests_that_call_this_server_do_not_block_each_other(self):
        number = web.THREADS + 6
        all_wait = threading.Barrier(number)

        @webob.dec.wsgify
        def calling(request):
            all_wait.wait(10)
            return self.get('/echo/nested').text

        self.server.mount('calling', calling)
        with futures.ThreadPoolExecutor(number) as threads:
            texts = list(
                threads.map(lambda _: self.get('/calling').text, range(number))
            )

        self.assertEqual(['/echo /nested'] * number, texts)

    def test_many_connections_are_queued_before_the_start(self):
        busy = web.Server()
        self.addCleanup(busy.stop)
        port = int(busy.url.rpartition(':')[2])

        for _each in range(100):
            come = socket.create_connection(('127.0.0.1', port), timeout=1)
            self.addCleanup(come.close)

    def connect(self):
        port = int(self.server.url.rpartition(':')[2])
        connection = socket.create_connection(('127.0.0.1', port), timeout=10)
        self.addCleanup(connection.close)
        return connection

    def limit_reading(self, seconds):
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.cloud.web.READ_SECONDS', seconds
            )
        )

    def send_slowly(self, connections):
        """Send a byte at a time until the test ends."""
        ended = threading.Event()

        def send():
            while not ended.wait(0.1):
                for each in connections:
                    with contextlib.suppress(OSError):
                        each.send(b'x')

        thread = threading.Thread(target=send)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(ended.set)

    def test_slow_heads_do_not_block_requests(self):
        self.limit_reading(1)
        self.send_slowly([self.connect() for _ in range(web.THREADS + 6)])
        time.sleep(0.5)

        self.assertEqual('/echo /v1', self.get('/echo/v1').text)

    def test_slow_body_ends_the_request(self):
        self.limit_reading(1)
        connection = self.connect()
        connection.send(
            b'POST /repeat HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n'
        )
        self.send_slowly([connection])

        self.assertIn(b' 408 ', connection.recv(999))

    def test_each_request_of_a_connection_has_its_time(self):
        self.limit_reading(1)
        connection = self.connect()
        for _ in range(3):
            for part in (
                b'POST /repeat HTTP/1.1\r\nHost: x\r\n',
                b'Content-Length: 2\r\n\r\n',
                b'hi',
            ):
                connection.send(part)
                time.sleep(0.2)

            self.assertIn(b' 200 OK', connection.recv(999))

    def test_silent_connections_do_not_block_requests(self):
        port = int(self.server.url.rpartition(':')[2])
        for _each in range(2 * web.THREADS):
            silent = socket.create_connection(('127.0.0.1', port), timeout=1)
            self.addCleanup(silent.close)

        self.assertEqual('/echo /v1', self.get('/echo/v1').text)

    def test_port_in_use_is_reported(self):
        port = int(self.server.url.rpartition(':')[2])

        exc = self.assertRaises(errors.CannotStart, web.Server, port)

        self.assertEqual(
            f'127.0.0.1, port {port}: Address already in use', str(exc)
        )
