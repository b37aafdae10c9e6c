# SPDX-License-Identifier: Apache-2.0
"""Growths: what is held for the resize of a member's server.

A server that is to be resized needs all of its new flavor at once, on its own
host too: until the resize is confirmed it has the old one besides. So all of
it is held, and the resize takes it over.
"""

from oslo_log import log as logging

from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.hold import again
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import holding

LOG = logging.getLogger(__name__)


def end(context, ledger, growth, why):
    """Give back a growth, as far as it has anything.

    :param growth: VRTHold in state HELD
    :param why: a phrase for the log
    """
    if transitions.end_hold(context, growth, states.Hold.LEAVING):
        LOG.info(
            'Growth %(hold)s on %(host)s ends: %(why)s.',
            {'hold': growth.uuid, 'host': growth.host, 'why': why},
        )
        exclusive.give_back(context, ledger, [growth])


def restore(context, ledger, growth):
    """Hold a growth under a new uuid when somebody has changed it.

    :returns: whether it is held
    """
    if ledger.allocations(context, growth.uuid) == growth.allocations:
        return True

    def write_down():
        [heir] = holding.write_down_again(context, [growth])
        return heir

    return again.hold_again(
        *(context, ledger, growth, write_down),
        lambda heir: replace(context, ledger, growth, heir),
    )


def replace(context, ledger, growth, heir):
    """Let another hold of the same seat be the growth, or the filler.

    :param heir: VRTHold in state WRITING
    :returns: False when somebody else has ended it
    """
    is_done = transitions.end_hold(
        context, growth, states.Hold.LEAVING, heir=heir
    )
    if is_done:
        exclusive.give_back(context, ledger, [growth])
    return is_done
