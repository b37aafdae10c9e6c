# SPDX-License-Identifier: Apache-2.0
"""A member set: an entry of ``members`` in a group's definition.

It describes a single member, or several that are alike.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
from typing import TYPE_CHECKING
from typing import Any

from oslo_versionedobjects import base as ovo

from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.aliases import Path

if TYPE_CHECKING:
    from nova_groupext.objects.member import VRTMember

COUNTS = ('count', 'min_count', 'max_count', 'max_surge')
# Keys of a description that are not part of its spec
_NOT_IN_SPEC = (*COUNTS, 'policies')
# Keys of resolved requests
_KIND_OF_SERVER = ('flavor_id', 'image_id', 'is_bfv', 'availability_zone')


@ovo.VersionedObjectRegistry.register
class VRTMemberSet(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.MemberSet

    fields = base.fields_of(models.MemberSet)

    def obj_load_attr(self, attrname: str) -> None:
        """Load the resolved request, which views do not read."""
        if attrname != 'resolved_request':
            return super().obj_load_attr(attrname)
        stored = self.find_by_id(self._context, self.id)
        self.resolved_request = stored.resolved_request if stored else {}
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
    """Check whether two resolved requests are for the same kind of server."""
    return all(
        request.get(name) == other.get(name) for name in _KIND_OF_SERVER
    )


@dataclasses.dataclass(frozen=True)
class Matching:
    """Member sets that describe some servers, now or before a revision.

    While servers are as they were described before, new ones may be, too.

    :ivar member_sets: paths of the member sets
    :ivar server_request: resolved request of such servers if some of the
        member sets have described them before only, else None
    """

    member_sets: Collection[Path] = ()
    server_request: JsonObject | None = None

    def describes_now(self, described: VRTMemberSet) -> bool:
        """Check whether a member set describes the servers now."""
        return described.path in self.member_sets and (
            self.server_request is None
            or are_alike(self.server_request, described.resolved_request)
        )

    def described_before(self, member: 'VRTMember') -> bool:
        """Check whether a member's server is like the servers, and pending."""
        return (
            self.server_request is not None
            and (pending := member.pending_request) is not None
            and member.member_set in self.member_sets
            and are_alike(self.server_request, pending)
        )


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
