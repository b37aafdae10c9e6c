# SPDX-License-Identifier: Apache-2.0
"""A small Placement that can be stopped in the middle of a request.

It answers what the tests' own Placement answers, see test_books.py, to all
that planners, schedulers and tests ask of it. ``POST /allocations`` has the
two steps that it has there: first the generation of each consumer is
compared; then what is to be emptied is read anew, and all is written. Who is
filled is compared again in the second step, who is emptied is not.
"""

import collections
import copy
import dataclasses
import json
import re
from urllib import parse

_CONFLICT = 'placement.concurrent_update'
_FULL = 'placement.undefined_code'

_INVENTORY = {
    'reserved': 0,
    'allocation_ratio': 1.0,
    'min_unit': 1,
    'max_unit': 2**31 - 1,
    'step_size': 1,
}


@dataclasses.dataclass
class Consumer:
    """What has allocations.

    :ivar generation: None when Placement has lost its record: its amounts
        stay, and nobody sees whose they are
    """

    allocations: dict
    generation: int | None
    project_id: str
    user_id: str
    consumer_type: str


class Refused(Exception):
    """Placement answers 409."""

    def __init__(self, detail, code=_CONFLICT):
        super().__init__(detail)
        self.answer = Answer(
            409, {'errors': [{'detail': detail, 'code': code}]}
        )


class TimedOut(Exception):
    """What stands before Placement answers 504."""

    def __init__(self):
        self.answer = Answer(504)


class Answer:
    """What a client gets."""

    def __init__(self, status_code, body=None):
        self.status_code = status_code
        self._body = body

    @property
    def text(self):
        return json.dumps(self._body)

    def json(self):
        return copy.deepcopy(self._body)


class Books:
    """Providers and consumers.

    :ivar inventories: {provider: {class: {"total": n, "reserved": n}}}
    :ivar consumers: {uuid: Consumer}
    :ivar generations: {provider: how often it has changed}
    :ivar has_lost_records: whether that has happened to any consumer
    """

    def __init__(self):
        self.inventories = {}
        self.generations = collections.Counter()
        self.has_lost_records = False
        self.consumers = {}

    def copy(self):
        return copy.deepcopy(self)

    # -- one request in two steps ------------------------------------------

    def compare(self, body):
        """The first step of a change.

        :raises: Refused
        """
        for uuid, change in body.items():
            expected = change['consumer_generation']
            found = self._generation(uuid)
            if found != expected:
                raise Refused(
                    f'consumer generation conflict - expected {found} but '
                    f'got {expected}'
                )

    def write(self, body):
        """The second step of a change.

        :raises: Refused
        """
        after = dict(self.consumers)
        filled = {u: each for u, each in body.items() if each['allocations']}
        for uuid, change in body.items():
            found = self._generation(uuid)
            if uuid in filled and found != change['consumer_generation']:
                raise Refused('the consumer has changed meanwhile')
            if uuid in filled or found is not None:
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
        self._refuse_too_much(after)
        for uuid, change in body.items():
            # What is filled anew somewhere else leaves no trace where it was.
            seats = change['allocations'] or self._seats(uuid)
            self.generations.update(seats.keys())
        self.consumers = after

    def refuses(self, body):
        """Return whether the second step of a change would be refused."""
        try:
            self.copy().write(body)
        except Refused:
            return True
        return False

    def _seats(self, uuid):
        found = self.consumers.get(uuid)
        return found.allocations if found else {}

    def lose_records(self, body):
        """Make Placement's own mistake, after a second step was refused.

        It deletes the record of a consumer that the first step has made,
        though another request has filled it meanwhile. The first one is
        taken of those to which that may happen.
        """
        for uuid, change in body.items():
            found = self.consumers.get(uuid)
            is_new = change['consumer_generation'] is None
            if found and found.generation == 1 and is_new:
                found.generation = None
                self.has_lost_records = True
                return

    def _generation(self, uuid):
        found = self.consumers.get(uuid)
        return found and found.generation

    def _refuse_too_much(self, after):
        before, now = _used(self.consumers), _used(after)
        for (provider, name), many in now.items():
            inventory = self.inventories[provider][name]
            there_is = inventory['total'] - inventory['reserved']
            if many > there_is and many > before[provider, name]:
                raise Refused('there is not so much', _FULL)

    # -- what there is -----------------------------------------------------

    def shown(self):
        """Return {uuid: Consumer} of those whose records are there."""
        return {
            uuid: each
            for uuid, each in self.consumers.items()
            if each.generation is not None
        }


