# SPDX-License-Identifier: Apache-2.0
"""Input files as JSON values, with size limits checked before parsing."""

import collections
import functools
import json
from typing import Any
from typing import TextIO

from nova_groupext.solver.language import validation

#: Larger files are refused unparsed: 64 MiB is far above 10,000 hosts.
MAX_BYTES = 64 * 1024**2

#: A value may take one byte in a file and a hundred in memory; 100,000 hosts
#: with ten scores each need two million values.
MAX_VALUES = 3_000_000

# Every value but the first follows one of these; strings may add some.
_BEFORE_VALUES = (b',', b'[', b'{')


def read(name: str, stdin: TextIO | None) -> bytes:
    """Return the content of a file, at most one byte more than is allowed.

    :param name: file name; '-' means ``stdin``
    :param stdin: None if it is closed
    :raises InvalidInput: it cannot be read; with its name instead of a path
    """
    try:
        if name == '-' and stdin is not None:
            return stdin.buffer.read(MAX_BYTES + 1)
        with open(name, 'rb') as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = f'cannot be read: {_reason(error)}'
        raise validation.InvalidInput(validation.quote(name), reason) from None


def check_writable(name: str, where: str) -> None:
    """Check early that an output file can be written; create it.

    :param where: text for the message instead of a JSON path
    :raises InvalidInput: a file of that name cannot be written
    """
    try:
        open(name, 'ab').close()
    except (OSError, ValueError) as error:
        reason = f'cannot be written: {_reason(error)}'
        raise validation.InvalidInput(where, reason) from None


def _reason(error: Exception) -> str:
    return getattr(error, 'strerror', None) or 'not a file name'


def load(data: bytes) -> Any:
    """Return a JSON value; refuse repeated keys.

    :raises InvalidInput: with path and reason
    """
    _check_size(data)
    try:
        return _parse(data)
    except RecursionError:
        raise validation.InvalidInput('$', 'is nested too deeply') from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise validation.InvalidInput('$', f'is not JSON: {error}') from None


def _check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise validation.InvalidInput('$', f'is larger than {MAX_BYTES} bytes')
    # A small file cannot have too many values: skip the counts.
    if len(data) > MAX_VALUES and (
        sum(map(data.count, _BEFORE_VALUES)) > MAX_VALUES
    ):
        raise validation.InvalidInput(
            '$', f'has more than {MAX_VALUES} values'
        )


def _parse(data: bytes) -> Any:
    errors: list[object] = []
    hook = functools.partial(_object, errors)
    try:
        value = json.loads(data, object_pairs_hook=hook)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        # A number has thousands of digits: parse again to locate it.
        parse_int = functools.partial(_parse_integer, errors)
        value = json.loads(data, object_pairs_hook=hook, parse_int=parse_int)
    if errors:
        raise _first_error(value)
    return value


class _RepeatedKey(dict[str, Any]):
    """JSON object with a repeated key."""

    key: str


class _LongNumber(int):
    """Number with too many digits to convert."""


_MAY_CONTAIN_ERRORS = (dict, list, _LongNumber)


def _object(
    errors: list[object], pairs: list[tuple[str, Any]]
) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = collections.Counter(key for key, _ in pairs)
        value = repeated = _RepeatedKey(value)
        repeated.key = counts.most_common(1)[0][0]
        errors.append(repeated)
    return value


def _parse_integer(errors: list[object], text: str) -> int:
    try:
        return int(text)
    except ValueError:
        errors.append(text)
        return _LongNumber()


def _first_error(value: Any) -> validation.InvalidInput:
    """Return the first error in a value."""
    pending = [('$', value)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, _RepeatedKey):
            path = validation.json_path(path, value.key)
            return validation.InvalidInput(path, 'is repeated')
        if isinstance(value, _LongNumber):
            return validation.InvalidInput(path, 'has too many digits')
        is_object = isinstance(value, dict)
        items: list[tuple[str | int, Any]] = list(
            value.items() if is_object else enumerate(value)
        )
        pending += [
            (validation.json_path(path, key), each)
            for key, each in reversed(items)
            if isinstance(each, _MAY_CONTAIN_ERRORS)
        ]
    # Only an object with a repeated key, an error itself, can hide another.
    raise AssertionError('no error was found')
