# SPDX-License-Identifier: Apache-2.0
"""WSGI application of nova-api: Nova's routes, then those of extensions.

An operator enables it in api-paste.ini::

    [app:osapi_compute_app_v21]
    paste.app_factory = nova_groupext.api.app:APIRouter.factory

Packages add routes with an entry point in NAMESPACE. It names a tuple of
routes in Nova's form, ``(path, {HTTP method: [controller factory, method
name]})``. Nova's router also adds each path with a project id before it.
"""

from nova.api.openstack.compute import routes
from stevedore import extension

from nova_groupext import policies
from nova_groupext.conf import CONF
from nova_groupext.conf import values
from nova_groupext.db import engine

NAMESPACE = 'nova_groupext.api.routes'


def _refuse_to_start(manager, entry_point, error):
    raise error


def extension_routes():
    """Return the routes of all installed extensions, sorted by name."""
    loaded = extension.ExtensionManager(
        NAMESPACE, on_load_failure_callback=_refuse_to_start
    )
    by_name = sorted(loaded, key=lambda each: each.name)
    return tuple(route for each in by_name for route in each.plugin)


class APIRouter(routes.APIRouterV21):
    """Nova's API router with the routes of extensions."""

    def __init__(self):
        values.check(CONF)
        engine.configure()
        policies.register()
        super().__init__(custom_routes=extension_routes())
