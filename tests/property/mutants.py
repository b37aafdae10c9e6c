# SPDX-License-Identifier: Apache-2.0
"""Random mutations of valid JSON values."""

import copy

from hypothesis import strategies

ODD = [
    *(None, True, False, 0, 1, -1, 2, 3.0, 0.5, 1e308, -(10**30)),
    *('', 'a', 'host', 'rack', 'h0', 'affinity', '\ud800', '/', 'é' * 300),
    *([], {}, [[]], ['h0'], {'a': 1}, {'type': 'spread'}),
    *(float('nan'), float('inf')),
]


def value_paths(value, path=()):
    """Yield the paths of all values inside a JSON value."""
    inside = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, each in inside:
        yield (*path, key)
        yield from value_paths(each, (*path, key))


def change(draw, raw, odd=ODD):
    """Delete, repeat or replace a value of a JSON object, in place."""
    *parents, last = draw(strategies.sampled_from(list(value_paths(raw))))
    parent = raw
    for key in parents:
        parent = parent[key]
    kind = draw(strategies.integers(0, 3))
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, list):
        parent.append(parent[last])
    elif kind == 1:
        parent[draw(strategies.sampled_from(['x', 'b', 'm']))] = parent[last]
    else:
        # A copy: it may be changed in its turn.
        parent[last] = copy.deepcopy(draw(strategies.sampled_from(odd)))
