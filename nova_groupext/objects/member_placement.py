# SPDX-License-Identifier: Apache-2.0
"""The placement of a member: its host in a plan."""

from collections.abc import Mapping
import dataclasses

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext.objects.aliases import Allocations
from nova_groupext.objects.aliases import Amounts
from nova_groupext.objects.aliases import Domains
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.aliases import Mappings
from nova_groupext.objects.aliases import Path


@dataclasses.dataclass(frozen=True)
class MemberPlacement:
    """A member's host in a plan, with what it needs there.

    :ivar host: name of Nova's host
    :ivar node: name of its compute node; the solver's id of the host
    :ivar provider: uuid of its resource provider
    """

    host: str
    node: str
    provider: str
    allocations: Allocations
    mappings: Mappings
    domains: Domains = dataclasses.field(default_factory=dict)

    def amounts(self) -> Amounts:
        """Return the amounts of the host's own provider."""
        return self.allocations[self.provider]['resources']


class _Placements(fields.FieldType):
    """Mapping {path: MemberPlacement}; rows have the dicts of these."""

    @staticmethod
    def coerce(
        obj: ovo.VersionedObject | None,
        attr: str,
        value: Mapping[Path, MemberPlacement | JsonObject],
    ) -> dict[Path, MemberPlacement]:
        return {
            path: each
            if isinstance(each, MemberPlacement)
            else MemberPlacement(**each)
            for path, each in value.items()
        }


class PlacementsField(fields.AutoTypedField):
    AUTO_TYPE = _Placements()


def to_json(
    placements: Mapping[Path, MemberPlacement],
) -> dict[Path, JsonObject]:
    """Return placements by path, as a row has them."""
    return {
        path: dataclasses.asdict(each) for path, each in placements.items()
    }
