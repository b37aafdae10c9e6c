# SPDX-License-Identifier: Apache-2.0
"""Nova's WSGI resource, for clients that send anything at all.

What Nova's own answers with a 500 (a body that is nested without end, that
is not UTF-8, or that says what UTF-8 cannot) is a 400 here, and so is every
error of ours that has a code.
"""

import functools
import json
import re

from glanceclient import exc as glance_exc
from keystoneauth1 import exceptions as ks_exc
from nova import exception as nova_exc
from nova.api.openstack import wsgi
from nova.i18n import _
from openstack import exceptions as sdk_exc
from oslo_limit import exception as limit_exc
from oslo_log import log as logging
import webob.exc

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import errors as db_errors
from nova_groupext.planner import files
from nova_groupext.planner import invalid

LOG = logging.getLogger(__name__)

# What a request needs and may not reach, and how to call it.
NEIGHBOURS = {
    **dict.fromkeys(
        db_errors.ANY, _('The database of VRT groups is not available.')
    ),
    nova_exc.UsagesRetrievalFailed: _('Placement is not available.'),
    nova_exc.GlanceConnectionFailed: _('The image service is not available.'),
    glance_exc.ClientException: _('The image service is not available.'),
    ks_exc.ClientException: _('A service that Nova asks is not available.'),
    # Unified limits are Keystone's.
    limit_exc.SessionInitError: _('The identity service is not available.'),
    sdk_exc.SDKException: _('The identity service is not available.'),
}

# Not the text of a backslash and "u0000", which has one more backslash.
NUL_IN_JSON = re.compile(r'(?<!\\)(\\\\)*\\u0000')
HAS_NUL = 'has a NUL character in it'


class Resource(wsgi.Resource):
    """A resource that refuses what it cannot read."""

    def get_action_args(self, request_environment):
        """Return what the URL names, as the text that it stands for.

        WSGI hands on the bytes of a path as if they were Latin-1.
        """
        args = super().get_action_args(request_environment)
        try:
            return {name: _utf_8(value) for name, value in args.items()}
        except UnicodeError:
            # Every name is UTF-8: there is nothing at such a URL.
            raise wsgi.Fault(
                webob.exc.HTTPNotFound(explanation='The URL is not UTF-8.')
            ) from None

    def get_body(self, request):
        content_type, body = super().get_body(request)
        if len(body) > CONF.vrt.max_body_size:
            raise _unreadable(
                f'is more than {CONF.vrt.max_body_size} bytes long'
            )
        try:
            body.decode()
        except UnicodeDecodeError:
            raise _unreadable('is not UTF-8') from None
        return content_type, body

    def deserialize(self, body):
        try:
            contents = files.load(body)
            # What is fine for JSON, but not for every database.
            text = json.dumps(contents, ensure_ascii=False)
            text.encode()
        except invalid.InvalidInput as exc:
            raise wsgi.Fault(_bad_request(exc)) from exc
        except RecursionError as exc:
            raise _unreadable('is nested too deeply') from exc
        except UnicodeEncodeError as exc:
            raise _unreadable('has half a character in it') from exc
        if NUL_IN_JSON.search(text):
            raise _unreadable(HAS_NUL)
        return {'body': contents}


def _utf_8(value):
    if not isinstance(value, str):
        return value
    return value.encode('latin-1').decode()


def _unreadable(reason):
    return wsgi.Fault(_bad_request(invalid.InvalidInput('$', reason)))


def _bad_request(error):
    return webob.exc.HTTPBadRequest(explanation=str(error))


def translated(handler):
    """Turn what a handler raises into Nova's faults."""

    @functools.wraps(handler)
    def wrapper(*args, **kwargs):
        try:
            return handler(*args, **kwargs)
        except invalid.InvalidInput as exc:
            raise _bad_request(exc) from exc
        except exception.VRTException as exc:
            raise webob.exc.status_map[exc.code](
                explanation=exc.format_message()
            ) from exc
        except tuple(NEIGHBOURS) as exc:
            raise _unavailable(exc) from exc

    return wrapper


def _unavailable(error):
    LOG.exception('A request about VRT groups could not be served.')
    kind = next(kind for kind in NEIGHBOURS if isinstance(error, kind))
    return webob.exc.HTTPServiceUnavailable(explanation=NEIGHBOURS[kind])


def query(req, schema):
    """Return the request's query as {name: value}.

    :raises: InvalidInput, for unknown parameters too
    """
    try:
        given = req.GET.dict_of_lists()
    except UnicodeDecodeError as exc:
        raise invalid.InvalidInput('query', 'is not UTF-8') from exc
    for name, values in given.items():
        where = invalid.child('query', name)
        if len(values) > 1:
            raise invalid.InvalidInput(where, 'is given more than once')
        if '\0' in values[0]:
            raise invalid.InvalidInput(where, HAS_NUL)
    single = {name: values[0] for name, values in given.items()}
    invalid.check(single, schema, 'query')
    return single
