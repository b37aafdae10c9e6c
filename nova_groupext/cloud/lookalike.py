# SPDX-License-Identifier: Apache-2.0
"""What the try-out cloud's look-alikes of other services have in common."""

import re

import webob
import webob.dec
import webob.exc


def answer(body, status=200, **headers):
    """A JSON response; header names are given with underscores."""
    response = webob.Response(json_body=body, status=status)
    for name, value in headers.items():
        response.headers[name.replace('_', '-')] = value
    return response


def version(number, url):
    """One version as OpenStack's version documents tell it."""
    return {
        'id': number,
        'status': 'CURRENT',
        'links': [{'rel': 'self', 'href': url}],
    }


class LookAlike:
    """A WSGI application that answers what OpenStack's clients ask.

    ``ROUTES`` holds ``(HTTP method, path pattern, method name)``; a named
    group of the pattern becomes an argument of that method. Whatever is not
    listed there is a 404.
    """

    ROUTES = ()

    def __init__(self, url):
        """Answer at ``url``, which has no slash at its end."""
        self.url = url

    @webob.dec.wsgify
    def __call__(self, request):
        try:
            return self._answer(request)
        except webob.exc.HTTPError as exc:
            return self.refusal(exc)

    def refusal(self, exc):
        """The response for an error; a service may have a form of its own."""
        return exc

    def _answer(self, request):
        for method, pattern, name in self.ROUTES:
            found = re.fullmatch(pattern, request.path_info.rstrip('/'))
            if found and request.method == method:
                return getattr(self, name)(request, **found.groupdict())
        raise webob.exc.HTTPNotFound()
