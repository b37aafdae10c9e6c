# SPDX-License-Identifier: Apache-2.0
"""How parts of a group are shown: to people as text, to programs as data."""

import collections

from cliff import columns

from nova_groupext_client import words


class Counts(columns.FormattableColumn):
    """Members, by how many are in which state."""

    def human_readable(self):
        states = collections.Counter(m['status'] for m in self._value)
        return ', '.join(f'{n} {state}' for state, n in states.items())


class Members(columns.FormattableColumn):
    """Members, one on a line."""

    def human_readable(self):
        return '\n'.join(
            ' '.join(filter(None, (m['path'], m['status'], m['server_id'])))
            for m in self._value
        )


class Policies(columns.FormattableColumn):
    """Policies that do not hold."""

    def human_readable(self):
        return '\n'.join(map(words.policy, self._value))


class _Lines(columns.FormattableColumn):
    """A dictionary, or None, that ``say`` turns into lines."""

    def human_readable(self):
        return '\n'.join(self.say(self._value)) if self._value else ''


class Refusal(_Lines):
    """Why there is no plan."""

    say = staticmethod(words.refusal)


class Boot(_Lines):
    """Nova has come so far with the servers of a group."""

    say = staticmethod(words.boot)


class Revision(_Lines):
    """What has become of a revision that is not the definition yet."""

    say = staticmethod(words.revision)


class Tree(columns.FormattableColumn):
    """Anything with a structure, as YAML."""

    def human_readable(self):
        # Only now: help is shown without it.
        import yaml

        if not self._value:
            return ''
        return yaml.safe_dump(self._value, sort_keys=False).rstrip()


class Domains(columns.FormattableColumn):
    """Where a member is."""

    def human_readable(self):
        return '\n'.join(f'{k} {name}' for k, name in self._value.items())
