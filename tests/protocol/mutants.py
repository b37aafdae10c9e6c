# SPDX-License-Identifier: Apache-2.0
"""Is each rule of the protocol missed by the exploration when it is gone?

``python -m tests.protocol.mutants`` takes one rule away at a time, and
explores a pair of operations for which it is there until something is found.
"""

import argparse
import contextlib
import logging
import sys
import time

import fixtures
from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.ledger import Ledger
from nova_groupext.scheduler.protocol import redeem
from tests.protocol import books
from tests.protocol import explore
from tests.protocol import world

# As long as a mutant may live.
SECONDS = 60

_turned_back = VRTHold.turned_back
_post = Ledger._post
_locked = db.locked


def _turn_back_anew(hold):
    found = _turned_back(hold)
    if found is not None:
        found.uuid = uuidutils.generate_uuid()
    return found


def _take_silence_for_refusal(ledger, context, body):
    try:
        return _post(ledger, context, body)
    except exception.PlacementUnavailable as exc:
        return books.Refused(str(exc)).answer


def _give_up(*args, **kwargs):
    return redeem.Outcome.LOST


def _read_in_the_other_order(context, ledger, uuid, hold, body, refills):
    if ledger.swap(context, {uuid: hold}, {uuid: body}, reads=True):
        return redeem.Outcome.SWAPPED
    if ledger.allocations(context, uuid):
        return redeem.Outcome.SWAPPED
    if ledger.allocations(context, hold.uuid):
        return None
    return redeem.Outcome.LOST


def _lock_after_reading(context, model, work, **key):
    with engine.writer(context) as session:
        session.execute(sa.select(model)).all()
        inside = db._is_inside.set(True)
        try:
            return _locked(context, model, work, **key)
        finally:
            db._is_inside.reset(inside)


_HERE = 'nova_groupext'

# {rule: (pair, {what is replaced: by what})}
MUTANTS = {
    'what is compensated takes the uuids of what was applied': (
        ('revise', 'take over'),
        {f'{_HERE}.objects.hold.VRTHold.turned_back': _turn_back_anew},
    ),
    'silence is no refusal': (
        ('hold', 'hold'),
        {f'{_HERE}.scheduler.ledger.Ledger._post': _take_silence_for_refusal},
    ),
    'redeem goes forward until it is known': (
        ('redeem', 'release'),
        {f'{_HERE}.scheduler.protocol.redeem.swap_one': _give_up},
    ),
    'the hold is read before the server': (
        ('redeem', 'redeem again'),
        {f'{_HERE}.scheduler.protocol.redeem._try': _read_in_the_other_order},
    ),
    'nothing is read before it is locked': (
        ('redeem', 'release'),
        {f'{_HERE}.db.api.locked': _lock_after_reading},
    ),
    'what a late request may fill is watched': (
        ('hold', 'delete'),
        {f'{_HERE}.scheduler.follow.reaper.watch': lambda *_args: None},
    ),
}


def hunt(rule, seconds=SECONDS):
    """Take a rule away; return what is found then, or None."""
    pair, replaced = MUTANTS[rule]
    with contextlib.ExitStack() as stack:
        for where, by in replaced.items():
            stack.enter_context(fixtures.MonkeyPatch(where, by))
        here = stack.enter_context(world.World())
        try:
            explore.explore(here, pair, seconds)
        except explore.Failure as exc:
            return exc
    return None


def _hunted(rule):
    began = time.monotonic()
    found = hunt(rule)
    took = time.monotonic() - began
    return f'{rule}: {found or "nothing is found"}, {took:.0f} s', bool(found)


def main(argv=None):
    parser = argparse.ArgumentParser(prog='mutants', description=__doc__)
    parser.add_argument('--rule', choices=MUTANTS)
    args = parser.parse_args(argv)
    CONF([], project='nova', default_config_files=[])
    logging.disable()
    rules = [args.rule] if args.rule else MUTANTS
    return not explore.in_processes(_hunted, rules)


if __name__ == '__main__':
    sys.exit(main())
