# SPDX-License-Identifier: Apache-2.0
"""Client of Placement for all requests of this project.

A hold is one consumer: its own uuid while the member has no server. Afterwards
the server's uuid is the consumer. Every request that empties a consumer names
its generation, so that a late request of a slow process changes nothing.
"""

import collections
from urllib import parse

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from nova_groupext.scheduler.placement import bodies
from nova_groupext.scheduler.placement import http

LOG = logging.getLogger(__name__)


class PlacementClient:
    """Requests to Placement that read and write holds.

    :param client: Nova's SchedulerReportClient, for its session and retries
    """

    def __init__(self, client):
        self._http = http.Connection(client)

    # -- writing -----------------------------------------------------------

    def hold(self, context, holds, instead_of=()):
        """Write some holds, all or none.

        :param holds: VRTHold rows in state WRITING
        :param instead_of: VRTHolds that the same request empties
        :raises: HoldFailed when Placement refuses: nothing was written
        :raises: PlacementUnavailable when the result is unknown
        """
        with faultpoints.around('hold.post'):
            uuids = [each.uuid for each in instead_of]
            try:
                self.replace(context, uuids, holds, reads_generation=True)
            except exception.ProviderConflict as exc:
                # Nothing was written, and another plan may have other hosts.
                raise exception.HoldFailed(reason=exc) from exc

    def replace(self, context, old, successors, *, reads_generation=False):
        """Empty some consumers and fill others, in one request.

        :param old: uuids of consumers
        :param successors: VRTHolds; those without allocations are not filled
        :param reads_generation: whether to read the old consumers' generations
            first, and to leave out empty ones; by default the first generation
            is assumed
        :raises: HoldFailed, PlacementUnavailable as hold() does;
            ProviderConflict while others change the providers
        """
        body = {
            each.uuid: bodies.filled(each)
            for each in successors
            if each.allocations
        }
        for uuid in old:
            body |= self._emptied_body(context, uuid, reads_generation)
        response = self._post(context, body)
        if response.status_code != 204:
            raise exception.HoldFailed(reason=http.detail(response))

    def transfer(
        self, context, servers, server_bodies, *, reads_generation=False
    ):
        """Turn holds into servers' allocations, in one request.

        It can be repeated: Placement only fills consumers that are new.

        :param servers: {server uuid: its VRTHold}
        :param server_bodies: {server uuid: bodies.for_server() of its hold}
        :param reads_generation: whether to read the holds' generations first;
            by default the first generation is assumed
        :returns: False when Placement refuses, or a hold owns nothing
        :raises: PlacementUnavailable when the result is unknown
        """
        emptied = {}
        for hold in servers.values():
            hold_body = self._emptied_body(
                context, hold.uuid, reads_generation
            )
            if not hold_body:
                return False
            emptied |= hold_body
        with faultpoints.around('redeem.transfer'):
            return self._write(context, emptied | server_bodies)

    def fill_servers(self, context, server_bodies):
        """Fill servers' consumers whose capacity was removed from their holds.

        :param server_bodies: as transfer() takes them
        :returns: False when Placement refuses
        :raises: PlacementUnavailable
        """
        with faultpoints.around('redeem.transfer'):
            return self._write(context, server_bodies)

    def take_back(self, context, server_uuid, successor):
        """Empty a server's consumer, if it owns anything, and fill a hold's.

        :param successor: VRTHold in state WRITING
        :raises: as hold() does
        """
        self.replace(
            context, [server_uuid], [successor], reads_generation=True
        )

    def empty(self, context, uuid, check=lambda: True):
        """Empty the consumer of a hold or a server, if it owns anything.

        :param check: called between reading and emptying; returns whether to
            go on. What another process fills after it stays
        :raises: PlacementUnavailable when it is still filled, or unknown
        """
        with faultpoints.around('release.post'):
            emptied = self._emptied_body(context, uuid)
            is_empty = not emptied or (
                check() and self._write(context, emptied)
            )
        if not is_empty and self.allocations(context, uuid):
            raise exception.PlacementUnavailable(
                reason=f'consumer {uuid} could not be emptied'
            )

    def empty_all(self, context, uuids):
        """Empty the consumers of holds that were filled once, in one request.

        :returns: False when Placement refuses that, for instance because one
            of them is empty
        :raises: PlacementUnavailable
        """
        body = {}
        for uuid in uuids:
            body |= bodies.emptied(uuid, bodies.FIRST_GENERATION)
        with faultpoints.around('release.post'):
            return _is_accepted(self._http.post(context, body), body)

    def refill(self, context, consumer, hold):
        """Fill a consumer once more if Placement shows nothing of it.

        Placement may have kept its amounts without the consumer's record. The
        request replaces them, so that they can be emptied. If it is refused,
        nothing was kept.

        :param consumer: uuid of the hold, or of the server that redeemed it
        :raises: PlacementUnavailable
        """
        if not self.allocations(context, consumer):
            self._write(context, {consumer: bodies.filled(hold)})

    def sweep(self, context, consumer, hold):
        """Empty a consumer, even if Placement has lost its record.

        :param consumer: as refill() takes it
        :raises: PlacementUnavailable
        """
        self.refill(context, consumer, hold)
        self.empty(context, consumer)

    # -- reading -----------------------------------------------------------

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
        response = self._http.send_get(
            context, f'/allocation_candidates?{query}'
        )
        if response.status_code == 400:
            raise exception.UnknownToPlacement(reason=http.detail(response))
        body = http.checked_body(response)
        return body['allocation_requests'], body['provider_summaries']

    def usages(self, context, provider):
        """Return the usage of a provider by each consumer.

        :returns: {consumer: {class: amount}}; None without such a provider
        """
        body = self._of_provider(context, provider, 'allocations')
        return body and {
            consumer: each['resources']
            for consumer, each in body['allocations'].items()
        }

    def total_usage(self, context, provider):
        """Return {resource class: amount} of all consumers of a provider.

        A provider that does not exist has none.
        """
        body = self._of_provider(context, provider, 'usages')
        return body['usages'] if body else {}

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
        body = self._of_provider(context, provider, 'inventories')
        return body['inventories'] if body else {}

    def allocated_totals(self, context):
        """Return (number of holds with allocations, {class: their amount})."""
        query = parse.urlencode({'project_id': CONF.vrt.hold_project_id})
        usages = self._http.get(context, f'/usages?{query}')['usages']
        totals = collections.Counter()
        for consumer_type in bodies.OUR_TYPES:
            totals.update(usages.get(consumer_type, {}))
        return totals.pop('consumer_count', 0), dict(totals)

    def roots(self, context, filters=()):
        """Return {provider: the root of its tree}.

        :param filters: (name, value) pairs of Placement's query; only
            providers that meet all of them are returned
        """
        query = f'?{parse.urlencode(filters)}' if filters else ''
        body = self._http.get(context, f'/resource_providers{query}')
        return {
            each['uuid']: each['root_provider_uuid']
            for each in body['resource_providers']
        }

    def aggregates(self, context, provider):
        """Return the uuids of the aggregates of a provider.

        A provider that does not exist has none.
        """
        body = self._of_provider(context, provider, 'aggregates')
        return body['aggregates'] if body else []

    def traits(self, context, provider):
        """Return the traits of a provider; none if it does not exist."""
        body = self._of_provider(context, provider, 'traits')
        return body['traits'] if body else []

    def generations(self, context):
        """Return {provider: its generation} of all providers."""
        body = self._http.get(context, '/resource_providers')
        return {
            each['uuid']: each['generation']
            for each in body['resource_providers']
        }

    def is_hold(self, context, consumer):
        """Check whether a consumer owns something and has one of our types."""
        body = self._http.get(context, f'/allocations/{consumer}')
        return body.get('consumer_type') in bodies.OUR_TYPES

    def _consumer(self, context, consumer):
        """Return a consumer's allocations and its generation."""
        body = self._http.get(context, f'/allocations/{consumer}')
        allocations = {
            provider: {'resources': allocation['resources']}
            for provider, allocation in body['allocations'].items()
        }
        return allocations, body.get('consumer_generation')

    # -- HTTP --------------------------------------------------------------

    def _of_provider(self, context, provider, part):
        """Return a part of a provider; None without such a provider."""
        url = f'/resource_providers/{provider}/{part}'
        return self._http.get(context, url, may_lack=provider)

    def _write(self, context, body):
        """Send a change of consumers; return whether Placement accepted it.

        :raises: as _post() does
        """
        return _is_accepted(self._post(context, body), body)

    def _post(self, context, body):
        """Send a change of consumers; return the answer.

        :raises: PlacementUnavailable; ProviderConflict while others change the
            providers
        """
        response = self._http.post(context, body)
        if http.is_provider_conflict(response):
            raise exception.ProviderConflict(reason=http.detail(response))
        return response

    def _emptied_body(self, context, uuid, reads_generation=True):
        """Return the body that empties a consumer; {} if it owns nothing.

        :param reads_generation: False to assume that it was filled once
        """
        if not reads_generation:
            return bodies.emptied(uuid, bodies.FIRST_GENERATION)
        allocations, generation = self._consumer(context, uuid)
        return bodies.emptied(uuid, generation) if allocations else {}


def _is_accepted(response, body):
    """Check whether Placement accepted a change; log why it did not."""
    if response.status_code != 204:
        LOG.info(
            'Placement refused to change the allocations of consumers '
            '%(body)s: %(reason)s',
            {'body': [*body], 'reason': http.detail(response)},
        )
    return response.status_code == 204


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
