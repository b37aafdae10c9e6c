# SPDX-License-Identifier: Apache-2.0
"""Base class of the try-out cloud's stubs of other services."""

import re

import webob
import webob.dec
import webob.exc


def json_response(body, status=200, **headers):
    """Return a JSON response; header names have ``_`` instead of ``-``."""
    response = webob.Response(json_body=body, status=status)
    for name, value in headers.items():
        response.headers[name.replace('_', '-')] = value
    return response


def version(number, url):
    """Return an entry of an OpenStack version document."""
    return {
        'id': number,
        'status': 'CURRENT',
        'links': [{'rel': 'self', 'href': url}],
    }


class StubService:
    """A WSGI application that stands in for an OpenStack service.

    ``ROUTES`` contains ``(HTTP method, path pattern, method name)``; a named
    group of the pattern becomes an argument of that method. The answer to any
    other request is 404.
    """

    ROUTES = ()

    def __init__(self, url):
        """Answer requests at ``url``, which has no trailing slash."""
        self.url = url

    @webob.dec.wsgify
    def __call__(self, request):
        try:
            return self._answer(request)
        except webob.exc.HTTPError as exc:
            return self.error_response(exc)

    def error_response(self, exc):
        """Return the response for an error; subclasses change its format."""
        return exc

    def _answer(self, request):
        for method, pattern, name in self.ROUTES:
            match = re.fullmatch(pattern, request.path_info.rstrip('/'))
            if match and request.method == method:
                return getattr(self, name)(request, **match.groupdict())
        raise webob.exc.HTTPNotFound()
