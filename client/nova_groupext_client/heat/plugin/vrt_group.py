# SPDX-License-Identifier: Apache-2.0
"""Entry of Heat's plugin loader, which imports the files of this folder."""

from nova_groupext_client.heat import vrt_group


def resource_mapping():
    """Return the resource types of the plugin."""
    return {'OS::Nova::VRTGroup': vrt_group.VRTGroup}
