# SPDX-License-Identifier: Apache-2.0
"""Is each rule of the protocol missed when it is gone?

``python -m tests.protocol.mutants`` takes one rule away at a time. Then it
explores a pair of operations for which the rule is there until something is
found, or runs the test that fails without it.
"""

import argparse
from collections.abc import Mapping
import contextlib
import dataclasses
import io
import logging
import sys
import time
import unittest

import fixtures
from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import manager
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement.placement_client import PlacementClient
from nova_groupext.scheduler.protocol import placeholders
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import swap
from tests.protocol import books
from tests.protocol import doors
from tests.protocol import explore
from tests.protocol import world

Choice = doors.Choice

# Of a processor, for as long as a mutant may live.
SECONDS = 60

_turned_back = VRTHold.turned_back
_send = swap._send
_post = PlacementClient._post
_locked = db.with_row_lock
_member = destinations._member
_look = adoption.check
_let_hints_follow = adoption.let_hints_follow


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


def _nobody(*_args):
    return []


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


def _take_5xx_for_refusal(ledger, context, body):
    try:
        return _post(ledger, context, body)
    except exception.PlacementUnavailable as exc:
        if exc.__cause__ is not None:
            raise
        return books.Refused(str(exc)).answer


def _send_and_believe(*args):
    _send(*args)
    return True


def _reserve_whatever(servers):
    changes = []
    for uuid, (member, hold) in servers.items():
        for model, row, status in (
            (models.Member, member, states.Member.REDEEMING),
            (models.Hold, hold, states.Hold.REDEEMING),
        ):
            own = (model.id == row.id,)
            values = {'status': status, 'server_uuid': uuid}
            changes.append((model, own, values, None))
    return changes


def _prepare_whatever(context, lease, olds, leaving=()):
    for holds, values in (
        (olds, {'status': states.Hold.EXCHANGING}),
        (leaving, {'leaves': True}),
    ):
        own = models.Hold.id.in_([hold.id for hold in holds])
        db.compare_and_set(context, models.Hold, own, **values)


def _write_without_lease(context, lease, work):
    return db.with_row_lock(context, models.Group, work, id=lease.group_id)


def _empty_without_filling(ledger, context, consumer, _hold):
    ledger.empty_consumer(context, consumer)


def _member_of_the_group(context, group, server_uuid):
    found = _member(context, group, server_uuid)
    return found if found and found.group_id == group.id else None


def _nothing(*_args, **_kwargs):
    return None


def _orphan_all_alike(context, group_id):
    nobody = dict.fromkeys(('group_id', 'member_id', 'resize_member_id'))
    own = models.Hold.group_id == group_id
    ended = {'status': states.Hold.RELEASED, **nobody}
    db.compare_and_set(context, models.Hold, own, **ended)


def _look_before_hints(context, ledger, group, draft, placed):
    _look(context, ledger, group, draft, placed)
    _let_hints_follow(context, draft)


def _all_that_ends(context):
    return VRTHold.list_by_status(context, states.Hold.RELEASING)


def _no_room(*_args):
    return [], []


def _what_is_used(used, _rows, gone):
    return placeholders.without(used, gone)


_HERE = 'nova_groupext'
_OBJECTS = f'{_HERE}.objects'
_SCHEDULER = f'{_HERE}.scheduler'
_SWAP = f'{_SCHEDULER}.protocol.swap'
_CLIENT = f'{_SCHEDULER}.placement.placement_client.PlacementClient'
_TESTS = 'tests.services'
_UNIT = 'tests.unit'


@dataclasses.dataclass(frozen=True)
class Mutant:
    """The product without one rule.

    :ivar replaced: {what is replaced: by what}
    :ivar pair: two operations, of which some run finds it
    :ivar fault: what goes wrong in such a run; runs with one are tried first
    :ivar turns: changes of turns before that
    :ivar replay: a run in which it was found, which is tried before all others
    :ivar test: the test that finds it, where no pair does
    """

    replaced: Mapping
    pair: tuple = ()
    fault: str = ''
    turns: str = ''
    replay: str = ''
    test: str = ''


