# SPDX-License-Identifier: Apache-2.0
"""Nova's own functional tests, with our router and our scheduler manager.

Nova's wheel has these tests. They run unchanged, in processes of two kinds:
``stock`` is Nova alone, ``ours`` has the changes that the install page asks
for. What passes with the first has to pass with the second.
"""

import os

# Nova's functional tests would import eventlet otherwise.
os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
