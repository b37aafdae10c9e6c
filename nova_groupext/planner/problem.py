# SPDX-License-Identifier: Apache-2.0
"""What there is to decide: hosts, classes, a topology and its pins."""

import collections
import dataclasses
import functools
import json

from nova_groupext.planner import invalid
from nova_groupext.planner import topology

#: Larger files are refused unread: 64 MiB is far above 10,000 hosts.
MAX_BYTES = 64 * 1024**2

DEFAULT_TIME_LIMIT = 30.0

_NAME = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_AMOUNTS = {
    'type': 'object',
    'additionalProperties': {
        'type': 'integer',
        'minimum': 0,
        'maximum': 2**63 - 1,
    },
}

_PROBLEM = {
    'type': 'object',
    'properties': {
        'version': {'const': 1},
        # The terms of soft network proximity double with every level.
        'levels': {
            'type': 'array',
            'items': _NAME,
            'minItems': 1,
            'maxItems': 8,
            'uniqueItems': True,
        },
        'hosts': {'type': 'array'},
        'classes': {'type': 'object'},
        'topology': {'type': 'object'},
        'pinned': {'type': 'object', 'additionalProperties': _NAME},
        'time_limit': {'type': 'number', 'minimum': 0, 'maximum': 1e6},
        'seed': {'type': 'integer', 'minimum': 0, 'maximum': 2**31 - 1},
    },
    'required': ['version', 'levels', 'hosts', 'classes', 'topology'],
    'additionalProperties': False,
}

_HOST = {
    'type': 'object',
    'properties': {
        'id': _NAME,
        'domains': {'type': 'object', 'additionalProperties': _NAME},
        'free': _AMOUNTS,
        'foreign': {'type': 'boolean'},
    },
    'required': ['id'],
    'additionalProperties': False,
}

_CLASS = {
    'type': 'object',
    'properties': {
        'request': _AMOUNTS,
        'hosts': {'type': 'array', 'items': _NAME},
        'scores': {
            'type': 'object',
            'additionalProperties': {
                'type': 'number',
                'minimum': -1e12,
                'maximum': 1e12,
            },
        },
        'alternatives': {
            'type': 'object',
            'additionalProperties': {
                'type': 'array',
                'items': _AMOUNTS,
                'minItems': 1,
            },
        },
    },
    'required': ['request'],
    'additionalProperties': False,
}

_MEMBER = {
    'type': 'object',
    'properties': {'class': {'type': 'string'}},
    'required': ['class'],
}


@dataclasses.dataclass(frozen=True)
class Host:
    """A compute host as this group sees it.

    :ivar domains: level -> name of the domain, without ``host``
    :ivar free: resource -> amount
    :ivar foreign: something outside of the group runs or is held here
    """

    id: str
    domains: dict
    free: dict
    foreign: bool


@dataclasses.dataclass(frozen=True)
class MemberClass:
    """What members with the same needs ask for.

    :ivar request: resource -> amount
    :ivar hosts: ids of the hosts that may take one
    :ivar scores: host id -> how much the operator's weighers like it
    :ivar alternatives: host id -> requests, one of which replaces `request`
    """

    request: dict
    hosts: frozenset
    scores: dict
    alternatives: dict

    def ways(self, host_id):
        """The requests of which a host has to meet one."""
        return self.alternatives.get(host_id, [self.request])


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem in an order that does not depend on the input's.

    :ivar levels: topology levels, smallest first, ``host`` is the first
    :ivar hosts: id -> Host, by id
    :ivar classes: name -> MemberClass, by name
    :ivar pinned: member path -> host id
    :ivar time_limit: seconds
    """

    levels: tuple[str, ...]
    hosts: dict[str, Host]
    classes: dict[str, MemberClass]
    topology: topology.Topology
    pinned: dict[str, str]
    time_limit: float
    seed: int

    @functools.cached_property
    def class_of(self):
        """Member path -> MemberClass."""
        return {
            member.path: self.classes[member.spec['class']]
            for member in self.topology.members
        }

    def domain(self, host_id, level):
        """The host's domain at a level, None if it has none."""
        if level == self.levels[0]:
            return host_id
        return self.hosts[host_id].domains.get(level)


