# SPDX-License-Identifier: Apache-2.0
"""Files from outside, as JSON values: bounded before they are unfolded."""

import collections
import functools
import json

from nova_groupext.planner import invalid

#: Larger files are refused unread: 64 MiB is far above 10,000 hosts.
MAX_BYTES = 64 * 1024**2

#: A value takes a byte in a file and a hundred in memory: 100,000 hosts
#: with ten scores each are two million.
MAX_VALUES = 3_000_000

# Each value but the first comes after one of these.
_BEFORE_VALUES = (b',', b'[', b'{')


def read(name, stdin):
    """The bytes of a file, at most one more than is allowed.

    :param name: of the file; '-' is ``stdin``
    :param stdin: text stream, None if it is closed
    :raises InvalidInput: it cannot be read
    """
    try:
        if name == '-' and stdin is not None:
            return stdin.buffer.read(MAX_BYTES + 1)
        with open(name, 'rb') as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = f'cannot be read: {_reason(error)}'
        raise invalid.InvalidInput('$', reason) from None


def check_writable(name, where):
    """Find out before the work is done whether its result can be kept.

    :param where: what to name in the message instead of a JSON path
    :raises InvalidInput: a file of that name cannot be written
    """
    try:
        open(name, 'ab').close()
    except (OSError, ValueError) as error:
        reason = f'cannot be written: {_reason(error)}'
        raise invalid.InvalidInput(where, reason) from None


def _reason(error):
    return getattr(error, 'strerror', None) or 'not a file name'


def load(data):
    """JSON bytes as a value in which no key is repeated.

    :raises InvalidInput: with path and reason
    """
    _check_size(data)
    try:
        return _parse(data)
    except RecursionError:
        raise invalid.InvalidInput('$', 'is nested too deeply') from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise invalid.InvalidInput('$', f'is not JSON: {error}') from None


def _check_size(data):
    if len(data) > MAX_BYTES:
        raise invalid.InvalidInput('$', f'is larger than {MAX_BYTES} bytes')
    # No count can be larger than the file.
    if len(data) > MAX_VALUES and (
        sum(map(data.count, _BEFORE_VALUES)) > MAX_VALUES
    ):
        raise invalid.InvalidInput('$', f'has more than {MAX_VALUES} values')


def _parse(data):
    mistakes = []
    hook = functools.partial(_object, mistakes)
    try:
        value = json.loads(data, object_pairs_hook=hook)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        # A number of thousands of digits; where it is takes a slower look.
        whole = functools.partial(_whole, mistakes)
        value = json.loads(data, object_pairs_hook=hook, parse_int=whole)
    if mistakes:
        raise _first_mistake(value)
    return value


class _Repeating(dict):
    """An object in which a key stands twice."""

    key = None


class _Long(int):
    """A number that is too long to be read."""


_MAY_BE_WRONG = (dict, list, _Long)


def _object(mistakes, pairs):
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = collections.Counter(key for key, _ in pairs)
        value = _Repeating(value)
        value.key = counts.most_common(1)[0][0]
        mistakes.append(value)
    return value


def _whole(mistakes, text):
    try:
        return int(text)
    except ValueError:
        mistakes.append(text)
        return _Long()


def _first_mistake(value):
    """The InvalidInput of a value with something wrong in it."""
    places = [('$', value)]
    while places:
        path, value = places.pop()
        if isinstance(value, _Repeating):
            path = invalid.child(path, value.key)
            return invalid.InvalidInput(path, 'is repeated')
        if isinstance(value, _Long):
            return invalid.InvalidInput(path, 'has too many digits')
        is_object = isinstance(value, dict)
        inside = list(value.items() if is_object else enumerate(value))
        places += [
            (invalid.child(path, key), each)
            for key, each in reversed(inside)
            if isinstance(each, _MAY_BE_WRONG)
        ]
    # Nothing wrong is lost but in an object that repeats a key.
    raise AssertionError('no mistake was found')
