# SPDX-License-Identifier: Apache-2.0
"""Bodies, URLs and queries with any content."""

import json

import fixtures
from nova.api.openstack import wsgi

from nova_groupext import exception
from nova_groupext.api import resource
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
]
READABLE = [
    b'[1, {"a": null}]',
    '"\u00e4 \U0001f600"'.encode(),
    rb'"\\u0000 \\\\u0000"',
]


class Controller(wsgi.Controller):
    """A controller that returns its request body or raises an error."""

    error = None

    @resource.translate_errors
    def create(self, req, body, **routed):
        if self.error:
            raise self.error
        return {'sent': body, **routed}


class TestResource(base.GroupTestCase):
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

    def test_unreadable_body_is_bad_input(self):
        for body, reason in UNREADABLE:
            code, message = self.fault(body)
            self.assertEqual((400, reason), (code, message[: len(reason)]))

    def test_readable_body_is_parsed(self):
        for body in READABLE:
            self.assertEqual({'sent': json.loads(body)}, self.send(body).json)
        self.assertEqual({'sent': None}, self.send(b'').json)

    def test_name_in_a_url_is_decoded_as_utf_8(self):
        for name in ('a', 'ä b', '東京', '100%'):
            routed = name.encode().decode('latin-1')
            answer = self.send(b'', path=routed).json
            self.assertEqual({'sent': None, 'path': name}, answer)

    def test_url_that_is_not_utf_8_is_not_found(self):
        code, message = self.fault(b'', path='\xff')

        self.assertEqual((404, 'The URL is not UTF-8.'), (code, message))

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
                (
                    409,
                    'VRT group g has changed since it was read: read it '
                    'again and retry.',
                ),
            ),
        ):
            self.controller.error = error
            self.assertEqual(expected, self.fault())

    def test_unreachable_service_is_named(self):
        for kind, message in resource.UNAVAILABLE_SERVICES.items():
            self.controller.error = kind('why')
            self.assertEqual((503, message), self.fault())


class TestRetries(base.GroupTestCase):
    """A handler that meets some errors before it succeeds."""

    def setUp(self):
        super().setUp()
        self.pauses = []
        self.useFixture(
            fixtures.MockPatchObject(
                resource.time, 'sleep', self.pauses.append
            )
        )

    def handle(self, *errors):
        remaining = [*errors]

        @resource.retry_changes
        def handler():
            if remaining:
                raise remaining.pop(0)
            return 'done'

        return handler()

    def test_concurrent_changes_are_waited_for(self):
        for error in (exception.GenerationConflict, exception.GroupGrowing):
            errors = [error(group='g')] * len(resource.PAUSES)
            self.assertEqual('done', self.handle(*errors))
            self.assertEqual([*resource.PAUSES], self.pauses)
            self.pauses.clear()

    def test_change_that_does_not_end_is_a_conflict(self):
        errors = [exception.GroupGrowing(group='g')] * 10

        self.assertRaises(exception.GroupGrowing, self.handle, *errors)

    def test_another_definition_is_no_reason_to_wait(self):
        self.assertRaises(
            exception.StaleGeneration,
            self.handle,
            exception.StaleGeneration(group='g'),
        )
        self.assertEqual([], self.pauses)


class TestQuery(base.GroupTestCase):
    SCHEMA = {
        'type': 'object',
        'properties': {'name': {'type': 'string', 'maxLength': 3}},
        'additionalProperties': False,
    }

    def query(self, text):
        req = wsgi.Request.blank(f'/?{text}')
        return resource.query(req, self.SCHEMA)

    def test_query_is_parsed(self):
        self.assertEqual({'name': '\u00e4'}, self.query('name=%C3%A4'))
        self.assertEqual({}, self.query(''))

    def test_wrong_query_is_refused_with_a_reason(self):
        for text, message in (
            ('colour=a', 'query.colour: is unknown'),
            ('name=a&name=b', 'query.name: is given more than once'),
            ('name=abcd', 'query.name: must have at most 3 characters'),
            ('name=%ff', 'query: is not UTF-8'),
            ('name=a%00', 'query.name: contains a NUL character'),
        ):
            error = self.assertRaises(
                validation.InvalidInput, self.query, text
            )
            self.assertEqual(message, str(error))
