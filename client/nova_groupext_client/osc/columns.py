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


class Refusal(columns.FormattableColumn):
    """Why there is no plan."""

    def human_readable(self):
        return '\n'.join(words.refusal(self._value)) if self._value else ''


class Boot(columns.FormattableColumn):
    """How far the creation of servers has come."""

    def human_readable(self):
        return '\n'.join(words.boot(self._value)) if self._value else ''


class Revision(columns.FormattableColumn):
    """What has become of a revision that is not the definition yet."""

    def human_readable(self):
        return '\n'.join(words.revision(self._value)) if self._value else ''


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
