# SPDX-License-Identifier: Apache-2.0
"""Registry of the policy types, those of other packages included.

Every entry point of the group ``nova_groupext.policies`` is one type: its
name, and the subclass of base.Policy. The first question loads them.
"""

import functools

from nova_groupext.solver.policies import base

GROUP = 'nova_groupext.policies'


@functools.cache
def types() -> dict[str, type[base.Policy]]:
    """Return all types by name, sorted.

    :raises RuntimeError: an entry point is invalid
    """
    # Slow to import: only the first question needs it.
    from importlib import metadata

    found: dict[str, type[base.Policy]] = {}
    for entry in sorted(metadata.entry_points(group=GROUP)):
        loaded = entry.load()
        if not (isinstance(loaded, type) and issubclass(loaded, base.Policy)):
            raise RuntimeError(f'{entry.value} is no policy type')
        if (
            loaded.violation is base.Policy.violation
            and loaded.domain_violation is None
        ):
            raise RuntimeError(f'{entry.value} has no meaning')
        if loaded.type != entry.name:
            raise RuntimeError(
                f'{entry.value} is the policy type {loaded.type}, not '
                f'{entry.name}'
            )
        if found.setdefault(entry.name, loaded) is not loaded:
            raise RuntimeError(
                f'the policy type {entry.name} is registered twice'
            )
    if not found:
        raise RuntimeError(
            f'no entry point of {GROUP} is installed: install nova-groupext '
            'again'
        )
    return found


def get(name: str) -> type[base.Policy]:
    """Return the policy type with a name."""
    return types()[name]


def exclusive_types() -> list[str]:
    """Return the names of the exclusive types."""
    return [name for name, kind in types().items() if kind.is_exclusive]
