# SPDX-License-Identifier: Apache-2.0
"""Columns for parts of a group: text for people, data for programs."""

import collections

from cliff import columns

from nova_groupext_client import sentences

# Statuses of members that have lost their server or their hold
_WITHOUT_SERVER = ('TENTATIVE', 'FAILED')


class Counts(columns.FormattableColumn):
    """Number of members in each state."""

    def human_readable(self):
        states = collections.Counter(m['status'] for m in self._value)
        return ', '.join(f'{n} {state}' for state, n in states.items())


class Members(columns.FormattableColumn):
    """Members, one per line: path, status, server id.

    Then what changes, or why a member has neither a server nor a hold.
    """

    def human_readable(self):
        return '\n'.join(map(_member, self._value))


def _member(member):
    remark = sentences.format_changes(member)
    fault = member.get('fault')
    if fault and member['status'] in _WITHOUT_SERVER:
        remark = fault['message']
    parts = (member['path'], member['status'], member['server_id'])
    return ' '.join(filter(None, (*parts, remark and f'({remark})')))


class Changes(columns.FormattableColumn):
    """Differences of a member from its description."""

    def human_readable(self):
        return sentences.format_changes(self._value)


class Moves(columns.FormattableColumn):
    """Proposed moves, one per line: member, server and destination."""

    def human_readable(self):
        return '\n'.join(map(sentences.format_move, self._value))


class Policies(columns.FormattableColumn):
    """Policies that are violated, one per line."""

    def human_readable(self):
        return '\n'.join(map(sentences.format_policy, self._value))


class Fault(columns.FormattableColumn):
    """Message of a fault, empty without one."""

    def human_readable(self):
        return self._value['message'] if self._value else ''


class Events(columns.FormattableColumn):
    """Events of a group, one per line."""

    def human_readable(self):
        return '\n'.join(map(sentences.format_event, self._value))


class FormattedLines(columns.FormattableColumn):
    """A dictionary, or None, that ``say`` formats as lines."""

    def human_readable(self):
        return '\n'.join(self.format(self._value)) if self._value else ''


class Refusal(FormattedLines):
    """Conflict that rules out a plan, and relaxations that would help."""

    format = staticmethod(sentences.format_refusal)


class Boot(FormattedLines):
    """Progress and faults of the creation of a group's servers."""

    format = staticmethod(sentences.format_boot)


class Revision(FormattedLines):
    """Status of a pending revision, and its fault or refusal."""

    format = staticmethod(sentences.format_revision)


class Tree(columns.FormattableColumn):
    """Any nested data, as YAML."""

    def human_readable(self):
        # Imported late: help does not need it.
        import yaml

        if not self._value:
            return ''
        return yaml.safe_dump(self._value, sort_keys=False).rstrip()


class Domains(columns.FormattableColumn):
    """Domains of a member, one per line: level and id."""

    def human_readable(self):
        return '\n'.join(f'{k} {name}' for k, name in self._value.items())


def table(headings, resources, **formatters):
    """Return the headings and the rows of a table.

    :param headings: {property: heading}
    :param formatters: as for cell()
    """
    return headings.values(), (
        [cell(each, name, **formatters) for name in headings]
        for each in resources
    )


def cell(resource, name, **formatters):
    """Return a property of a resource as a cell of a table.

    :param formatters: {name: column class} of the properties that need one
    """
    value = getattr(resource, name)
    return formatters[name](value) if name in formatters else value
