# SPDX-License-Identifier: Apache-2.0
"""Heat's resource ``OS::Nova::VRTGroup``.

Heat loads the modules of the folder ``plugin``: its path belongs into
``plugin_dirs`` of heat.conf. They and the other modules of this package need
Heat; no other package of the client does.
"""