MUTANTS = {
    'what is compensated takes the uuids of what was applied': Mutant(
        {f'{_OBJECTS}.hold.VRTHold.turned_back': _turn_back_anew},
        pair=('revise', 'take over'),
        fault='late',
    ),
    'what is applied late has nowhere to go': Mutant(
        {f'{_SWAP}._send': lambda *_args: True},
        pair=('revise', 'take over'),
        fault='late',
    ),
    'a compensation that is refused is not done': Mutant(
        {f'{_SWAP}._send': _send_and_believe},
        test=f'{_TESTS}.test_swaps.TestSwap.'
        'test_of_a_hold_whose_place_is_taken_the_member_fails_alone',
    ),
    'successors are watched': Mutant(
        {f'{_OBJECTS}.swaps.watching': dict},
        pair=('hold again', 'delete'),
        fault='late',
    ),
    'the lease is renewed before each part of a plan': Mutant(
        {f'{_OBJECTS}.lease.VRTLease.renew': _nothing},
        test=f'{_TESTS}.test_long_work.TestLongWork.'
        'test_who_holds_in_parts_is_alone_all_the_time',
    ),
    'the lease is renewed before a swap': Mutant(
        {f'{_OBJECTS}.lease.VRTLease.renew': _nothing},
        test=f'{_TESTS}.test_long_work.TestLongWork.'
        'test_who_exchanges_is_alone_all_the_time',
    ),
    'silence is no refusal': Mutant(
        {f'{_CLIENT}._post': _take_silence_for_refusal},
        pair=('hold', 'hold'),
        fault='late',
    ),
    'an error of Placement is no refusal': Mutant(
        {f'{_CLIENT}._post': _take_5xx_for_refusal},
        pair=('hold', 'hold'),
        fault='late',
    ),
    'redeem goes forward until it is known': Mutant(
        {f'{_SCHEDULER}.protocol.redeem.swap_one': _give_up},
        pair=('redeem', 'release'),
        fault='not-told',
    ),
    'the hold is read before the server': Mutant(
        {f'{_SCHEDULER}.protocol.redeem._try': _read_in_the_other_order},
        pair=('redeem', 'redeem again'),
        fault='loses-records',
        turns='0:1 8:0',
    ),
    'nothing is read before it is locked': Mutant(
        {f'{_HERE}.db.api.with_row_lock': _lock_after_reading},
        pair=('redeem', 'release'),
    ),
    'a redeem is judged': Mutant(
        {f'{_SCHEDULER}.current.policy_check.RedeemCheck.refused': _nobody},
        test=f'{_TESTS}.test_swaps.TestJudged.'
        'test_who_would_break_a_policy_is_not_redeemed',
    ),
    'what is held again is judged': Mutant(
        {f'{_SCHEDULER}.follow.follow.check_policies': _nothing},
        test=f'{_TESTS}.test_swaps.TestHoldAgain.'
        'test_where_a_policy_would_be_broken_it_is_not',
    ),
    'nothing is taken back from a server that may run': Mutant(
        {
            f'{_SCHEDULER}.follow.follow.MEMBER_STATUS_AFTER': dict.fromkeys(
                servers.ServerOutcome,
                follow.MEMBER_STATUS_AFTER[servers.ServerOutcome.UNSCHEDULED],
            ),
            f'{_SCHEDULER}.follow.follow._Step._is_overdue': (
                lambda _self: True
            ),
        },
        pair=('redeem', 'take over'),
    ),
    'rows follow servers': Mutant(
        {f'{_SCHEDULER}.protocol.record_location._rest': _nothing},
        pair=('move', 'delete'),
        replay='9:dies-before',
    ),
    'a resize ends in what it was reserved for': Mutant(
        {f'{_OBJECTS}.transitions.redeem_reservation': lambda *_args: True},
        pair=('resize', 'expire'),
    ),
    'what is held is verified': Mutant(
        {
            f'{_SCHEDULER}.protocol.hold_plan.overcommitment.'
            'overcommitted_holds': _nobody
        },
        test=f'{_TESTS}.test_verification.TestTooMuch.'
        'test_plan_beyond_capacity_is_not_held',
    ),
    'what is redeemed is verified': Mutant(
        {f'{_SCHEDULER}.redeem.reserve._verify': lambda *_args: True},
        test=f'{_TESTS}.test_verification.TestTooMuch.'
        'test_redeem_of_the_hold_beyond_capacity_is_refused',
    ),
    'what a late request may fill is watched': Mutant(
        {f'{_SCHEDULER}.reap.reaper.watch': _nothing},
        pair=('hold', 'delete'),
        fault='late',
    ),
    'a member is reserved as it was read': Mutant(
        {f'{_OBJECTS}.transitions._reserved': _reserve_whatever},
        pair=('redeem', 'release'),
    ),
    'a swap is prepared of what is held': Mutant(
        {f'{_OBJECTS}.swaps.prepare': _prepare_whatever},
        pair=('redeem', 'hold again'),
    ),
    'the lease is renewed with what is written': Mutant(
        {f'{_OBJECTS}.swaps.write_down': _write_without_lease},
        test=f'{_UNIT}.objects.test_swaps.TestCommit.'
        'test_who_has_lost_the_lease_commits_nothing',
    ),
    'a member that is redeemed is not released': Mutant(
        {
            f'{_OBJECTS}.states.MEMBER_RELEASABLE': (
                *states.MEMBER_RELEASABLE,
                states.Member.REDEEMING,
            )
        },
        pair=('redeem', 'release'),
    ),
    'a server that owns nothing is filled once more': Mutant(
        {f'{_SCHEDULER}.protocol.redeem._fill': _give_up},
        pair=('redeem', 'redeem again'),
        fault='loses-records',
        turns='0:1 8:0',
    ),
    'what is missing is held again': Mutant(
        {f'{_SCHEDULER}.follow.follow._restore': _nothing},
        pair=('hold again', 'hold again'),
    ),
    'what is lost is filled and emptied': Mutant(
        {f'{_CLIENT}.sweep': _empty_without_filling},
        pair=('revise', 'take over'),
        replay='25:1 46:0:loses-records',
    ),
    'a missing hold is filled before it is exchanged': Mutant(
        {f'{_CLIENT}.refill': _nothing},
        test=f'{_TESTS}.test_swaps.TestHoldAgain.'
        'test_missing_record_does_not_cost_the_member_its_capacity',
    ),
    'a missing placeholder is filled once more': Mutant(
        {f'{_SCHEDULER}.protocol.maintain._refill': _nothing},
        pair=('alone, revise', 'alone, take over'),
        replay='41:1 65:0:loses-records',
    ),
    'a swap is verified': Mutant(
        {f'{_SWAP}._verify': _nothing},
        test=f'{_TESTS}.test_verification.TestTooMuch.'
        'test_swap_beyond_capacity_costs_one_member_its_hold',
    ),
    'moves under strict policies have no alternates': Mutant(
        {
            f'{_SCHEDULER}.manager.HolisticSchedulerManager.'
            '_get_alternate_hosts': (
                manager.manager.SchedulerManager._get_alternate_hosts
            )
        },
        test='tests.later.test_moves.TestAlternates',
    ),
    'an old look at a server is not written': Mutant(
        {f'{_OBJECTS}.move.VRTMove.are_of': lambda *_args: True},
        test=f'{_UNIT}.objects.test_relocation.TestFollow.'
        'test_look_from_before_a_move_is_not_written',
    ),
    'a server that is given up is swept': Mutant(
        {
            f'{_SCHEDULER}.protocol.release_holds._given_up': lambda *_args: (
                set()
            )
        },
        pair=('redeem two', 'hold again'),
        fault='dies-late',
    ),
    'what a forgotten group has redeemed is watched': Mutant(
        {f'{_OBJECTS}.hold.VRTHold.orphan': _orphan_all_alike},
        pair=('delete', 'redeem'),
        replay='0:1 8:0 33:1 34:dies-after',
    ),
    'who is adopted is looked at once more': Mutant(
        {f'{_SCHEDULER}.adopt.adoption.check': _nothing},
        pair=('adopt', 'move adopted'),
    ),
    'who is being adopted is judged': Mutant(
        {f'{_SCHEDULER}.move.destinations._member': _member_of_the_group},
        pair=('adopt', 'move adopted'),
        replay='35:1',
    ),
    'the hints of who is adopted are stored': Mutant(
        {f'{_SCHEDULER}.adopt.adoption.let_hints_follow': _nothing},
        pair=('adopt', 'take over'),
    ),
    'the hints of who is adopted are stored before the look': Mutant(
        {
            f'{_SCHEDULER}.adopt.adoption.let_hints_follow': _nothing,
            f'{_SCHEDULER}.adopt.adoption.check': _look_before_hints,
        },
        pair=('adopt', 'move adopted'),
    ),
    'what is being taken back is left to that': Mutant(
        {f'{_SCHEDULER}.follow.follow._Step._is_being_taken_back': _nothing},
        pair=('alone, take back', 'alone, take back'),
        fault='dies-before',
    ),
    'nobody is alone where strangers are': Mutant(
        {f'{_SCHEDULER}.protocol.exclusive_hosts._refuse_strangers': _nothing},
        pair=('alone, hold', 'alone, stranger'),
    ),
    'placeholders take the place of what leaves': Mutant(
        {f'{_OBJECTS}.hold.VRTHold.list_to_empty': _all_that_ends},
        pair=('alone, give up', 'alone, keep'),
    ),
    'placeholders leave to each row what it says': Mutant(
        {f'{_SCHEDULER}.protocol.placeholders.taken': _what_is_used},
        test=f'{_TESTS}.test_giving_back.TestGivingBack.'
        'test_nobody_fills_the_place_of_a_member_whose_hold_is_missing',
    ),
    'placeholders make room for who is held again': Mutant(
        {f'{_SCHEDULER}.protocol.placeholders.make_room': _no_room},
        test=f'{_TESTS}.test_giving_back.TestGivingBack.'
        'test_fillers_make_room_for_a_member_where_a_stranger_has_come',
    ),
}


