# SPDX-License-Identifier: Apache-2.0
"""What there is to decide: hosts, classes, a topology and its pins."""

import dataclasses
import functools

from nova_groupext.planner import files
from nova_groupext.planner import invalid
from nova_groupext.planner import topology

DEFAULT_TIME_LIMIT = 30.0
MAX_TIME_LIMIT = 1e6

#: Bytes of a problem file as a JSON value, for parse().
load = files.load

# Far above any cloud; what is allowed together is less, by the file's size.
_MANY_HOSTS = 100_000
_MANY_CLASSES = 10_000
_MANY_RESOURCES = 1_000
_MANY_WAYS = 1_000

_NAME = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_AMOUNTS = {
    'type': 'object',
    'maxProperties': _MANY_RESOURCES,
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
        'hosts': {'type': 'array', 'maxItems': _MANY_HOSTS},
        'classes': {'type': 'object', 'maxProperties': _MANY_CLASSES},
        'topology': {'type': 'object'},
        'pinned': {'type': 'object', 'additionalProperties': _NAME},
        'time_limit': {
            'type': 'number',
            'minimum': 0,
            'maximum': MAX_TIME_LIMIT,
        },
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
                'maxItems': _MANY_WAYS,
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

    @functools.cached_property
    def movable(self):
        """Paths of the members that are not pinned."""
        return frozenset(self.class_of.keys() - self.pinned.keys())

    def domain(self, host_id, level):
        """The host's domain at a level, None if it has none."""
        if level == self.levels[0]:
            return host_id
        return self.hosts[host_id].domains.get(level)


def of_places(levels, domains, tree):
    """Return a Problem that is only about where members are.

    :param levels: topology levels, smallest first
    :param domains: host id -> {level: domain}, without ``host``
    :param tree: topology.Topology
    """
    return Problem(
        levels=tuple(levels),
        hosts={
            host_id: Host(id=host_id, domains=each, free={}, foreign=False)
            for host_id, each in sorted(domains.items())
        },
        classes={},
        topology=tree,
        pinned={},
        time_limit=0,
        seed=0,
    )


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
    # Shared by all classes that may go everywhere.
    everywhere = frozenset(hosts)
    classes = {
        name: _read_class(entry, everywhere, invalid.child('$.classes', name))
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


def _read_class(raw, everywhere, where):
    invalid.check(raw, _CLASS, where)
    for key in ('hosts', 'scores', 'alternatives'):
        _check_all_known(raw.get(key, []), everywhere, f'{where}.{key}')
    return MemberClass(
        request=_amounts(raw['request']),
        hosts=frozenset(raw['hosts']) if 'hosts' in raw else everywhere,
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


def _check_all_known(names, known, where):
    """Check the items of an array, or the keys of an object."""
    for number, name in enumerate(names):
        if name not in known:
            key = name if isinstance(names, dict) else number
            _check_known(name, known, invalid.child(where, key))


def _check_known(name, known, where):
    if name not in known:
        raise invalid.InvalidInput(where, f'{invalid.quote(name)} is unknown')
