# SPDX-License-Identifier: Apache-2.0
"""Stub of the image service: a few images to boot from.

Images have no data, because the computes' fake driver never reads any.
Snapshots of shelved servers are kept in memory until the cloud stops.
"""

import uuid

from glanceclient.v2 import image_schema
import webob.exc

from nova_groupext.cloud import accounts
from nova_groupext.cloud import stub_service

CREATED = '2026-01-01T00:00:00Z'
#: Image properties that Nova's scheduler reads, by image name.
IMAGES = {
    'cirros': {},
    # The next version: for the scheduler it is like the one before.
    'cirros-next': {},
    # Builds from it fail.
    'cirros-broken': {},
    'cirros-uefi': {'hw_firmware_type': 'uefi'},
    # No host has this trait: a server with this image finds no valid host.
    'cirros-vmx': {'trait:HW_CPU_X86_VMX': 'required'},
}


def image_id(name):
    """Return the id of a seed image, a uuid with dashes."""
    return accounts.uuid_of('image', name)


class Images(stub_service.StubService):
    """Stub of the image API at ``<cloud>/image``."""

    ROUTES = (
        ('GET', '(/versions)?', 'versions'),
        # glanceclient builds its image class from the service's schema.
        ('GET', '/v2/schemas/image', 'schema'),
        ('GET', '/v2/images', 'list'),
        ('POST', '/v2/images', 'create'),
        ('GET', '/v2/images/(?P<wanted_id>[^/]+)', 'show'),
        ('DELETE', '/v2/images/(?P<wanted_id>[^/]+)', 'delete'),
    )

    def __init__(self, url):
        """Answer requests below ``url``, the URL of the cloud."""
        super().__init__(f'{url}/image')
        # {image id: image} of the snapshots that Nova has created.
        self._created = {}

    def versions(self, request):
        current = stub_service.version('v2.9', f'{self.url}/v2/')
        return stub_service.json_response({'versions': [current]}, 300)

    def schema(self, request):
        return stub_service.json_response(image_schema._BASE_SCHEMA)

    def list(self, request):
        """List seed images, all or by ``name``; after a ``marker`` none."""
        name = request.params.get('name')
        shown = [
            _image(each)
            for each in IMAGES
            if name in (None, each) and 'marker' not in request.params
        ]
        if request.params.get('os_hidden') == 'True':
            shown = []
        return stub_service.json_response(
            {
                'images': shown,
                'first': '/v2/images',
                'schema': '/v2/schemas/images',
            }
        )

    def show(self, request, wanted_id):
        for name in IMAGES:
            if image_id(name) == wanted_id:
                return stub_service.json_response(_image(name))
        if wanted_id not in self._created:
            raise webob.exc.HTTPNotFound()
        return stub_service.json_response(self._created[wanted_id])

    def create(self, request):
        this = str(uuid.uuid4())
        self._created[this] = {**_image_properties(this), **request.json_body}
        return stub_service.json_response(self._created[this], 201)

    def delete(self, request, wanted_id):
        if self._created.pop(wanted_id, None) is None:
            raise webob.exc.HTTPNotFound()
        return webob.Response(status=204)


def _image(name):
    return {**_image_properties(image_id(name)), 'name': name, **IMAGES[name]}


def _image_properties(this):
    return {
        'id': this,
        'status': 'active',
        'visibility': 'public',
        'owner': accounts.ADMIN.project_id,
        'protected': False,
        'os_hidden': False,
        'disk_format': 'qcow2',
        'container_format': 'bare',
        'checksum': '0' * 32,
        'size': 16 * 1024 * 1024,
        'virtual_size': 64 * 1024 * 1024,
        'min_disk': 0,
        'min_ram': 0,
        'tags': [],
        'created_at': CREATED,
        'updated_at': CREATED,
        'self': f'/v2/images/{this}',
        'file': f'/v2/images/{this}/file',
        'schema': '/v2/schemas/image',
    }
