# SPDX-License-Identifier: Apache-2.0
"""What of the try-out cloud's Nova can be exchanged."""

from collections.abc import Callable
import contextlib
import dataclasses


def _nothing(stack):
    """Prepare nothing."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """The pieces of Nova that a cloud is built from.

    ``scheduler`` is the class path of nova-scheduler's manager, ``router``
    the paste app factory of the compute API, ``filters`` the names and paste
    filter factories that stand between ``keystonecontext`` and the router,
    first one first. ``config`` is text appended to ``nova.conf``, and
    ``placement_config`` to ``placement.conf``.
    ``services`` are class paths of further oslo.service services; they are
    made with the name of the host they run on.

    ``prepare`` is called once Nova is configured and its databases exist,
    before any service starts: the place to make further tables. It gets a
    :class:`contextlib.ExitStack` that is closed after everything has
    stopped, to undo what should not outlive the cloud.
    """

    scheduler: str = 'nova.scheduler.manager.SchedulerManager'
    router: str = 'nova.api.openstack.compute:APIRouterV21.factory'
    filters: tuple[tuple[str, str], ...] = ()
    config: str = ''
    placement_config: str = ''
    services: tuple[str, ...] = ()
    prepare: Callable[[contextlib.ExitStack], None] = _nothing


STOCK = Parts()
