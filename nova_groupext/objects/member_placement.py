# SPDX-License-Identifier: Apache-2.0
"""The placement of a member: its host in a plan."""

import dataclasses

from oslo_versionedobjects import fields


@dataclasses.dataclass(frozen=True)
class MemberPlacement:
    """A member's host in a plan, with what it needs there.

    :ivar host: name of Nova's host
    :ivar node: name of its compute node; the solver's id of the host
    :ivar provider: uuid of its resource provider
    :ivar allocations: {provider: {"resources": {class: amount}}}
    :ivar mappings: {request group: [provider, ...]}
    :ivar domains: {level: domain of the host}
    """

    host: str
    node: str
    provider: str
    allocations: dict
    mappings: dict
    domains: dict = dataclasses.field(default_factory=dict)

    def amounts(self):
        """Return {class: amount} of the host's own provider."""
        return self.allocations[self.provider]['resources']


class _Placements(fields.FieldType):
    """Mapping {path: MemberPlacement}; rows have the dicts of these."""

    @staticmethod
    def coerce(obj, attr, value):
        return {
            path: each
            if isinstance(each, MemberPlacement)
            else MemberPlacement(**each)
            for path, each in value.items()
        }

    @staticmethod
    def to_primitive(obj, attr, value):
        return to_json(value)


class PlacementsField(fields.AutoTypedField):
    AUTO_TYPE = _Placements()


def to_json(placements):
    """Return {path: placement} as a row has it."""
    return {
        path: dataclasses.asdict(each) for path, each in placements.items()
    }
