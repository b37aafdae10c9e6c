# SPDX-License-Identifier: Apache-2.0
"""Fake of Placement that can be stopped in the middle of a request.

It answers the requests of planners, schedulers and tests like the real one; a
test compares the two. Like there, ``POST /allocations`` has two phases: the
first compares the generation of each consumer; the second reads the consumers
to be emptied again, and writes. The second phase compares the generations of
filled consumers again, but not of emptied ones.
"""

import collections
import copy
import dataclasses
import json
import re
from urllib import parse

_CONFLICT = 'placement.concurrent_update'
_NO_CAPACITY = 'placement.undefined_code'

_INVENTORY = {
    'reserved': 0,
    'allocation_ratio': 1.0,
    'min_unit': 1,
    'max_unit': 2**31 - 1,
    'step_size': 1,
}


@dataclasses.dataclass
class Consumer:
    """A consumer and its allocations.

    :ivar generation: None if Placement has lost the record: the usage stays,
        but no request shows the consumer
    """

    allocations: dict
    generation: int | None
    project_id: str
    user_id: str
    consumer_type: str


class Conflict(Exception):
    """Error 409 of Placement."""

    def __init__(self, detail, code=_CONFLICT):
        super().__init__(detail)
        self.response = Response(
            409, {'errors': [{'detail': detail, 'code': code}]}
        )


class ProxyAnswer(Exception):
    """Error of a proxy in front of Placement."""

    def __init__(self, status_code):
        super().__init__(status_code)
        self.response = Response(status_code)


class GatewayTimeout(ProxyAnswer):
    def __init__(self):
        super().__init__(504)


class Response:
    """Response with the interface of requests."""

    def __init__(self, status_code, body=None):
        self.status_code = status_code
        self._body = body

    @property
    def text(self):
        return json.dumps(self._body)

    def json(self):
        return copy.deepcopy(self._body)


class FakePlacement:
    """Providers and consumers.

    :ivar inventories: {provider: {class: {"total": n, "reserved": n}}}
    :ivar consumers: {uuid: Consumer}
    :ivar generations: {provider: number of its changes}
    :ivar has_lost_records: whether any consumer has lost its record
    """

    def __init__(self):
        self.inventories = {}
        self.generations = collections.Counter()
        self.has_lost_records = False
        self.consumers = {}

    def copy(self):
        return copy.deepcopy(self)

    def state(self):
        """Return all that differs between two states, for ``repr()``."""
        return (
            *(self.inventories, sorted(self.generations.items())),
            *(sorted(self.consumers.items()), self.has_lost_records),
        )

    # -- the two phases of a request ---------------------------------------

    def compare(self, body):
        """Run the first phase of a change.

        :raises: Conflict
        """
        for uuid, change in body.items():
            expected = change['consumer_generation']
            current = self._generation(uuid)
            if current != expected:
                raise Conflict(
                    f'consumer generation conflict - expected {current} but '
                    f'got {expected}'
                )

    def write(self, body):
        """Run the second phase of a change.

        :raises: Conflict
        """
        after = dict(self.consumers)
        filled = {u: each for u, each in body.items() if each['allocations']}
        for uuid, change in body.items():
            current = self._generation(uuid)
            if uuid in filled and current != change['consumer_generation']:
                raise Conflict('the consumer has changed meanwhile')
            if uuid in filled or current is not None:
                after.pop(uuid, None)
        for uuid, change in filled.items():
            after[uuid] = Consumer(
                {
                    provider: dict(each['resources'])
                    for provider, each in change['allocations'].items()
                },
                (change['consumer_generation'] or 0) + 1,
                *(
                    change[name]
                    for name in ('project_id', 'user_id', 'consumer_type')
                ),
            )
        self._check_capacity(after)
        for uuid, change in body.items():
            # Moving a consumer does not change the provider that it leaves.
            providers = change['allocations'] or self._current_allocations(
                uuid
            )
            self.generations.update(providers.keys())
        self.consumers = after

    def would_conflict(self, body):
        """Check whether the second phase of a change would be refused."""
        try:
            self.copy().write(body)
        except Conflict:
            return True
        return False

    def _current_allocations(self, uuid):
        consumer = self.consumers.get(uuid)
        return consumer.allocations if consumer else {}

    def lose_records(self, body):
        """Reproduce a bug of Placement after a refused second phase.

        Placement deletes the record of a consumer that the first phase
        created, even if another request has filled it meanwhile. This loses
        the record of the first such consumer.
        """
        for uuid, change in body.items():
            consumer = self.consumers.get(uuid)
            is_new = change['consumer_generation'] is None
            if consumer and consumer.generation == 1 and is_new:
                consumer.generation = None
                self.has_lost_records = True
                return

    def _generation(self, uuid):
        consumer = self.consumers.get(uuid)
        return consumer and consumer.generation

    def _check_capacity(self, after):
        before, now = _used(self.consumers), _used(after)
        for (provider, name), amount in now.items():
            inventory = self.inventories[provider][name]
            capacity = inventory['total'] - inventory['reserved']
            if amount > capacity and amount > before[provider, name]:
                raise Conflict('not enough capacity', _NO_CAPACITY)

    def shown(self):
        """Return {uuid: Consumer} of the consumers with a record."""
        return {
            uuid: each
            for uuid, each in self.consumers.items()
            if each.generation is not None
        }


