# SPDX-License-Identifier: Apache-2.0
"""A complete Nova in one process, to try groups out. Not for production.

Real services: nova-api with its paste pipeline, conductor, scheduler,
computes with Nova's fake driver, and Placement, over HTTP on the loopback.
Stubs: identity, image, network and the ``authtoken`` filter. Of the product
only the command :mod:`nova_groupext.cmd.cloud` imports this package.

Nova's configuration, message bus and database sessions are global to the
process, so one process runs at most one such cloud at a time.
"""

from nova_groupext import nova_releases

# Nova selects its concurrency backend before its other modules are imported.
# Import this package first, so that the whole process uses native threads.
nova_releases.use_threads()
