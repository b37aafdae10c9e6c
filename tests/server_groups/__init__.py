# SPDX-License-Identifier: Apache-2.0
"""Nova's own tests of server groups, with our scheduler."""

import os

# Nova's functional tests would import eventlet otherwise.
os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
