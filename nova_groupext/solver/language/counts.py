# SPDX-License-Identifier: Apache-2.0
"""Numbers of servers in an entry of ``members``, and the members' names."""

from nova_groupext.solver.aliases import JsonObject
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import validation

InvalidInput = validation.InvalidInput

# An index has at most nine digits, see paths.split_index().
INDEX_LENGTH = len('-') + 9
# A successor's path name is so many characters longer than its member's.
SUCCESSOR_LENGTH = len('+') + 32


def member_names(raw: JsonObject, name: str) -> list[str]:
    """Return the names of the members of an entry."""
    if 'names' in raw:
        return sorted(raw['names'], key=paths.split_index)
    if 'count' not in raw:
        return [name]
    return [f'{name}-{index}' for index in range(int(raw['count']))]


def added_length(raw: JsonObject) -> int:
    """Return what names of members have at most more than their entry's."""
    # Servers may ask for any index.
    index = INDEX_LENGTH if 'count' in raw else 0
    return index + (SUCCESSOR_LENGTH if raw.get('max_surge') else 0)


def limit(raw: JsonObject) -> int:
    """Return the number of members that an entry may have."""
    count = int(raw.get('count', 1))
    return max(count, int(raw.get('max_count', count)))


def check_max_count(raw: JsonObject, count: int, where: str) -> None:
    if 'max_count' not in raw:
        if not count:
            raise InvalidInput(
                validation.json_path(where, 'count'),
                'must be at least 1 without max_count',
            )
        return
    at = validation.json_path(where, 'max_count')
    if 'count' not in raw:
        raise InvalidInput(at, 'requires a count')
    if raw['max_count'] < count:
        raise InvalidInput(at, f'must not be less than the count, {count}')
