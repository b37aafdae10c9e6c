# SPDX-License-Identifier: Apache-2.0
"""Demo of nova_groupext on a try-out cloud: Nova and Placement in one process.

The demo sends real API requests and checks every claim that it prints. The
exit status is 0 if all claims are true, else 1.
"""

import argparse
import contextlib
import pathlib
import sys
import tempfile

from demo_steps import context
from demo_steps import group_steps
from demo_steps import screen
from demo_steps import single_servers

from nova_groupext.cloud import cloud
from nova_groupext.cloud import with_groups


def main():
    """Run the demo and return its exit status."""
    options = _parser().parse_args()
    show = screen.Screen()
    with contextlib.ExitStack() as stack:
        state = options.state_dir
        if state is None:
            state = stack.enter_context(tempfile.TemporaryDirectory())
        try:
            _run(show, state, stack)
        except screen.FalseClaim as exc:
            show.report_false_claim(exc)
            show.end('Run again with --state-dir DIR to read DIR/cloud.log.')
            return 1
    show.end('Everything is as told.')
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog='tools/demo', description=__doc__)
    parser.add_argument(
        '--state-dir',
        type=_new_directory,
        metavar='DIR',
        help="keep the cloud's databases and its log in this new directory",
    )
    return parser


def _new_directory(name):
    path = pathlib.Path(name)
    try:
        path.mkdir(parents=True)
    except OSError as exc:
        raise argparse.ArgumentTypeError(
            f'{path} cannot be made: {exc.strerror}'
        ) from exc
    return path


def _run(show, state, stack):
    show.step(1, 'A cloud with little room left')
    show.say(
        'A real Nova and Placement start in this process: 12 computes of 16 '
        "VCPU with Nova's fake driver, in 4 racks and 2 zones."
    )
    running = stack.enter_context(
        cloud.Cloud(state, parts=with_groups.HOLISTIC)
    )
    demo = context.Demo(running, show)
    single_servers.fill(demo)
    show.step(2, 'Today: one server at a time')
    single_servers.one_by_one(demo)
    group = group_steps.Group(demo)
    show.step(3, 'Describe, plan and hold: one POST')
    group.describe()
    show.step(4, 'What is held is held: a competitor comes')
    group.meet_competitor()
    show.step(5, 'Create the servers, with two hints each')
    group.redeem()
    show.step(6, 'Give up two members')
    group.release()
    show.step(7, 'Delete the group')
    group.delete()


if __name__ == '__main__':
    sys.exit(main())
