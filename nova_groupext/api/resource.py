# SPDX-License-Identifier: Apache-2.0
"""Nova's WSGI resource, hardened against malformed requests.

Bodies that make Nova's own resource answer 500 (nested too deeply, not UTF-8,
or with an unpaired surrogate) get a 400. Exceptions of nova_groupext get their
own HTTP code, and services that do not answer a 503.
"""

import functools
import json
import re
import time

from glanceclient import exc as glance_exc
from nova import exception as nova_exc
from nova.api.openstack import wsgi
from nova.i18n import _
from oslo_log import log as logging
import webob.exc

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.db import database_errors
from nova_groupext.solver.language import files
from nova_groupext.solver.language import validation

LOG = logging.getLogger(__name__)

# Error of a service that a request needs -> explanation of the 503.
UNAVAILABLE_SERVICES = {
    **dict.fromkeys(
        database_errors.ANY, _('The database of VRT groups is not available.')
    ),
    nova_exc.GlanceConnectionFailed: _('The image service is not available.'),
    glance_exc.ClientException: _('The image service is not available.'),
    **quota.UNAVAILABLE,
}

# Seconds before each retry of a request that has met a concurrent change
PAUSES = (0.05, 0.1, 0.25, 0.5, 1, 1, 1)

# A literal backslash is doubled in JSON: match an odd number of them.
NUL_IN_JSON = re.compile(r'(?<!\\)(\\\\)*\\u0000')
HAS_NUL = 'contains a NUL character'


class Resource(wsgi.Resource):
    """WSGI resource that rejects unreadable URLs and bodies."""

    def get_action_args(self, request_environment):
        """Return the arguments in the URL, decoded as UTF-8.

        WSGI passes the bytes of a path as Latin-1.
        """
        args = super().get_action_args(request_environment)
        try:
            return {name: _utf_8(value) for name, value in args.items()}
        except UnicodeError:
            # All names are UTF-8, so no resource has such a URL.
            raise wsgi.Fault(
                webob.exc.HTTPNotFound(explanation='The URL is not UTF-8.')
            ) from None

    def get_body(self, request):
        content_type, body = super().get_body(request)
        try:
            body.decode()
        except UnicodeDecodeError:
            raise _unreadable('is not UTF-8') from None
        return content_type, body

    def deserialize(self, body):
        try:
            contents = files.load(body)
            # JSON allows NUL and unpaired surrogates, databases do not.
            text = json.dumps(contents, ensure_ascii=False)
            text.encode()
        except validation.InvalidInput as exc:
            raise wsgi.Fault(_bad_request(exc)) from exc
        except RecursionError as exc:
            raise _unreadable('is nested too deeply') from exc
        except UnicodeEncodeError as exc:
            raise _unreadable('contains an unpaired surrogate') from exc
        if NUL_IN_JSON.search(text):
            raise _unreadable(HAS_NUL)
        return {'body': contents}


def _utf_8(value):
    if not isinstance(value, str):
        return value
    return value.encode('latin-1').decode()


def _unreadable(reason):
    return wsgi.Fault(_bad_request(validation.InvalidInput('$', reason)))


def _bad_request(error):
    return webob.exc.HTTPBadRequest(explanation=str(error))


def translate_errors(handler):
    """Decorate a handler: convert its exceptions into HTTP errors."""

    @functools.wraps(handler)
    def wrapper(*args, **kwargs):
        try:
            return handler(*args, **kwargs)
        except validation.InvalidInput as exc:
            raise _bad_request(exc) from exc
        except exception.VRTException as exc:
            raise webob.exc.status_map[exc.code](
                explanation=exc.format_message()
            ) from exc
        except tuple(UNAVAILABLE_SERVICES) as exc:
            raise _unavailable(exc) from exc

    return wrapper


def retry_changes(handler):
    """Decorate a handler: run it again if others have changed the group.

    Creates that make a group grow change it, but not its definition: clients
    need not know. The handler reads the group, and has changed nothing before
    it raises GenerationConflict or GroupGrowing.
    """

    @functools.wraps(handler)
    def wrapper(*args, **kwargs):
        for pause in PAUSES:
            try:
                return handler(*args, **kwargs)
            except exception.StaleGeneration:
                raise
            except (exception.GenerationConflict, exception.GroupGrowing):
                time.sleep(pause)
        return handler(*args, **kwargs)

    return wrapper


def _unavailable(error):
    LOG.exception(
        'A service is not available; a request about VRT groups gets a 503.'
    )
    kind = next(
        kind for kind in UNAVAILABLE_SERVICES if isinstance(error, kind)
    )
    return webob.exc.HTTPServiceUnavailable(
        explanation=UNAVAILABLE_SERVICES[kind]
    )


def query(req, schema):
    """Return the request's query string as {name: value}.

    :raises: InvalidInput, also for unknown or repeated parameters
    """
    try:
        parameters = req.GET.dict_of_lists()
    except UnicodeDecodeError as exc:
        raise validation.InvalidInput('query', 'is not UTF-8') from exc
    for name, values in parameters.items():
        where = validation.json_path('query', name)
        if len(values) > 1:
            raise validation.InvalidInput(where, 'is given more than once')
        if '\0' in values[0]:
            raise validation.InvalidInput(where, HAS_NUL)
    single = {name: values[0] for name, values in parameters.items()}
    validation.check(single, schema, 'query')
    return single
