# SPDX-License-Identifier: Apache-2.0
"""Comparison of a server's request with the descriptions of members."""

from nova import exception as nova_exc

from nova_groupext import exception
from nova_groupext.objects.member_set import flavor_needs
from nova_groupext.objects.member_set import image_needs
from nova_groupext.scheduler.nova import request_specs
from nova_groupext.scheduler.redeem import reserve

OTHER_RESOURCES = (
    'the server requests other resources than its member describes'
)
SPECIAL_RESOURCES = (
    'the server requests NUMA nodes, PCI devices or numbered resource groups, '
    'which members do not support yet'
)


class DescriptionMatch:
    """Comparison for the servers of one request.

    :param host_manager: Nova's HostManager
    """

    def __init__(self, host_manager):
        self._host_manager = host_manager
        # The request's Placement query. Nova's request filters change a spec,
        # so they run on it once.
        self._request = None

    def filter(self, context, members, spec):
        """Return the members whose description the servers match.

        :raises: reserve.TooFewHeld when there are none
        """
        differences, matching = {}, []
        for member in members:
            request = member.current_request
            key = request_specs.key(request)
            if key not in differences:
                differences[key] = self.difference(context, request, spec)
            if differences[key] is None:
                matching.append(member)
        if not matching:
            reason = next(iter(differences.values()))
            error = exception.RedeemFailed(
                member=members[0].path, reason=reason
            )
            raise reserve.TooFewHeld(error.format_message())
        return matching

    def difference(self, context, request, spec):
        """Return how the servers differ from a resolved request, or None."""
        try:
            if self._request is None:
                self._request = self._placement_request(context, spec)
            described = self._placement_request(
                context,
                request_specs.make_spec(
                    context, request, spec.project_id, spec.user_id
                ),
            )
        except nova_exc.NoValidHost as exc:
            return exc.format_message()
        if request_specs.needs_special_resources(spec):
            return SPECIAL_RESOURCES
        if request_specs.has_same_root_disk(
            request, spec
        ) and request_specs.are_equal(described, self._request):
            return None
        return _changed_since(request, spec) or OTHER_RESOURCES

    def _placement_request(self, context, spec):
        return request_specs.placement_request(
            context, spec, self._host_manager, is_compared=True
        )


def _changed_since(request, spec):
    """Return that a flavor or image has changed since it was described.

    :returns: what has changed and the remedy, or None
    """
    flavor, image = spec.flavor, spec.image
    changed = None
    if flavor.flavorid == request['flavor_id'] and flavor_needs(
        flavor.obj_to_primitive()
    ) != flavor_needs(request['flavor']):
        changed = f'flavor {flavor.name}'
    elif (
        # Without an image there is no id.
        not (spec.is_bfv or request['is_bfv'])
        and image.id == request['image_id']
        and (
            image_needs(image.obj_to_primitive())
            != image_needs(request['image'])
        )
    ):
        changed = f'image {image.id}'
    return changed and (
        f'{changed} has changed since the member was described; update the '
        'group, also with the same topology, to read it again'
    )