def hunt(rule, seconds=SECONDS):
    """Take a rule away; return what is found then, or None."""
    mutant = MUTANTS[rule]
    with contextlib.ExitStack() as stack:
        for where, by in mutant.replaced.items():
            stack.enter_context(fixtures.MonkeyPatch(where, by))
        if mutant.test:
            return _fails(mutant.test)
        here = stack.enter_context(world.World())
        try:
            _try_fault(here, mutant)
            explore.explore(here, mutant.pair, seconds)
        except explore.Failure as exc:
            return exc
    return None


def _try_fault(here, mutant):
    """Let one thing go wrong, at each step where it may.

    :raises: explore.Failure
    """
    pair = explore.Pair(here, mutant.pair)
    pair.prepare()
    turns, known = (
        tuple(map(Choice.of, told.split()))
        for told in (mutant.turns, mutant.replay)
    )
    # Without the rule a run may be another one.
    with contextlib.suppress(doors.Impossible):
        if known:
            pair.run(known)
    if mutant.fault:
        for first in (turns, (Choice(0, actor=1), *turns)):
            with contextlib.suppress(doors.Impossible):
                _try_each_step(pair, first, mutant.fault)


def _try_each_step(pair, first, fault):
    for number, step in reversed([*enumerate(pair.run(first))]):
        if fault in doors.FAULTS.get(step.kind, ()):
            pair.run((*first, Choice(number, fault=fault)))


def _fails(test):
    """Return a test if it fails, else None."""
    suite = unittest.defaultTestLoader.loadTestsFromName(test)
    result = unittest.TextTestRunner(io.StringIO()).run(suite)
    return None if result.wasSuccessful() else test


def _hunted(rule):
    began = time.process_time()
    found = hunt(rule)
    took = time.process_time() - began
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
