# SPDX-License-Identifier: Apache-2.0
"""Mutation tests of the protocol's rules.

``python -m tests.protocol.mutants`` removes one rule at a time. Then it
explores a pair of operations that need the rule until a run fails, or runs a
test that should fail.
"""

import argparse
from collections.abc import Mapping
from concurrent import futures
import contextlib
import dataclasses
import io
import logging
import sys
import types
import unittest
from unittest import mock

from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.db import retries
from nova_groupext.db.aliases import Change
from nova_groupext.objects import move_transitions
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import manager
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement.http import Connection
from nova_groupext.scheduler.protocol import placeholders
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import swap
from tests.protocol import explore
from tests.protocol import fake_placement
from tests.protocol import interleaving
from tests.protocol import scenario
from tests.protocol import simulated_cloud

Choice = interleaving.Choice

# CPU seconds in which a mutant has to be detected.
SECONDS = 60

_as_compensated = VRTHold.as_compensated
_send = swap._send
_post = Connection.post
_locked = db.with_row_lock
_find_member = destinations._find_member
_check = adoption.check
_sync_hints = adoption.sync_hints
_fill_server = redeem._fill_server
_transfer = redeem.transfer
_start_move = move_transitions.start_move


def _compensate_with_new_uuids(hold):
    failure = _as_compensated(hold)
    if failure is not None:
        failure.uuid = uuidutils.generate_uuid()
    return failure


def _treat_lost_answer_as_refusal(connection, context, body):
    try:
        return _post(connection, context, body)
    except exception.PlacementUnavailable as exc:
        return fake_placement.Conflict(str(exc)).response


def _empty_list(*_args):
    return []


def _report_lost(*args, **kwargs):
    return redeem.Outcome.LOST


def _read_server_first(context, placement_client, uuid, hold, body, fills):
    if placement_client.transfer(
        context, {uuid: hold}, {uuid: body}, reads_generation=True
    ):
        return redeem.Outcome.TRANSFERRED
    owns = placement_client.allocations(context, uuid)
    is_held = placement_client.allocations(context, hold.uuid)
    if owns and (not is_held or owns == hold.allocations):
        return redeem.Outcome.TRANSFERRED
    if is_held:
        return redeem.Outcome.REFUSED
    return _fill_server(context, placement_client, uuid, body)


def _take_silence_as_refusal(*args, **kwargs):
    outcomes = _transfer(*args, **kwargs)
    return {
        uuid: redeem.Outcome.REFUSED
        if outcome == redeem.Outcome.UNKNOWN
        else outcome
        for uuid, outcome in outcomes.items()
    }


def _fill_unconditionally(context, placement_client, uuid, body):
    if placement_client.fill_servers(context, {uuid: body}):
        return redeem.Outcome.TRANSFERRED
    return redeem.Outcome.LOST


def _read_successors_first(context, placement_client, swap_):
    filled = swap._read_allocations(
        context, placement_client, swap_.successors
    )
    remaining = swap._read_allocations(
        context, placement_client, swap_.old_holds
    )
    return remaining, filled


def _forget_unanswered_move(context, request, claim_resources):
    row = request.move.start(context, request.location)
    is_claimed = row is not None and claim_resources()
    if row is not None and not is_claimed:
        destinations._delete_move(context, row)
    return is_claimed


def _start_without_judging(context, row, _is_allowed):
    return _start_move(context, row, lambda: True)


def _lock_after_reading(context, model, work, values=None, **key):
    with engine.writer(context) as session:
        session.execute(sa.select(model)).all()
        inside = retries.in_locked_work.set(True)
        try:
            return _locked(context, model, work, values, **key)
        finally:
            retries.in_locked_work.reset(inside)


def _treat_5xx_as_refusal(connection, context, body):
    try:
        return _post(connection, context, body)
    except exception.PlacementUnavailable as exc:
        if exc.__cause__ is not None:
            raise
        return fake_placement.Conflict(str(exc)).response


def _ignore_refusal(*args):
    _send(*args)
    return True


