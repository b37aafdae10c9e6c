# SPDX-License-Identifier: Apache-2.0
"""Nova's RequestSpecs and ResourceRequests for members without a server.

The planner uses the RequestSpec that Nova will make when the server is
created. The redeem path compares the two.
"""

from urllib import parse

from nova import exception as nova_exc
from nova import objects
from nova.scheduler import request_filter
from nova.scheduler import utils
from oslo_serialization import jsonutils
from oslo_utils import uuidutils

from nova_groupext.objects.member_set import image_needs

# Traits that Nova requires of each compute node, once all of them report it.
OF_ALL_COMPUTES = {'OWNER_NOVA'}


def key(request):
    """Return a string that is equal for equal resolved requests."""
    return jsonutils.dumps(request, sort_keys=True)


def make_spec(context, request, project_id, user_id):
    """Return the RequestSpec of a server that does not exist yet.

    :param request: resolved request: what the API resolved when the group was
        defined
    """
    image = request['image'] and objects.ImageMeta.obj_from_primitive(
        request['image'], context
    )
    spec = objects.RequestSpec.from_components(
        context,
        instance_uuid=uuidutils.generate_uuid(),
        image=image,
        flavor=objects.Flavor.obj_from_primitive(request['flavor'], context),
        numa_topology=None,
        pci_requests=objects.InstancePCIRequests(requests=[]),
        filter_properties={},
        instance_group=None,
        availability_zone=request['availability_zone'],
        project_id=project_id,
        user_id=user_id,
    )
    spec.is_bfv = request['is_bfv']
    return spec


def placement_request(context, spec, host_manager, *, is_compared=False):
    """Return the ResourceRequest of a spec, as Nova's scheduler makes it.

    Nova's request filters run and change the spec. So the operator's rules
    (tenant isolation, forbidden aggregates, required traits...) hold for
    groups as for single servers.

    :param is_compared: whether the result is only compared with another such
        request: then no cell is asked whether all of its computes report a
        trait
    :raises: nova.exception.NoValidHost when a request filter refuses
    """
    if is_compared:
        # A filter that finds these has nothing to ask.
        spec.root_required.update(OF_ALL_COMPUTES)
    try:
        request_filter.process_reqspec(context, spec)
    except nova_exc.RequestFilterFailed as exc:
        raise nova_exc.NoValidHost(reason=exc.message) from exc
    resources = utils.resources_from_request_spec(context, spec, host_manager)
    # [scheduler]max_placement_results must not hide hosts from the planner.
    resources._limit = None
    return resources


def has_same_root_disk(request, spec):
    """Check whether a server's root disk is like that of a resolved request.

    Another image will do if it requires the same of hosts.
    """
    if spec.is_bfv or request['is_bfv']:
        return spec.is_bfv == request['is_bfv']
    return spec.image.id == request['image_id'] or image_needs(
        spec.image.obj_to_primitive()
    ) == image_needs(request['image'])


def are_equal(first, second):
    """Check whether two ResourceRequests lead to the same Placement query."""
    return _query(first) == _query(second)


def needs_special_resources(spec):
    """Check whether a server needs NUMA, PCI or other unsupported resources.

    Its flavor may have been changed after the group was defined.
    """
    pci = spec.pci_requests.requests if spec.pci_requests else ()
    return bool(spec.numa_topology or pci or spec.requested_resources)


def _query(resources):
    pairs = parse.parse_qsl(resources.to_querystring())
    return sorted((name, sorted(value.split(','))) for name, value in pairs)