def load(data):
    """Read JSON strictly: no repeated keys, no bottomless nesting.

    :param data: bytes of a file
    :returns: JSON value
    :raises InvalidInput: with path and reason
    """
    if len(data) > MAX_BYTES:
        raise invalid.InvalidInput('$', f'is larger than {MAX_BYTES} bytes')
    repeated = []
    try:
        value = json.loads(
            data, object_pairs_hook=lambda p: _object(p, repeated)
        )
    except RecursionError:
        raise invalid.InvalidInput('$', 'is nested too deeply') from None
    except ValueError as error:
        raise invalid.InvalidInput('$', f'is not JSON: {error}') from None
    if repeated:
        raise invalid.InvalidInput(_find(value, repeated[0]), 'is repeated')
    return value


def parse(raw):
    """Read a problem.

    :param raw: JSON value, see the problem file format
    :returns: Problem
    :raises InvalidInput: with path and reason
    """
    invalid.check(raw, _PROBLEM, '$')
    levels = tuple(raw['levels'])
    if levels[0] != 'host':
        raise invalid.InvalidInput('$.levels[0]', 'must be "host"')
    hosts = _read_hosts(raw['hosts'], levels)
    classes = {
        name: _read_class(entry, hosts, invalid.child('$.classes', name))
        for name, entry in sorted(raw['classes'].items())
    }
    tree = topology.parse(
        raw['topology'], levels=levels, member_schema=_MEMBER
    )
    for stem in tree.stems:
        _check_known(
            stem.spec['class'], classes, invalid.child(stem.where, 'class')
        )
    return Problem(
        levels=levels,
        hosts=hosts,
        classes=classes,
        topology=tree,
        pinned=_read_pins(raw.get('pinned', {}), tree, hosts),
        time_limit=raw.get('time_limit', DEFAULT_TIME_LIMIT),
        seed=int(raw.get('seed', 0)),
    )


def _read_hosts(raw, levels):
    hosts = {}
    for number, entry in enumerate(raw):
        where = invalid.child('$.hosts', number)
        invalid.check(entry, _HOST, where)
        if entry['id'] in hosts:
            raise invalid.InvalidInput(f'{where}.id', 'is repeated')
        domains = entry.get('domains', {})
        for level in domains:
            _check_known(
                level, levels[1:], invalid.child(f'{where}.domains', level)
            )
        hosts[entry['id']] = Host(
            id=entry['id'],
            domains=domains,
            free=_amounts(entry.get('free', {})),
            foreign=entry.get('foreign', False),
        )
    return dict(sorted(hosts.items()))


def _read_class(raw, hosts, where):
    invalid.check(raw, _CLASS, where)
    for number, host_id in enumerate(raw.get('hosts', [])):
        _check_known(host_id, hosts, f'{where}.hosts[{number}]')
    for key in ('scores', 'alternatives'):
        for host_id in raw.get(key, {}):
            _check_known(
                host_id, hosts, invalid.child(f'{where}.{key}', host_id)
            )
    return MemberClass(
        request=_amounts(raw['request']),
        hosts=frozenset(raw.get('hosts', hosts)),
        scores=raw.get('scores', {}),
        alternatives={
            host_id: [_amounts(way) for way in ways]
            for host_id, ways in raw.get('alternatives', {}).items()
        },
    )


def _read_pins(raw, tree, hosts):
    paths = {member.path for member in tree.members}
    for path, host_id in raw.items():
        where = invalid.child('$.pinned', path)
        _check_known(path, paths, where)
        _check_known(host_id, hosts, where)
    return dict(sorted(raw.items()))


def _amounts(raw):
    return {name: int(amount) for name, amount in sorted(raw.items())}


def _check_known(name, known, where):
    if name not in known:
        raise invalid.InvalidInput(where, f'{invalid.quote(name)} is unknown')


class _Repeated(dict):
    """An object in which a key stands twice."""

    key = None


def _object(pairs, repeated):
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = collections.Counter(key for key, _ in pairs)
        value = _Repeated(value)
        value.key = counts.most_common(1)[0][0]
        repeated.append(value)
    return value


def _find(value, wanted):
    """JSON path of the key that stands twice in ``wanted``."""
    places = [('$', value)]
    while places:
        path, value = places.pop()
        if value is wanted:
            return invalid.child(path, wanted.key)
        if isinstance(value, dict):
            places += [(invalid.child(path, k), v) for k, v in value.items()]
        elif isinstance(value, list):
            places += [
                (invalid.child(path, i), v) for i, v in enumerate(value)
            ]
    return '$'
