# SPDX-License-Identifier: Apache-2.0
"""REST API of VRT groups, loaded into nova-api."""

# nova.api.wsgi uses webob.dec without importing it.
import webob.dec  # noqa: F401