def _reserve_unconditionally(servers):
    changes = []
    for uuid, (member, hold) in servers.items():
        for model, row, status in (
            (models.Member, member, states.Member.REDEEMING),
            (models.Hold, hold, states.Hold.REDEEMING),
        ):
            own = (model.id == row.id,)
            values = {'status': status, 'server_uuid': uuid}
            changes.append(Change(model, own, values))
    return changes


def _prepare_unconditionally(context, lease, old_holds, ending=()):
    for holds, values in (
        (old_holds, {'status': states.Hold.EXCHANGING}),
        (ending, {'ends_with_swap': True}),
    ):
        own = models.Hold.id.in_([hold.id for hold in holds])
        db.compare_and_set(context, models.Hold, own, **values)


def _write_without_lease(context, lease, work):
    return db.with_row_lock(context, models.Group, work, id=lease.group_id)


def _empty_without_filling(placement_client, context, consumer, _hold):
    placement_client.empty(context, consumer)


def _member_of_the_group(context, group, server_uuid):
    failure = _find_member(context, group, server_uuid)
    return failure if failure and failure.group_id == group.id else None


def _do_nothing(*_args, **_kwargs):
    return None


def _is_offloaded(server):
    return server.is_offloaded


def _detach_all_alike(context, group_id):
    no_references = dict.fromkeys(
        ('group_id', 'member_id', 'resize_member_id')
    )
    own = models.Hold.group_id == group_id
    ended = {'status': states.Hold.RELEASED, **no_references}
    db.compare_and_set(context, models.Hold, own, **ended)


def _check_before_hints(context, placement_client, group, draft, placed):
    _check(context, placement_client, group, draft, placed)
    _sync_hints(context, draft)


def _list_all_releasing(context):
    return VRTHold.list_by_status(context, states.Hold.RELEASING)


def _give_up_always(create, context):
    create.remove(context)
    return True


def _no_free_capacity(*_args):
    return [], []


def _ignore_rows(used, _rows, gone):
    return placeholders.exclude(used, gone)


_PRODUCT = 'nova_groupext'
_OBJECTS = f'{_PRODUCT}.objects'
_SCHEDULER = f'{_PRODUCT}.scheduler'
_SERVER_CHANGES = f'{_SCHEDULER}.follow.server_changes'
_SWAP = f'{_SCHEDULER}.protocol.swap'
_CLIENT = f'{_SCHEDULER}.placement.client.PlacementClient'
_CONNECTION = f'{_SCHEDULER}.placement.http.Connection'
_TESTS = 'tests.services'
_UNIT = 'tests.unit'


@dataclasses.dataclass(frozen=True)
class Mutant:
    """The product without one rule.

    :ivar patches: {dotted name: its replacement}
    :ivar pair: two operations of which some run fails
    :ivar fault: fault of such a run, in either operation; runs with this fault
        come first
    :ivar switches: preemptions before the fault
    :ivar replay: choices of a run that has failed, which comes before all; its
        numbers of steps change with the transactions of the operations
    :ivar test: id of a test that fails, if no pair does
    """

    patches: Mapping
    pair: tuple = ()
    fault: str = ''
    switches: str = ''
    replay: str = ''
    test: str = ''


