# SPDX-License-Identifier: Apache-2.0
"""Entries of the lists and objects in a description of a topology."""

from typing import Any

from nova_groupext.solver.aliases import JsonObject
from nova_groupext.solver.language import validation

# Clients and proxies resolve dots in a URL: no request would reach the member.
_NOT_NAMES = ('', '.', '..')


class Names:
    """Names in use within one node."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # Name -> JSON path of its description.
        self.used: dict[str, str] = {}

    def add(self, name: str, where: str) -> None:
        """Raise InvalidInput if a name is invalid or used already."""
        if name in _NOT_NAMES or '/' in name:
            raise validation.InvalidInput(
                where, 'needs a name without slashes, not "." or ".."'
            )
        if len(name) > self.limit:
            raise validation.InvalidInput(
                where, f'has a name of more than {self.limit} characters'
            )
        if name in self.used:
            raise validation.InvalidInput(
                where,
                f'uses the name {validation.quote(name)}, which '
                f'{self.used[name]} already uses',
            )
        self.used[name] = where


def named(raw: JsonObject, where: str, key: str) -> list[tuple[str, Any, str]]:
    """Return name, value and JSON path of each entry of an object."""
    path = validation.json_path(where, key)
    return [
        (name, entry, validation.json_path(path, name))
        for name, entry in raw.get(key, {}).items()
    ]


def listed(
    raw: JsonObject, where: str, key: str
) -> list[tuple[int, Any, str]]:
    """Return index, value and JSON path of each item of an array."""
    path = validation.json_path(where, key)
    return [
        (index, item, validation.json_path(path, index))
        for index, item in enumerate(raw.get(key, ()))
    ]


def to_integer(value: Any) -> Any:
    """Convert 3.0 to 3: JSON has one kind of number."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value
