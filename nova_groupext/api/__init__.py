# SPDX-License-Identifier: Apache-2.0
"""The HTTP face: describes, shows and releases groups."""

# nova.api.wsgi uses this module and leaves its import to others.
import webob.dec  # noqa: F401
