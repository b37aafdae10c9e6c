# SPDX-License-Identifier: Apache-2.0
"""Do Nova's own tests of server groups pass with our scheduler?"""

import os

# What Nova's functional tests do as they are imported would bring eventlet in.
os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
