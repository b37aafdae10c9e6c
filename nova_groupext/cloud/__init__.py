# SPDX-License-Identifier: Apache-2.0
"""The try-out cloud: a whole Nova in one process. Not for production.

Real: nova-api behind its own paste pipeline, conductor, scheduler, computes
with Nova's fake driver, and Placement, over real HTTP on the loopback.
Look-alikes, each named so in its module: identity, image and network. The
product never imports this package; this package may import the product.

Nova keeps its configuration, its message bus and its database sessions once
per process, so one process runs at most one such cloud at a time.
"""

from nova import monkey_patch

# Nova settles its concurrency before any of its other modules is imported;
# importing this package first is what makes the whole process threaded.
monkey_patch.patch(backend='threading')
