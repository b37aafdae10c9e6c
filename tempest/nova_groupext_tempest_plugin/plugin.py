# SPDX-License-Identifier: Apache-2.0
"""The plugin that Tempest loads: tests, options and service clients."""

import pathlib

from tempest import config
from tempest.test_discover import plugins

from nova_groupext_tempest_plugin import config as vrt_config

PACKAGE = pathlib.Path(__file__).resolve().parent


class VRTPlugin(plugins.TempestPlugin):
    """Plugin with the tests of VRT groups."""

    def load_tests(self):
        """Return the directory of the tests and the top-level directory."""
        return str(PACKAGE / 'tests'), str(PACKAGE.parent)

    def register_opts(self, conf):
        """Register the options of the plugin."""
        conf.register_opts(
            vrt_config.SERVICE_AVAILABLE_OPTS, group='service_available'
        )
        conf.register_group(vrt_config.VRT_GROUP)
        conf.register_opts(vrt_config.VRT_OPTS, group=vrt_config.VRT_GROUP)

    def get_opt_lists(self):
        """Return pairs of a group's name and its options."""
        return [
            ('service_available', vrt_config.SERVICE_AVAILABLE_OPTS),
            (vrt_config.VRT_GROUP.name, vrt_config.VRT_OPTS),
        ]

    def get_service_clients(self):
        """Return the clients of the compute and the Placement endpoint."""
        clients = f'{__package__}.services'
        return [
            {
                'name': 'vrt',
                'service_version': 'vrt',
                'module_path': f'{clients}.groups_client',
                'client_names': ['GroupsClient', 'AdminGroupsClient'],
                **config.service_client_config('compute'),
            },
            {
                'name': 'vrt_placement',
                'service_version': 'vrt_placement',
                'module_path': f'{clients}.placement_client',
                'client_names': ['PlacementClient'],
                **config.service_client_config('placement'),
            },
        ]
