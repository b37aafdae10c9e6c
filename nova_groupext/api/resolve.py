# SPDX-License-Identifier: Apache-2.0
"""Lookup of the flavors, images and zones that members name."""

import functools
import re
from types import MappingProxyType

from nova import availability_zones
from nova import exception as nova_exc
from nova import objects
from nova.compute import api as compute_api
from nova.image import glance
from nova.virt import hardware
from oslo_serialization import jsonutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects.member_set import are_alike
from nova_groupext.solver.language import validation

# Errors of Glance for an image that the tenant cannot have
UNKNOWN_IMAGE = (
    nova_exc.ImageNotFound,
    nova_exc.ImageNotAuthorized,
    nova_exc.ImageBadRequest,
)

# Extra specs that members cannot have yet, and the reason to report.
UNSUPPORTED = (
    (re.compile(r'pci_passthrough:alias$'), 'requests PCI devices'),
    (re.compile(r'accel:device_profile$'), 'requests a device profile'),
    (
        re.compile(r'(resources|trait|member_of|in_tree)[^:]+:'),
        'requests numbered resource groups',
    ),
)


def requests(context, member_sets, former=MappingProxyType({})):
    """Resolve the members of a Topology, each distinct description once.

    :param member_sets: entries of ``members``, each with or without a count
    :param former: {member set path: resolved request} of those described as
        before. It stays if it is still alike, and if its flavor or image has
        gone since: servers run on without these.
    :returns: {member set path: {"flavor": Flavor, "image": ImageMeta (both as
        primitives), "flavor_id": flavorid, "image_id": uuid,
        "availability_zone": name or None, "is_bfv": boots from a volume}};
        for a volume the ImageMeta is empty, as in Nova, and the id is None
    :raises: InvalidInput for a name that the tenant cannot see or a server
        that Nova would refuse, Unsupported if members cannot have it yet
    """
    resolver = _Resolver(context)
    return {
        each.path: resolver.request(each, former.get(each.path))
        for each in member_sets
    }


class _Resolver:
    def __init__(self, context):
        self._context = context
        # {description: resolved request, or the error}
        self._results = {}

    def request(self, member_set, former):
        """Return the resolved request of a member set.

        :param former: see requests(); None for another description
        """
        description = jsonutils.dumps(member_set.spec, sort_keys=True)
        if description not in self._results:
            self._results[description] = self._try(member_set)
        result = self._results[description]
        if former is None:
            if isinstance(result, Exception):
                raise result
            return result
        is_kept = isinstance(result, Exception) or are_alike(former, result)
        return former if is_kept else result

    def _try(self, member_set):
        try:
            return self._resolve(member_set.spec, member_set.where)
        except (validation.InvalidInput, exception.Unsupported) as exc:
            return exc

    def _resolve(self, spec, where):
        flavor = self._flavor(
            spec['flavor'], validation.json_path(where, 'flavor')
        )
        image_id = _image_id(spec, where)
        image, image_meta = self._image(image_id, f'{where}.image')
        check(self._context, flavor, image, image_meta, where)
        return {
            'flavor': flavor.obj_to_primitive(),
            'flavor_id': flavor.flavorid,
            'image': image_meta.obj_to_primitive(),
            'image_id': image_id,
            'availability_zone': self._zone(spec, where),
            'is_bfv': image_id is None,
        }

    def _flavor(self, name, where):
        for look_up in (
            objects.Flavor.get_by_flavor_id,
            objects.Flavor.get_by_name,
        ):
            try:
                return look_up(self._context, name)
            except nova_exc.NotFound:
                continue
        raise _unknown('flavor', name, where)

    def _image(self, image_id, where):
        """Return an image in Nova's two forms: a dict and an ImageMeta."""
        try:
            image, image_meta = read_image(self._context, image_id)
        except UNKNOWN_IMAGE as exc:
            raise _unknown('image', image_id, where) from exc
        except ValueError as exc:
            raise validation.InvalidInput(where, str(exc)) from exc
        if image and image['status'] != 'active':
            raise validation.InvalidInput(
                where, f'image {validation.quote(image_id)} is not active'
            )
        return image, image_meta

    def _zone(self, spec, where):
        where = validation.json_path(where, 'availability_zone')
        name = requested_zone(spec)
        if name is not None and ':' in name:
            raise validation.InvalidInput(
                where, 'must name a zone; a host cannot be chosen'
            )
        if name is not None and name not in self._zones:
            raise _unknown('availability zone', name, where)
        return name

    @functools.cached_property
    def _zones(self):
        return availability_zones.get_availability_zones(
            self._context.elevated(),
            compute_api.HostAPI(),
            get_only_available=True,
        )


def read_image(context, image_id):
    """Return an image in Nova's two forms: a dict and an ImageMeta.

    :param image_id: None for no image
    :raises: one of UNKNOWN_IMAGE, ValueError for wrong properties, and errors
        of a service that does not answer
    """
    image = (
        glance.API().get(context, image_id, show_deleted=False)
        if image_id
        else {}
    )
    return image, objects.ImageMeta.from_dict(image)


def requested_zone(server):
    """Return the requested availability zone, or Nova's default, or None.

    :param server: ``server`` of a body, or description of a member
    """
    default = CONF.default_schedule_zone
    return server.get('availability_zone') or default or None


def _image_id(spec, where):
    """Return the id of the image that a member boots from, or None."""
    from_volume = spec.get('boot_from_volume', False)
    if from_volume == ('image' in spec):
        raise validation.InvalidInput(
            where, 'needs either an image or "boot_from_volume": true'
        )
    # Nova also accepts URLs of images and would send requests to them.
    if not from_volume and not uuidutils.is_uuid_like(spec['image']):
        raise validation.InvalidInput(
            f'{where}.image',
            f'{validation.quote(spec["image"])} is not a UUID; an image is '
            'identified by its id, not by its name',
        )
    return spec.get('image')


def flavor_text(context, flavor_id):
    """Return name and id of a flavor, or only the id if it is not visible."""
    try:
        found = objects.Flavor.get_by_flavor_id(context, flavor_id)
    except nova_exc.FlavorNotFound:
        return flavor_id
    return f'{found.name} ({flavor_id})'


def check(context, flavor, image, image_meta, where):
    """Refuse a server that Nova would refuse or that cannot be a member yet.

    :param image: Nova's dict of the image, empty when there is none
    :param where: JSON path of the member
    :raises: InvalidInput, Unsupported
    """
    try:
        compute_api.API._validate_flavor_image_nostatus(
            context, image, flavor, root_bdm=None
        )
        numa = hardware.numa_get_constraints(flavor, image_meta)
    except (nova_exc.NovaException, ValueError) as exc:
        raise validation.InvalidInput(where, str(exc)) from exc
    if numa is not None:
        raise exception.Unsupported(
            path=where,
            reason='requests NUMA nodes, huge pages or pinned CPUs, which '
            'members do not support yet',
        )
    for key in flavor.extra_specs:
        for pattern, reason in UNSUPPORTED:
            if pattern.match(key):
                raise exception.Unsupported(
                    path=validation.json_path(where, 'flavor'),
                    reason=f'{reason} ({key}), which members do not support '
                    'yet',
                )


def _unknown(kind, name, where):
    return validation.InvalidInput(
        where, f'{kind} {validation.quote(name)} could not be found'
    )
