# SPDX-License-Identifier: Apache-2.0
"""Clients that send anything at all."""

import json

from nova.api.openstack import wsgi

from nova_groupext import exception
from nova_groupext.api import resource
from nova_groupext.conf import CONF
from nova_groupext.solver.language import validation
from tests.unit.api import base

UNREADABLE = [
    (b'[1 2]', '$: is not JSON: Expecting'),
    (b'\xff', '$: is not UTF-8'),
    (b'[' * 50000, '$: is nested too deeply'),
    (b'{"a":' * 50000, '$: is nested too deeply'),
    (b'{"a": [{"b": 1, "b": 2}]}', '$.a[0].b: is repeated'),
    (b'{"a": ' + b'9' * 5000 + b'}', '$.a: has too many digits'),
    (b'"\\ud800"', '$: contains an unpaired surrogate'),
    (b'{"\\udfff": 1}', '$: contains an unpaired surrogate'),
    (b'"a\\u0000"', '$: contains a NUL character'),
    (b'{"\\\\\\u0000": 1}', '$: contains a NUL character'),
    (b' ' * (1024 * 1024 + 1), '$: is more than 1048576 bytes long'),
]
READABLE = [
    b'[1, {"a": null}]',
    '"\u00e4 \U0001f600"'.encode(),
    rb'"\\u0000 \\\\u0000"',
]


class Controller(wsgi.Controller):
    """Answers with what it is sent, or raises it."""

    error = None

    @resource.translated
    def create(self, req, body, **routed):
        if self.error:
            raise self.error
        return {'sent': body, **routed}


class TestResource(base.GroupCase):
    def setUp(self):
        super().setUp()
        self.controller = Controller()
        self.resource = resource.Resource(self.controller)

    def send(self, body, **routed):
        req = wsgi.Request.blank('/', method='POST', body=body)
        req.environ['nova.context'] = self.context
        req.environ['wsgiorg.routing_args'] = (
            (),
            {'action': 'create', **routed},
        )
        return req.get_response(self.resource)

    def fault(self, body=b'{}', **routed):
        response = self.send(body, **routed)
        [(_kind, fault)] = response.json.items()
        self.assertEqual(response.status_int, fault['code'])
        return fault['code'], fault['message']

    def test_what_cannot_be_read_is_bad_input(self):
        for body, reason in UNREADABLE:
            code, told = self.fault(body)
            self.assertEqual((400, reason), (code, told[: len(reason)]))

    def test_everything_else_is_read(self):
        for body in READABLE:
            self.assertEqual({'sent': json.loads(body)}, self.send(body).json)
        self.assertEqual({'sent': None}, self.send(b'').json)

    def test_what_a_url_names_is_read_as_utf_8(self):
        for name in ('a', 'ä b', '東京', '100%'):
            routed = name.encode().decode('latin-1')
            answer = self.send(b'', path=routed).json
            self.assertEqual({'sent': None, 'path': name}, answer)

    def test_a_url_that_is_not_utf_8_names_nothing(self):
        code, told = self.fault(b'', path='\xff')

        self.assertEqual((404, 'The URL is not UTF-8.'), (code, told))

    def test_the_operator_decides_how_much_is_read(self):
        CONF.set_override('max_body_size', 1024, 'vrt')
        self.addCleanup(CONF.clear_override, 'max_body_size', 'vrt')

        self.assertEqual(400, self.fault(b' ' * 1025)[0])

    def test_errors_become_faults(self):
        for error, expected in (
            (validation.InvalidInput('$.a', 'is bad'), (400, '$.a: is bad')),
            (
                exception.GroupNotFound(group='g'),
                (404, 'VRT group g could not be found.'),
            ),
            (exception.LimitExceeded(reason='much'), (403, 'much')),
            (
                exception.Unsupported(path='$.a', reason='not yet'),
                (400, '$.a: not yet'),
            ),
            (
                exception.GenerationConflict(group='g'),
                (409, 'VRT group g has changed since: look at it again.'),
            ),
        ):
            self.controller.error = error
            self.assertEqual(expected, self.fault())

    def test_what_cannot_be_reached_is_named(self):
        for kind, message in resource.NEIGHBOURS.items():
            self.controller.error = kind('why')
            self.assertEqual((503, message), self.fault())


class TestQuery(base.GroupCase):
    SCHEMA = {
        'type': 'object',
        'properties': {'name': {'type': 'string', 'maxLength': 3}},
        'additionalProperties': False,
    }

    def query(self, text):
        req = wsgi.Request.blank(f'/?{text}')
        return resource.query(req, self.SCHEMA)

    def test_a_query_is_read(self):
        self.assertEqual({'name': '\u00e4'}, self.query('name=%C3%A4'))
        self.assertEqual({}, self.query(''))

    def test_what_is_wrong_with_a_query_is_told(self):
        for text, told in (
            ('colour=a', 'query.colour: is not known here'),
            ('name=a&name=b', 'query.name: is given more than once'),
            ('name=abcd', 'query.name: must have at most 3 characters'),
            ('name=%ff', 'query: is not UTF-8'),
            ('name=a%00', 'query.name: contains a NUL character'),
        ):
            error = self.assertRaises(
                validation.InvalidInput, self.query, text
            )
            self.assertEqual(told, str(error))
