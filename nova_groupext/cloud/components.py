# SPDX-License-Identifier: Apache-2.0
"""Replaceable components of the try-out cloud's Nova."""

from collections.abc import Callable
import contextlib
import dataclasses


def _do_nothing(stack):
    """Do nothing; the default of :attr:`Parts.prepare`."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """Components of one cloud; the defaults are those of a plain Nova.

    :ivar scheduler: class path of nova-scheduler's manager
    :ivar router: paste app factory of the compute API
    :ivar filters: (name, paste filter factory) of each filter directly before
        the router, in the order of the pipeline
    :ivar config: text appended to ``nova.conf``
    :ivar placement_config: text appended to ``placement.conf``
    :ivar services: class paths of further oslo.service services; the cloud
        creates each with the name of its host
    :ivar prepare: function called when Nova is configured and its databases
        exist, before Nova and Placement start, for example to create tables;
        its argument is an ExitStack, which is closed after they have stopped
    """

    scheduler: str = 'nova.scheduler.manager.SchedulerManager'
    router: str = 'nova.api.openstack.compute:APIRouterV21.factory'
    filters: tuple[tuple[str, str], ...] = ()
    config: str = ''
    placement_config: str = ''
    services: tuple[str, ...] = ()
    prepare: Callable[[contextlib.ExitStack], None] = _do_nothing


STOCK = Parts()