def _used(consumers):
    used = collections.Counter()
    for each in consumers.values():
        for provider, resources in each.allocations.items():
            for name, amount in resources.items():
                used[provider, name] += amount
    return used


class Session:
    """Client with the interface of a keystoneauth1 adapter.

    :param placement: function without arguments that returns FakePlacement
    :param on_step: function called with a label and a path or body before
        each request, and between the two phases of a change
    """

    def __init__(self, placement, on_step=lambda *_args: None):
        self._placement = placement
        self._on_step = on_step

    def get(self, url, **_kwargs):
        path, _mark, query = url.partition('?')
        try:
            self._on_step('GET', path)
        except ProxyAnswer as exc:
            return exc.response
        for pattern, handler in _GETS.items():
            if match := re.fullmatch(pattern, path):
                return handler(self._placement(), *match.groups(), query)
        raise ValueError(url)

    def post(self, url, json=None, **_kwargs):
        placement = self._placement()
        if url == '/resource_providers':
            placement.inventories[json['uuid']] = {}
            return Response(200, {**json, 'generation': 0})
        if url != '/allocations':
            raise ValueError(url)
        return self._change(json)

    def put(self, url, json=None, **_kwargs):
        _empty, kind, uuid, *rest = url.split('/')
        placement = self._placement()
        if kind == 'allocations':
            return self._change({uuid: json})
        if rest == ['inventories']:
            placement.generations[uuid] += 1
            placement.inventories[uuid] = {
                name: {**_INVENTORY, **each}
                for name, each in json['inventories'].items()
            }
        else:
            placement.generations[uuid] += 1
            placement.inventories[uuid][rest[1]].update(json)
        return Response(200, {})

    def delete(self, url, **_kwargs):
        _empty, _allocations, uuid = url.split('/')
        if uuid not in self._placement().shown():
            return _not_found(uuid)
        del self._placement().consumers[uuid]
        return Response(204)

    def _change(self, body):
        try:
            self._on_step('POST', body)
            self._placement().compare(body)
            self._on_step('write', body)
            self._placement().write(body)
        except (Conflict, ProxyAnswer) as exc:
            return exc.response
        return Response(204)


def _not_found(uuid):
    error = {'detail': uuid, 'code': 'placement.undefined_code'}
    return Response(404, {'errors': [error]})


def _allocations(placement, uuid, _query):
    consumer = placement.shown().get(uuid)
    if consumer is None:
        return Response(200, {'allocations': {}})
    return Response(
        200,
        {
            'allocations': {
                provider: {'generation': 0, 'resources': resources}
                for provider, resources in consumer.allocations.items()
            },
            'project_id': consumer.project_id,
            'user_id': consumer.user_id,
            'consumer_generation': consumer.generation,
            'consumer_type': consumer.consumer_type,
        },
    )


def _allocations_of(placement, provider, _query):
    if provider not in placement.inventories:
        return _not_found(provider)
    return Response(
        200,
        {
            'allocations': {
                uuid: {'resources': each.allocations[provider]}
                for uuid, each in placement.shown().items()
                if provider in each.allocations
            }
        },
    )


def _inventories(placement, provider, _query):
    if provider not in placement.inventories:
        return _not_found(provider)
    return Response(200, {'inventories': placement.inventories[provider]})


def _inventory(placement, provider, name, _query):
    return Response(200, placement.inventories[provider][name])


def _usages_of(placement, provider, _query):
    if provider not in placement.inventories:
        return _not_found(provider)
    used = _used(placement.consumers)
    return Response(
        200,
        {
            'usages': {
                name: used[provider, name]
                for name in placement.inventories[provider]
            }
        },
    )


def _usages(placement, query):
    [project] = parse.parse_qs(query)['project_id']
    usages = collections.defaultdict(collections.Counter)
    for each in placement.shown().values():
        if each.project_id == project:
            total = usages[each.consumer_type]
            total['consumer_count'] += 1
            for resources in each.allocations.values():
                total.update(resources)
    return Response(200, {'usages': usages})


def _providers(placement, _query):
    providers = [
        {
            'uuid': uuid,
            'root_provider_uuid': uuid,
            'generation': placement.generations[uuid],
        }
        for uuid in placement.inventories
    ]
    return Response(200, {'resource_providers': providers})


_GETS = {
    '/allocations/([^/]+)': _allocations,
    '/resource_providers/([^/]+)/allocations': _allocations_of,
    '/resource_providers/([^/]+)/inventories': _inventories,
    '/resource_providers/([^/]+)/inventories/([^/]+)': _inventory,
    '/resource_providers/([^/]+)/usages': _usages_of,
    '/resource_providers': _providers,
    '/usages': _usages,
}
