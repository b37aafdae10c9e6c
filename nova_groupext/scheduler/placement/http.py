# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to Placement, their retries, and what its errors mean."""

import contextlib
import functools
import itertools
import random
import time

from keystoneauth1 import exceptions as ks_exc

from nova_groupext import exception
from nova_groupext.scheduler.placement import marked_requests

# Statuses with which Placement itself answers a change: it was made, or
# refused. Others are those of a proxy, of keystone, or of a wrong URL.
CHANGE_STATUSES = 204, 400, 409

# Attempts for a request that conflicts with another one about a provider, and
# the maximum seconds between two of them.
MAX_ATTEMPTS = 8
MAX_PAUSE = 1.0


class Connection:
    """Requests with the session and the retries of Nova's client.

    :param client: Nova's SchedulerReportClient
    """

    def __init__(self, client):
        self._client = client

    def get(self, context, url, may_lack=None):
        """Return the JSON body of an answer.

        :param may_lack: uuid of a provider; None is returned if Placement
            answers that it does not exist
        :raises: PlacementUnavailable when its status is not 200
        """
        response = self.send_get(context, url)
        if may_lack is not None and is_missing(response, may_lack):
            return None
        return checked_body(response)

    def send_get(self, context, url):
        """Send a GET; repeat it once if the connection was lost.

        A server may close an idle connection at the moment when it is used.

        :returns: the answer, with any status
        :raises: PlacementUnavailable
        """
        send = functools.partial(
            self._client.get,
            url,
            version=marked_requests.PLACEMENT_VERSION,
            global_request_id=context.global_id,
        )
        try:
            with contextlib.suppress(ks_exc.ConnectFailure):
                return send()
            return send()
        except ks_exc.ClientException as exc:
            raise exception.PlacementUnavailable(reason=exc) from exc

    def post(self, context, body):
        """Send one atomic change; repeat it after provider conflicts.

        :returns: the answer, with one of CHANGE_STATUSES
        :raises: PlacementUnavailable
        """
        for attempt in itertools.count(1):
            try:
                response = self._client.post(
                    '/allocations',
                    body,
                    version=marked_requests.PLACEMENT_VERSION,
                    global_request_id=context.global_id,
                )
            except ks_exc.ClientException as exc:
                raise exception.PlacementUnavailable(reason=exc) from exc
            if response.status_code not in CHANGE_STATUSES:
                raise exception.PlacementUnavailable(reason=detail(response))
            if not is_provider_conflict(response) or attempt == MAX_ATTEMPTS:
                return response
            pause(attempt)


def pause(attempt):
    """Sleep before a retry: exponential backoff with full jitter."""
    max_pause = min(MAX_PAUSE, 0.02 * 2**attempt)
    time.sleep(random.uniform(0, max_pause))  # noqa: S311


def checked_body(response):
    """Return the JSON body of an answer.

    :raises: PlacementUnavailable when its status is not 200
    """
    if response.status_code != 200:
        raise exception.PlacementUnavailable(reason=detail(response))
    return response.json()


def detail(response):
    return '; '.join(error.get('detail', '') for error in _errors(response))


def _errors(response):
    try:
        return response.json()['errors']
    except (ValueError, KeyError, TypeError):
        # A proxy in front of Placement may have answered.
        return [{'detail': response.text, 'code': ''}]


def is_missing(response, uuid):
    """Check whether Placement says that a provider does not exist.

    Proxies answer 404 as well, and so does Placement at a wrong URL.
    """
    return response.status_code == 404 and any(
        error.get('code', '').startswith('placement.')
        and uuid in error.get('detail', '')
        for error in _errors(response)
    )


def is_provider_conflict(response):
    """Check whether a provider changed while Placement wrote.

    A mismatch of a consumer's generation is another conflict: another process
    has used the hold, and a retry would not help.
    """
    return response.status_code == 409 and any(
        error.get('code') == 'placement.concurrent_update'
        and 'consumer' not in error.get('detail', '')
        for error in _errors(response)
    )
