# SPDX-License-Identifier: Apache-2.0
"""Client of Placement for all requests of this project.

A hold is one consumer: its own uuid while the member has no server. Afterwards
the server's uuid is the consumer. Every request that empties a consumer names
its generation, so that a late request of a slow process changes nothing
(DESIGN, "Holds").
"""

import collections
import contextlib
import functools
import itertools
import random
import time
from urllib import parse

from keystoneauth1 import exceptions as ks_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.placement import marked_requests

LOG = logging.getLogger(__name__)

HOLD_TYPE = 'VRT_MEMBER'
PLACEHOLDER_TYPE = 'VRT_EXCLUSIVE'
OUR_TYPES = (HOLD_TYPE, PLACEHOLDER_TYPE)
SERVER_TYPE = 'INSTANCE'

# Attempts for a request that conflicts with another one about a provider, and
# the maximum seconds between two of them.
MAX_ATTEMPTS = 8
MAX_PAUSE = 1.0

# Generation of a consumer that was filled once.
FIRST_GENERATION = 1


class PlacementClient:
    """Requests to Placement that read and write holds.

    :param client: Nova's SchedulerReportClient, for its session and retries
    """

    def __init__(self, client):
        self._client = client

    # -- writing -----------------------------------------------------------

    def hold(self, context, holds, instead_of=()):
        """Write some holds, all or none.

        :param holds: VRTHold rows in state WRITING
        :param instead_of: VRTHolds that the same request empties
        :raises: HoldFailed when Placement refuses: nothing was written
        :raises: PlacementUnavailable when the result is unknown
        """
        with faultpoints.around('hold.post'):
            self.replace_holds(
                context, instead_of, holds, reads_generation=True
            )

    def replace_holds(
        self, context, old_holds, successors, *, reads_generation=False
    ):
        """Empty some holds and fill others, in one request.

        :param old_holds: VRTHolds
        :param successors: VRTHolds; those without allocations are not filled
        :param reads_generation: whether to read the old holds' generations
            first, and to leave out empty ones; by default the first generation
            is assumed
        :raises: as hold() does
        """
        body = {
            each.uuid: _filled_body(each)
            for each in successors
            if each.allocations
        }
        for old in old_holds:
            body |= (
                self._emptied_body(context, old)
                if reads_generation
                else _emptied_body(old, FIRST_GENERATION)
            )
        response = self._post(context, body)
        if response.status_code != 204:
            raise exception.HoldFailed(reason=_detail(response))

    def swap(self, context, servers, bodies, *, reads_generation=False):
        """Turn holds into servers' allocations, in one request.

        It can be repeated: Placement only fills consumers that are new.

        :param servers: {server uuid: its VRTHold}
        :param bodies: {server uuid: server_body() of its hold}
        :param reads_generation: whether to read the holds' generations first;
            by default the first generation is assumed
        :returns: False when Placement refuses, or a hold owns nothing
        :raises: PlacementUnavailable when the result is unknown
        """
        emptied = {}
        for hold in servers.values():
            hold_body = (
                self._emptied_body(context, hold)
                if reads_generation
                else _emptied_body(hold, FIRST_GENERATION)
            )
            if not hold_body:
                return False
            emptied |= hold_body
        with faultpoints.around('redeem.swap'):
            return self._write(context, emptied | bodies)

    def fill_servers(self, context, bodies):
        """Fill servers' consumers whose capacity was removed from their holds.

        :param bodies: as swap() takes it
        :returns: False when Placement refuses
        :raises: PlacementUnavailable
        """
        with faultpoints.around('redeem.swap'):
            return self._write(context, bodies)

    @staticmethod
    def server_body(hold, project_id, user_id):
        """Return the body of a server's consumer that redeems a hold."""
        return {
            **_filled_body(hold),
            'project_id': project_id,
            'user_id': user_id,
            'consumer_type': SERVER_TYPE,
        }

    def take_back(self, context, server_uuid, successor):
        """Empty a server's consumer, if it owns anything, and fill a hold's.

        :param successor: VRTHold in state WRITING
        :raises: as hold() does
        """
        server = _hold_for(server_uuid)
        self.replace_holds(
            context, [server], [successor], reads_generation=True
        )

    def empty_hold(self, context, hold):
        """Empty a hold's consumer, if it owns anything.

        :raises: PlacementUnavailable when it is still held, or unknown
        """
        with faultpoints.around('release.post'):
            emptied = self._emptied_body(context, hold)
            is_empty = not emptied or self._write(context, emptied)
        if not is_empty and self.allocations(context, hold.uuid):
            raise exception.PlacementUnavailable(
                reason=f'hold {hold.uuid} could not be emptied'
            )

    def refill(self, context, consumer, hold):
        """Fill a consumer once more if Placement shows nothing of it.

        Placement may have kept its amounts without the consumer's record. The
        request replaces them, so that they can be emptied. If it is refused,
        nothing was kept.

        :param consumer: uuid of the hold, or of the server that redeemed it
        :raises: PlacementUnavailable
        """
        if not self.allocations(context, consumer):
            self._write(context, {consumer: _filled_body(hold)})

    def sweep(self, context, consumer, hold):
        """Empty a consumer, even if Placement has lost its record.

        :param consumer: as refill() takes it
        :raises: PlacementUnavailable
        """
        self.refill(context, consumer, hold)
        self.empty_consumer(context, consumer)

    def empty_consumer(self, context, uuid):
        """Empty a consumer, given by its uuid only.

        :raises: PlacementUnavailable
        """
        self.empty_hold(context, _hold_for(uuid))

    # -- reading -----------------------------------------------------------

    def swap_happened(self, context, hold, server_uuid):
        """Check whether a server owns the allocations of a hold."""
        return self.allocations(context, server_uuid) == hold.allocations

    def allocations(self, context, consumer):
        """Return {provider: {"resources": {class: amount}}} of a consumer."""
        return self._consumer(context, consumer)[0]

    def candidates(self, context, resources):
        """Return the allocation candidates for one server.

        Nova's client is not used: it does not distinguish a refusal from a
        missing answer.

        :param resources: Nova's ResourceRequest
        :returns: (allocation requests, {provider uuid: summary})
        :raises: UnknownToPlacement when the request names a trait or resource
            class that does not exist
        :raises: PlacementUnavailable
        """
        query = resources.to_querystring()
        response = self._send_get(context, f'/allocation_candidates?{query}')
        if response.status_code == 400:
            raise exception.UnknownToPlacement(reason=_detail(response))
        body = _checked_body(response)
        return body['allocation_requests'], body['provider_summaries']

    def usages(self, context, provider):
        """Return the usage of a provider by each consumer.

        :returns: {consumer: {class: amount}}; None without such a provider
        """
        url = f'/resource_providers/{provider}/allocations'
        body = self._get(context, url, may_be_missing=True)
        return body and {
            consumer: each['resources']
            for consumer, each in body['allocations'].items()
        }

    def overcommitment(self, context, provider, usages):
        """Return the overcommitted amounts of a provider.

        :param usages: result of usages()
        :returns: {resource class: amount}, only overcommitted classes
        """
        free = free_capacity(self.inventories(context, provider), usages)
        return {name: -amount for name, amount in free.items() if amount < 0}

    def inventories(self, context, provider):
        """Return {resource class: Placement's inventory} of a provider.

        A provider that does not exist has none.
        """
        url = f'/resource_providers/{provider}/inventories'
        body = self._get(context, url, may_be_missing=True)
        return body['inventories'] if body else {}

    def allocated_totals(self, context):
        """Return (number of holds with allocations, {class: their amount})."""
        query = parse.urlencode({'project_id': CONF.vrt.hold_project_id})
        usages = self._get(context, f'/usages?{query}')['usages']
        totals = collections.Counter()
        for consumer_type in OUR_TYPES:
            totals.update(usages.get(consumer_type, {}))
        return totals.pop('consumer_count', 0), dict(totals)

    def providers(self, context, filters=()):
        """Return the uuids of all providers.

        :param filters: (name, value) pairs of Placement's query; only
            providers that meet all of them are returned
        """
        body = self._get(context, _providers_url(filters))
        return [each['uuid'] for each in body['resource_providers']]

    def roots(self, context, filters=()):
        """Return {provider: the root of its tree}.

        :param filters: as providers() takes them
        """
        body = self._get(context, _providers_url(filters))
        return {
            each['uuid']: each['root_provider_uuid']
            for each in body['resource_providers']
        }

    def aggregates(self, context, provider):
        """Return the uuids of the aggregates of a provider.

        A provider that does not exist has none.
        """
        url = f'/resource_providers/{provider}/aggregates'
        body = self._get(context, url, may_be_missing=True)
        return body['aggregates'] if body else []

    def generations(self, context):
        """Return {provider: its generation} of all providers."""
        body = self._get(context, '/resource_providers')
        return {
            each['uuid']: each['generation']
            for each in body['resource_providers']
        }

    def is_hold(self, context, consumer):
        """Check whether a consumer owns something and has one of our types."""
        body = self._get(context, f'/allocations/{consumer}')
        return body.get('consumer_type') in OUR_TYPES

    def _consumer(self, context, consumer):
        """Return a consumer's allocations and its generation."""
        body = self._get(context, f'/allocations/{consumer}')
        allocations = {
            provider: {'resources': allocation['resources']}
            for provider, allocation in body['allocations'].items()
        }
        return allocations, body.get('consumer_generation')

    # -- HTTP --------------------------------------------------------------

    def _write(self, context, body):
        """Send a change of consumers; return whether Placement accepted it."""
        response = self._post(context, body)
        if response.status_code != 204:
            LOG.info(
                'Placement refused to change the allocations of consumers '
                '%(body)s: %(reason)s',
                {'body': [*body], 'reason': _detail(response)},
            )
        return response.status_code == 204

    def _emptied_body(self, context, hold):
        """Return the body that empties a hold, {} where it owns nothing."""
        allocations, generation = self._consumer(context, hold.uuid)
        return _emptied_body(hold, generation) if allocations else {}

    def _get(self, context, url, may_be_missing=False):
        response = self._send_get(context, url)
        if may_be_missing and response.status_code == 404:
            return None
        return _checked_body(response)

    def _send_get(self, context, url):
        """Send a GET; repeat it once if the connection was lost.

        A server may close an idle connection at the moment when it is used.
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

    def _post(self, context, body):
        """Send one atomic change; repeat it after provider conflicts."""
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
            if response.status_code >= 500:
                raise exception.PlacementUnavailable(reason=_detail(response))
            if not _is_provider_conflict(response) or attempt == MAX_ATTEMPTS:
                return response
            pause(attempt)


def pause(attempt):
    """Sleep before a retry: exponential backoff with full jitter."""
    max_pause = min(MAX_PAUSE, 0.02 * 2**attempt)
    time.sleep(random.uniform(0, max_pause))  # noqa: S311


def free_capacity(inventories, usages):
    """Return {resource class: free amount}, negative where overcommitted.

    :param inventories: result of PlacementClient.inventories()
    :param usages: result of PlacementClient.usages()
    """
    free = collections.Counter(
        {
            name: (each['total'] - each['reserved']) * each['allocation_ratio']
            for name, each in inventories.items()
        }
    )
    for amounts in usages.values():
        free.subtract(amounts)
    return free


def _providers_url(filters):
    query = f'?{parse.urlencode(filters)}' if filters else ''
    return f'/resource_providers{query}'


def _hold_for(uuid):
    """Return a VRTHold that stands for a consumer known by its uuid only."""
    return VRTHold(
        uuid=uuid,
        member_id=None,
        resize_member_id=None,
        allocations={},
        mappings={},
    )


def _filled_body(hold):
    """Return the body of a new consumer with the hold's allocations."""
    return {
        'allocations': hold.allocations,
        'mappings': hold.mappings,
        'project_id': CONF.vrt.hold_project_id,
        'user_id': CONF.vrt.hold_user_id,
        'consumer_generation': None,
        'consumer_type': PLACEHOLDER_TYPE
        if hold.is_placeholder
        else HOLD_TYPE,
    }


def _emptied_body(hold, generation):
    """Return {consumer: body that removes all its allocations}."""
    emptied = {
        **_filled_body(hold),
        'allocations': {},
        'consumer_generation': generation,
    }
    del emptied['mappings']
    return {hold.uuid: emptied}


def _checked_body(response):
    """Return the JSON body of an answer.

    :raises: PlacementUnavailable when its status is not 200
    """
    if response.status_code != 200:
        raise exception.PlacementUnavailable(reason=_detail(response))
    return response.json()


def _errors(response):
    try:
        return response.json()['errors']
    except (ValueError, KeyError, TypeError):
        # A proxy in front of Placement may have answered.
        return [{'detail': response.text, 'code': ''}]


def _detail(response):
    return '; '.join(error.get('detail', '') for error in _errors(response))


def _is_provider_conflict(response):
    """Check whether a provider changed while Placement wrote.

    A mismatch of a consumer's generation is another conflict: another process
    has used the hold, and a retry would not help.
    """
    return response.status_code == 409 and any(
        error.get('code') == 'placement.concurrent_update'
        and 'consumer' not in error.get('detail', '')
        for error in _errors(response)
    )