def _used(consumers):
    used = collections.Counter()
    for each in consumers.values():
        for provider, resources in each.allocations.items():
            for name, many in resources.items():
                used[provider, name] += many
    return used


class Session:
    """Asks Books as a keystoneauth1 adapter asks Placement.

    :param books: called without arguments, returns the Books
    :param door: called with a label before a request, and once more between
        the two steps of a change
    """

    def __init__(self, books, door=lambda *_args: None):
        self._books = books
        self._door = door

    def get(self, url, **_kwargs):
        path, _mark, query = url.partition('?')
        self._door('GET', path)
        for pattern, answer in _GETS.items():
            if match := re.fullmatch(pattern, path):
                return answer(self._books(), *match.groups(), query)
        raise ValueError(url)

    def post(self, url, json=None, **_kwargs):
        books = self._books()
        if url == '/resource_providers':
            books.inventories[json['uuid']] = {}
            return Answer(200, {**json, 'generation': 0})
        if url != '/allocations':
            raise ValueError(url)
        return self._change(json)

    def put(self, url, json=None, **_kwargs):
        _empty, kind, uuid, *rest = url.split('/')
        books = self._books()
        if kind == 'allocations':
            return self._change({uuid: json})
        if rest == ['inventories']:
            books.generations[uuid] += 1
            books.inventories[uuid] = {
                name: {**_INVENTORY, **each}
                for name, each in json['inventories'].items()
            }
        else:
            books.generations[uuid] += 1
            books.inventories[uuid][rest[1]].update(json)
        return Answer(200, {})

    def delete(self, url, **_kwargs):
        _empty, _allocations, uuid = url.split('/')
        if uuid not in self._books().shown():
            return Answer(404, {'errors': [{'detail': uuid, 'code': ''}]})
        del self._books().consumers[uuid]
        return Answer(204)

    def _change(self, body):
        try:
            self._door('POST', body)
            self._books().compare(body)
            self._door('write', body)
            self._books().write(body)
        except (Refused, TimedOut) as exc:
            return exc.answer
        return Answer(204)


def _allocations(books, uuid, _query):
    found = books.shown().get(uuid)
    if found is None:
        return Answer(200, {'allocations': {}})
    return Answer(
        200,
        {
            'allocations': {
                provider: {'generation': 0, 'resources': resources}
                for provider, resources in found.allocations.items()
            },
            'project_id': found.project_id,
            'user_id': found.user_id,
            'consumer_generation': found.generation,
            'consumer_type': found.consumer_type,
        },
    )


def _allocations_of(books, provider, _query):
    return Answer(
        200,
        {
            'allocations': {
                uuid: {'resources': each.allocations[provider]}
                for uuid, each in books.shown().items()
                if provider in each.allocations
            }
        },
    )


def _inventories(books, provider, _query):
    return Answer(200, {'inventories': books.inventories[provider]})


def _inventory(books, provider, name, _query):
    return Answer(200, books.inventories[provider][name])


def _usages_of(books, provider, _query):
    used = _used(books.consumers)
    return Answer(
        200,
        {
            'usages': {
                name: used[provider, name]
                for name in books.inventories[provider]
            }
        },
    )


def _usages(books, query):
    [project] = parse.parse_qs(query)['project_id']
    usages = collections.defaultdict(collections.Counter)
    for each in books.shown().values():
        if each.project_id == project:
            total = usages[each.consumer_type]
            total['consumer_count'] += 1
            for resources in each.allocations.values():
                total.update(resources)
    return Answer(200, {'usages': usages})


def _providers(books, _query):
    found = [
        {'uuid': uuid, 'generation': books.generations[uuid]}
        for uuid in books.inventories
    ]
    return Answer(200, {'resource_providers': found})


_GETS = {
    '/allocations/([^/]+)': _allocations,
    '/resource_providers/([^/]+)/allocations': _allocations_of,
    '/resource_providers/([^/]+)/inventories': _inventories,
    '/resource_providers/([^/]+)/inventories/([^/]+)': _inventory,
    '/resource_providers/([^/]+)/usages': _usages_of,
    '/resource_providers': _providers,
    '/usages': _usages,
}
