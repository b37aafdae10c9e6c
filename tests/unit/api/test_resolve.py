# SPDX-License-Identifier: Apache-2.0
"""Flavors and images that members may have."""

from nova import objects
from nova.objects import flavor
from nova.objects import image_meta
from oslotest import base

from nova_groupext import exception
from nova_groupext.api import resolve
from nova_groupext.conf import CONF
from nova_groupext.solver.language import validation

WHERE = '$.vrt_group.topology.members.a'
NUMA = (WHERE, 'requests NUMA nodes, huge pages or pinned CPUs')
NUMBERED = (f'{WHERE}.flavor', 'requests numbered resource groups')

# Extra specs of a flavor that cannot be a member's.
FLAVORS = [
    ({'hw:numa_nodes': '1'}, NUMA),
    ({'hw:mem_page_size': 'large'}, NUMA),
    ({'hw:cpu_policy': 'dedicated'}, NUMA),
    (
        {'pci_passthrough:alias': 'gpu:1'},
        (f'{WHERE}.flavor', 'requests PCI devices'),
    ),
    (
        {'accel:device_profile': 'fpga'},
        (f'{WHERE}.flavor', 'requests a device profile'),
    ),
    ({'resources1:VGPU': '1'}, NUMBERED),
    ({'resources_GPU:VGPU': '1'}, NUMBERED),
    ({'trait1:CUSTOM_GOLD': 'required'}, NUMBERED),
]
# Properties of such an image.
IMAGES = [
    ({'hw_numa_nodes': '1'}, NUMA),
    ({'hw_cpu_policy': 'dedicated'}, NUMA),
]
# What has nothing to do with all that.
HARMLESS = [
    {},
    {'hw:cpu_policy': 'shared'},
    {'hw:cpu_sockets': '1'},
    {'resources:VGPU': '1'},
    {'trait:CUSTOM_GOLD': 'required'},
    {'aggregate_instance_extra_specs:ssd': 'true'},
]


def check(extra_specs=(), memory_mb=512, root_gb=1, **image):
    wanted = flavor.Flavor(
        vcpus=2,
        memory_mb=memory_mb,
        root_gb=root_gb,
        extra_specs=dict(extra_specs),
    )
    image = {'status': 'active', **image}
    meta = image_meta.ImageMeta.from_dict(image)
    resolve.check(None, wanted, image, meta, WHERE)


class TestZone(base.BaseTestCase):
    def test_empty_default_zone_counts_as_no_zone(self):
        CONF.set_override('default_schedule_zone', '')
        self.addCleanup(CONF.clear_override, 'default_schedule_zone')

        self.assertIsNone(resolve.requested_zone({}))


class TestCheck(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        objects.register_all()

    def refusal(self, **values):
        error = self.assertRaises(exception.Unsupported, check, **values)
        return error.kwargs['path'], error.kwargs['reason']

    def test_unsupported_flavor_or_image_is_refused(self):
        cases = [({'extra_specs': s}, expected) for s, expected in FLAVORS]
        cases += [({'properties': p}, expected) for p, expected in IMAGES]
        for values, (path, reason) in cases:
            refusal = self.refusal(**values)
            self.assertEqual(path, refusal[0], values)
            self.assertIn(reason, refusal[1], values)

    def test_supported_extra_specs_are_accepted(self):
        for extra_specs in HARMLESS:
            check(extra_specs)

    def test_flavor_that_nova_would_refuse_is_bad_input(self):
        for values, reason in (
            ({'min_ram': 1024}, 'memory is too small'),
            ({'min_disk': 2}, 'disk is smaller than the minimum'),
            ({'size': 2 * 1024**3}, 'disk is too small'),
            (
                {'extra_specs': {'hw:numa_nodes': 'many'}},
                'numa_nodes',
            ),
            ({'extra_specs': {'hw:cpu_sockets': 'many'}}, 'many'),
        ):
            error = self.assertRaises(validation.InvalidInput, check, **values)
            self.assertEqual(WHERE, error.path)
            self.assertIn(reason, error.reason)
