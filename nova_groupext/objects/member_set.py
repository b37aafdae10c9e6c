# SPDX-License-Identifier: Apache-2.0
"""A member set: an entry of ``members`` in a group's definition.

It describes a single member, or several that are alike.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import TYPE_CHECKING
from typing import Any
from typing import Self
from typing import TypeAlias

from oslo_versionedobjects import base as ovo

from nova_groupext import exception
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.aliases import Path

if TYPE_CHECKING:
    from nova_groupext.objects.member import VRTMember

#: Values by which two servers are of the same kind, as JSON has them
Kind: TypeAlias = list[Any]

COUNTS = ('count', 'min_count', 'max_count', 'max_surge')
# Keys of a description that are not part of its spec
_NOT_IN_SPEC = (*COUNTS, 'policies')
# Keys of resolved requests
_NAMED = ('flavor_id', 'image_id', 'is_bfv', 'availability_zone')
#: Properties of a flavor that its servers require of their hosts
FLAVOR_NEEDS = (
    'vcpus',
    'memory_mb',
    'root_gb',
    'ephemeral_gb',
    'swap',
    'extra_specs',
)


@ovo.VersionedObjectRegistry.register
class VRTMemberSet(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.MemberSet

    fields = base.fields_of(models.MemberSet)

    def obj_load_attr(self, attrname: str) -> None:
        """Load the resolved request, which views do not read.

        :raises: GenerationConflict when a revision has replaced the member set
        """
        if attrname != 'resolved_request':
            return super().obj_load_attr(attrname)
        stored = self.find_by_id(self._context, self.id)
        if stored is None:
            raise exception.GenerationConflict(group=self.group_id)
        self.resolved_request = stored.resolved_request
        self.obj_reset_changes([attrname])

    @property
    def counts(self) -> dict[str, int]:
        """Counts of the description."""
        return _counts(self.description)

    @property
    def wanted(self) -> int:
        """Number of members that are placed without being asked for."""
        return 0 if self.is_left_out else self.counts.get('count', 1)

    @property
    def limit(self) -> int:
        """Number of members that may be placed."""
        if self.is_left_out:
            return 0
        return self.counts.get('max_count', self.wanted)

    @property
    def shown_description(self) -> JsonObject | None:
        """Description of the tenant's; None if it was left out."""
        return None if self.is_left_out else self.description

    def leaving(self) -> 'VRTMemberSet':
        """Return the set that a definition without it has for its servers."""
        return VRTMemberSet(
            path=self.path,
            description=self.description,
            resolved_request=self.resolved_request,
            is_left_out=True,
        )

    @property
    def spec(self) -> JsonObject:
        """Description without counts."""
        return _spec(self.description)


def are_alike(request: JsonObject, other: JsonObject) -> bool:
    """Check whether two resolved requests are for the same kind of server.

    A flavor or image that was changed in between is for another one.
    """
    return all(
        request.get(name) == other.get(name) for name in _NAMED
    ) and needs_of(request) == needs_of(other)


def kind_of(request: JsonObject) -> Kind:
    """Return the kind of server that a resolved request is for."""
    return [request.get('image_id'), *needs_of(request)]


def needs_of(request: JsonObject) -> list[object]:
    """Return what the servers of a resolved request require of their hosts."""
    return [
        *(request.get(name) for name in _NAMED if name != 'image_id'),
        flavor_needs(request.get('flavor')),
        image_needs(request.get('image')),
    ]


@dataclasses.dataclass(frozen=True)
class Matching:
    """Member sets that describe some servers, now or before a revision.

    While servers are as they were described before, new ones may be, too. A
    group that is revised later may describe none of them any more.

    :ivar kinds: {path of a member set: kind of server, as it has described
        these servers}
    """

    kinds: Mapping[Path, Kind] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, member_sets: Iterable[VRTMemberSet]) -> Self:
        """Return the Matching of servers that member sets describe now."""
        return cls(
            {each.path: kind_of(each.resolved_request) for each in member_sets}
        )

    def describes_now(self, described: VRTMemberSet) -> bool:
        """Check whether a member set describes the servers now."""
        return self._is_for(described.path, described.resolved_request)

    def described_before(self, member: 'VRTMember') -> bool:
        """Check whether a member's server is like the servers, and pending."""
        pending = member.pending_request
        return pending is not None and self._is_for(member.member_set, pending)

    def _is_for(self, member_set: Path, request: JsonObject) -> bool:
        return self.kinds.get(member_set) == kind_of(request)


def flavor_needs(flavor: JsonObject | None) -> JsonObject:
    """Return what a flavor requires of the hosts of its servers.

    :param flavor: a Flavor as a primitive
    """
    data = (flavor or {}).get('nova_object.data', {})
    return {name: data.get(name) for name in FLAVOR_NEEDS}


def image_needs(image: JsonObject | None) -> JsonObject:
    """Return what an image requires of the host of its servers.

    :param image: an ImageMeta as a primitive; None for no image
    """
    data = (image or {}).get('nova_object.data', {})
    properties = data.get('properties', {}).get('nova_object.data', {})
    return {'disk_format': data.get('disk_format'), **properties}


def description_of(entry: Mapping[str, Any]) -> JsonObject:
    """Return the description of a member set, without its policies.

    :param entry: one of ``members`` of a topology
    """
    return {**_spec(entry), **_counts(entry)}


def _spec(description: Mapping[str, Any]) -> JsonObject:
    return {k: v for k, v in description.items() if k not in _NOT_IN_SPEC}


def _counts(description: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts as integers.

    JSON input may contain 4.0, which is a whole number too.
    """
    return {key: int(description[key]) for key in COUNTS if key in description}