MUTANTS = {
    'a create is not given up once it is placed': Mutant(
        {f'{_OBJECTS}.create.VRTCreate.give_up': _give_up_always},
        ('grow', 'give up'),
    ),
    'members of creates that have ended are freed': Mutant(
        {f'{_SCHEDULER}.reap.reaper.end_creates': lambda _context: None},
        ('rename', 'give up'),
    ),
    'a compensation has the uuids of the successors': Mutant(
        {
            f'{_OBJECTS}.hold.VRTHold.as_compensated': (
                _compensate_with_new_uuids
            )
        },
        pair=('revise', 'take over'),
        fault='late',
    ),
    'a compensation is sent': Mutant(
        {f'{_SWAP}._send': lambda *_args: True},
        pair=('revise', 'take over'),
        fault='late',
    ),
    'a refused compensation is not committed': Mutant(
        {f'{_SWAP}._send': _ignore_refusal},
        test=f'{_TESTS}.test_swaps.TestSwap.'
        'test_compensation_fails_only_the_member_of_a_lost_hold',
    ),
    'successors are watched': Mutant(
        {
            f'{_OBJECTS}.swap_results.watched_holds': types.SimpleNamespace(
                watch_values=dict
            )
        },
        pair=('rehold', 'delete'),
        fault='late',
    ),
    'the lease is renewed before each part of a plan': Mutant(
        {f'{_OBJECTS}.lease.VRTLease.renew': _do_nothing},
        test=f'{_TESTS}.test_long_work.TestLongWork.'
        'test_lease_is_kept_while_holding_in_chunks',
    ),
    'the lease is renewed before a swap': Mutant(
        {f'{_OBJECTS}.lease.VRTLease.renew': _do_nothing},
        test=f'{_TESTS}.test_long_work.TestLongWork.'
        'test_lease_is_kept_during_a_swap',
    ),
    'a lost answer is no refusal': Mutant(
        {f'{_CONNECTION}.post': _treat_lost_answer_as_refusal},
        pair=('hold', 'hold'),
        fault='late',
    ),
    'an error of Placement is no refusal': Mutant(
        {f'{_CONNECTION}.post': _treat_5xx_as_refusal},
        pair=('hold', 'hold'),
        fault='late',
    ),
    'a redeem is repeated until its result is known': Mutant(
        {f'{_SCHEDULER}.protocol.redeem.transfer_one': _report_lost},
        pair=('redeem', 'release'),
        fault='lost-answer',
    ),
    'the hold is read before the server': Mutant(
        {f'{_SCHEDULER}.protocol.redeem._transfer_once': _read_server_first},
        test=f'{_UNIT}.scheduler.protocol.test_redeem.TestRedeem.'
        'test_swap_that_lands_between_the_reads_is_seen',
    ),
    'a hold is emptied only after a refusal': Mutant(
        {f'{_SCHEDULER}.protocol.redeem.transfer': _take_silence_as_refusal},
        test=f'{_UNIT}.scheduler.protocol.test_redeem.TestRedeem.'
        'test_hold_of_an_ended_server_stays_while_placement_is_silent',
    ),
    'a server that may be elsewhere is not filled': Mutant(
        {f'{_SCHEDULER}.protocol.redeem._fill_server': _fill_unconditionally},
        test=f'{_UNIT}.scheduler.protocol.test_redeem.TestRedeem.'
        'test_unknown_outcome_changes_no_row',
    ),
    'old holds are read before successors': Mutant(
        {f'{_SWAP}._read_sides': _read_successors_first},
        test=f'{_UNIT}.scheduler.protocol.test_swap.TestSwap.'
        'test_request_that_lands_between_the_reads_is_seen',
    ),
    'a move without an answer is kept': Mutant(
        {f'{_SCHEDULER}.move.destinations.claim': _forget_unanswered_move},
        test=f'{_UNIT}.scheduler.move.test_destinations.TestMove.'
        'test_a_move_whose_claim_is_not_answered_is_kept',
    ),
    'a move is judged when it begins': Mutant(
        {f'{_OBJECTS}.move_transitions.start_move': _start_without_judging},
        test=f'{_UNIT}.scheduler.move.test_destinations.TestMove.'
        'test_move_that_breaks_a_new_policy_does_not_begin',
    ),
    'a revision checks where members are': Mutant(
        {f'{_SCHEDULER}.decide.commit_revision._Commit._check': (_do_nothing)},
        test=f'{_UNIT}.scheduler.decide.test_commit_revision.TestWithoutSwap.'
        'test_member_that_moved_meanwhile_is_decided_again',
    ),
    'hints of a deleted draft may be stored again': Mutant(
        {
            f'{_SCHEDULER}.release.release_group._sync_hints': (
                lambda *_args: True
            )
        },
        test=f'{_UNIT}.scheduler.release.test_release_group.TestDrafts.'
        'test_draft_stays_while_hints_may_be_stored_again',
    ),
    'a row is locked before any read': Mutant(
        {f'{_PRODUCT}.db.api.with_row_lock': _lock_after_reading},
        pair=('redeem', 'release'),
    ),
    'a redeem checks the policies': Mutant(
        {f'{_SCHEDULER}.current.policy_check.refused_members': (_empty_list)},
        test=f'{_TESTS}.test_swaps.TestPolicyCheck.'
        'test_redeem_that_breaks_a_policy_is_refused',
    ),
    'a rehold checks the policies': Mutant(
        {f'{_SCHEDULER}.follow.lost_holds.check_policies': _do_nothing},
        test=f'{_TESTS}.test_swaps.TestRehold.'
        'test_rehold_that_breaks_a_policy_fails_the_member',
    ),
    'capacity of a server that may run is not reclaimed': Mutant(
        {
            f'{_SERVER_CHANGES}.MEMBER_STATUS_AFTER': dict.fromkeys(
                servers.ServerOutcome,
                server_changes.MEMBER_STATUS_AFTER[
                    servers.ServerOutcome.UNSCHEDULED
                ],
            ),
            f'{_SERVER_CHANGES}._MemberUpdate._is_overdue': (
                lambda _self: True
            ),
        },
        pair=('redeem', 'take over'),
    ),
    'rows follow servers': Mutant(
        {f'{_SCHEDULER}.protocol.record_location._record_host': _do_nothing},
        pair=('move', 'delete'),
        replay='9:dies-before',
    ),
    'a resize redeems its reservation': Mutant(
        {f'{_OBJECTS}.redeems.redeem_reservation': lambda *_args: True},
        pair=('resize', 'expire'),
    ),
    'new holds are verified': Mutant(
        {
            f'{_SCHEDULER}.protocol.hold_plan.overcommitment.'
            'overcommitted_holds': _empty_list
        },
        test=f'{_TESTS}.test_verification.TestOvercommittedHost.'
        'test_plan_beyond_capacity_is_not_held',
    ),
    'a redeem is verified': Mutant(
        {f'{_SCHEDULER}.redeem.reserve._verify': lambda *_args: True},
        test=f'{_TESTS}.test_verification.TestOvercommittedHost.'
        'test_redeem_of_the_hold_beyond_capacity_is_refused',
    ),
    'consumers of late requests are watched': Mutant(
        {f'{_SCHEDULER}.protocol.release_holds.check_watched': _do_nothing},
        pair=('hold', 'delete'),
        fault='late',
    ),
    'a redeem reserves only a held member': Mutant(
        {f'{_OBJECTS}.redeems._reserve_changes': _reserve_unconditionally},
        pair=('redeem', 'release'),
    ),
    'a swap prepares only held holds': Mutant(
        {f'{_OBJECTS}.swaps.prepare': _prepare_unconditionally},
        pair=('redeem', 'rehold'),
    ),
    'the lease is renewed with each write': Mutant(
        {f'{_OBJECTS}.swaps.with_lease': _write_without_lease},
        test=f'{_UNIT}.objects.test_swaps.TestCommit.'
        'test_commit_without_the_lease_is_refused',
    ),
    'a REDEEMING member is not released': Mutant(
        {
            f'{_OBJECTS}.states.MEMBER_RELEASABLE': (
                *states.MEMBER_RELEASABLE,
                states.Member.REDEEMING,
            )
        },
        pair=('redeem', 'release'),
    ),
    'a server without allocations is filled again': Mutant(
        {f'{_SCHEDULER}.protocol.redeem._fill_server': _report_lost},
        pair=('redeem', 'redeem again'),
        fault='loses-records',
        switches='0:1 8:0',
    ),
    'a missing hold gets a successor': Mutant(
        {f'{_SCHEDULER}.follow.hold_changes._restore': _do_nothing},
        pair=('rehold', 'rehold'),
    ),
    'a lost record is filled and emptied': Mutant(
        {f'{_CLIENT}.sweep': _empty_without_filling},
        pair=('revise', 'take over'),
        replay='27:1 47:0:loses-records',
    ),
    'a missing hold is refilled before its swap': Mutant(
        {f'{_CLIENT}.refill': _do_nothing},
        test=f'{_TESTS}.test_swaps.TestRehold.'
        'test_missing_record_does_not_cost_the_member_its_capacity',
    ),
    'a missing placeholder is refilled': Mutant(
        {f'{_SCHEDULER}.protocol.maintain._refill': _do_nothing},
        pair=('exclusive revise', 'exclusive take over'),
        replay='43:1 66:0:loses-records',
    ),
    'a swap is verified': Mutant(
        {f'{_SWAP}._verify': _do_nothing},
        test=f'{_TESTS}.test_verification.TestOvercommittedHost.'
        'test_swap_beyond_capacity_releases_one_hold',
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
    'an outdated location of a server is not stored': Mutant(
        {f'{_OBJECTS}.move.VRTMove.are_current': lambda *_args: True},
        test=f'{_UNIT}.objects.test_move_transitions.TestFollow.'
        'test_location_read_before_a_move_is_not_written',
    ),
    'an abandoned server is swept': Mutant(
        {
            f'{_SCHEDULER}.protocol.release_holds._find_unused': (
                lambda *_args: (set(), set())
            )
        },
        pair=('redeem two', 'rehold'),
        fault='dies-late',
    ),
    'a shelved server is emptied': Mutant(
        {f'{_SCHEDULER}.protocol.release_holds.empty_shelved': _do_nothing},
        pair=('shelve', 'resize'),
        fault='dies-late',
    ),
    'a shelved server is read again before it is emptied': Mutant(
        {f'{_SCHEDULER}.protocol.release_holds._is_shelved': _is_offloaded},
        test=f'{_UNIT}.scheduler.protocol.test_release_holds.'
        'TestCheckWatched.'
        'test_allocation_of_an_unshelve_that_has_just_begun_stays',
    ),
    'redeemed holds of a purged group are watched': Mutant(
        {f'{_OBJECTS}.watched_holds.detach_tombstones': _detach_all_alike},
        pair=('delete', 'redeem'),
        switches='0:1 8:0',
        fault='dies-after',
    ),
    'adopted servers are checked again': Mutant(
        {f'{_SCHEDULER}.adopt.adoption.check': _do_nothing},
        pair=('adopt', 'move adopted'),
    ),
    'moves of a server to be adopted are checked': Mutant(
        {f'{_SCHEDULER}.move.destinations._find_member': _member_of_the_group},
        pair=('adopt', 'move adopted'),
        replay='35:1',
    ),
    'hints of adopted servers are stored': Mutant(
        {f'{_SCHEDULER}.adopt.adoption.sync_hints': _do_nothing},
        pair=('adopt', 'take over'),
    ),
    'hints of adopted servers are stored before the check': Mutant(
        {
            f'{_SCHEDULER}.adopt.adoption.sync_hints': _do_nothing,
            f'{_SCHEDULER}.adopt.adoption.check': _check_before_hints,
        },
        pair=('adopt', 'move adopted'),
    ),
    'a hold being reclaimed is skipped': Mutant(
        {
            f'{_SERVER_CHANGES}._MemberUpdate._is_being_taken_back': (
                _do_nothing
            )
        },
        pair=('exclusive reclaim', 'exclusive reclaim'),
        fault='dies-before',
    ),
    'exclusive hosts have no foreign consumers': Mutant(
        {
            f'{_SCHEDULER}.protocol.exclusive_hosts._refuse_foreign': (
                _do_nothing
            )
        },
        pair=('exclusive hold', 'exclusive claim'),
    ),
    'placeholders replace ending holds': Mutant(
        {f'{_OBJECTS}.hold.VRTHold.list_to_release': _list_all_releasing},
        pair=('exclusive request release', 'exclusive maintain'),
    ),
    'placeholders respect the amounts of rows': Mutant(
        {f'{_SCHEDULER}.protocol.placeholders.claimed_amounts': _ignore_rows},
        test=f'{_TESTS}.test_exclusive_releases.TestReleases.'
        'test_capacity_of_a_missing_hold_is_not_filled',
    ),
    'placeholders yield to a successor': Mutant(
        {
            f'{_SCHEDULER}.protocol.placeholders.changes_for_hold': (
                _no_free_capacity
            )
        },
        test=f'{_TESTS}.test_exclusive_releases.TestReleases.'
        'test_placeholders_yield_to_a_successor_hold',
    ),
}


def find_failure(rule, seconds=SECONDS):
    """Remove a rule; return the failure that detects it, or None.

    :raises: RuntimeError if the rule's test fails with the rule, too
    """
    mutant = MUTANTS[rule]
    if mutant.test and _fails(mutant.test):
        raise RuntimeError(f'{mutant.test} fails without the mutant')
    with contextlib.ExitStack() as stack:
        for name, replacement in mutant.patches.items():
            # mock refuses names that do not exist any more.
            stack.enter_context(mock.patch(name, replacement))
        if mutant.test:
            return _fails(mutant.test)
        CONF([], project='nova', default_config_files=[])
        cloud = stack.enter_context(simulated_cloud.SimulatedCloud())
        try:
            _try_fault(cloud, mutant)
            explore.explore(cloud, mutant.pair, seconds)
        except scenario.Failure as exc:
            return exc
    return None


def _try_fault(cloud, mutant):
    """Try the mutant's fault at each step at which it is possible.

    :raises: scenario.Failure
    """
    pair = scenario.Scenario(cloud, mutant.pair)
    pair.prepare()
    switches, replayed = (
        tuple(map(Choice.of, text.split()))
        for text in (mutant.switches, mutant.replay)
    )
    # Without the rule a run may be another one.
    with contextlib.suppress(interleaving.ActorHasEnded):
        if replayed:
            pair.run(replayed)
    if mutant.fault:
        for first in (switches, (Choice(0, actor=1), *switches)):
            with contextlib.suppress(interleaving.ActorHasEnded):
                _try_each_step(pair, first, mutant.fault)


def _try_each_step(pair, first, fault):
    for number, step in reversed([*enumerate(pair.run(first).steps)]):
        if fault in interleaving.FAULTS.get(step.kind, ()):
            pair.run((*first, Choice(number, fault=fault)))
        # The run does not tell which kind of step another actor has next. If
        # that kind does not have the fault, the actor only comes earlier.
        for actor in step.others:
            pair.run((*first, Choice(number, actor, fault)))


def _fails(test):
    """Return a test if it fails, else None."""
    suite = unittest.defaultTestLoader.loadTestsFromName(test)
    result = unittest.TextTestRunner(io.StringIO()).run(suite)
    return None if result.wasSuccessful() else test


# Errors of a mutant that does not fit the product any more.
_OWN_ERRORS = (TypeError, NameError, AttributeError)


def _report(rule):
    started = explore.processor_time()
    failure = find_failure(rule)
    if isinstance(getattr(failure, '__cause__', None), _OWN_ERRORS):
        raise RuntimeError(f'The mutant is wrong itself: {failure}')
    seconds_used = explore.processor_time() - started
    return (
        f'{rule}: {failure or "nothing is found"}, {seconds_used:.0f} s',
        bool(failure),
    )


def _report_alone(rule):
    """Report from a process that is used once: tests leave options behind."""
    with futures.ProcessPoolExecutor(1) as process:
        return process.submit(_report, rule).result()


def main(argv=None):
    parser = argparse.ArgumentParser(prog='mutants', description=__doc__)
    parser.add_argument('--rule', choices=MUTANTS)
    args = parser.parse_args(argv)
    logging.disable()
    rules = [args.rule] if args.rule else MUTANTS
    return not explore.in_processes(_report_alone, rules)


if __name__ == '__main__':
    sys.exit(main())
