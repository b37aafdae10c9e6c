# SPDX-License-Identifier: Apache-2.0
"""Tempest's own tests of compute, with stock Nova and then with ours.

``tox -e tempest-upstream`` starts a real cloud without us, runs the tests,
switches over by the install page, runs them again, and compares. Nothing that
passes with stock Nova may fail with ours; what differs is run once more on
both, as tests on a busy machine fail by chance.
"""

import argparse
import collections
from importlib import metadata
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

from tests.real_cloud import cloud as clouds
from tests.real_cloud import layout as layouts
from tests.real_cloud import processes
from tests.tempest import real_settings

BIN = pathlib.Path(sys.executable).parent
COMPUTE = r'tempest\.api\.compute'
# Tempest itself leaves out tests of what tempest.conf says is missing, such as
# volumes. These need more of neutron than the stub has.
NETWORK = r'security_group|floating_ip'
# Tests wait for servers most of the time.
CONCURRENCY = 4
PASSED, FAILED, SKIPPED = 'success', 'fail', 'skip'
STOCK, OURS = 'stock', 'ours'


def main(argv=None):
    options = _parser().parse_args(argv)
    processes.end_by_sigterm()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or pathlib.Path(temporary)).absolute()
        layout = layouts.Layout.load(folder / 'cloud', own_servers=True)
        try:
            found = {
                side: _run(folder / side, layout, side, options.regex)
                for side in (STOCK, OURS)
            }
            _repeat_differences(folder, layout, found)
        finally:
            clouds.RealCloud(layout).remove_servers()
    print(table(found))  # noqa: T201
    if options.rst:
        options.rst.write_text(document(found))
    worse = _worse(found)
    for name in worse:
        print(f'passes with stock Nova only: {name}')  # noqa: T201
    return 1 if worse or not _passed(found[STOCK]) else 0


def _parser():
    parser = argparse.ArgumentParser(prog='upstream', description=__doc__)
    parser.add_argument(
        'regex', nargs='?', default='', help='tests to run (default: all)'
    )
    parser.add_argument('--rst', type=pathlib.Path, metavar='FILE')
    parser.add_argument(
        '--keep',
        type=pathlib.Path,
        metavar='DIR',
        help='keep the files and logs of the cloud and of Tempest in DIR',
    )
    return parser


def _run(workspace, layout, side, regex):
    """Start a side of the cloud, and run tests; return {test: its end}."""
    workspace.mkdir(parents=True, exist_ok=True)
    cloud = clouds.RealCloud(layout, with_groups=side == OURS)
    try:
        cloud.start(lambda text: print(f'{side}: {text}', flush=True))  # noqa: T201
        config = real_settings.write(workspace, layout)
        names = f'{COMPUTE}.*({regex})'
        subprocess.run(
            [
                *(BIN / 'tempest', 'run', '--config-file', config),
                *('--concurrency', str(CONCURRENCY), '--regex', names),
                *('--exclude-regex', NETWORK),
            ],
            cwd=workspace,
        )
    finally:
        cloud.stop()
    return _results(workspace)


def _results(workspace):
    """Return {test: its end} of the last run, without what Tempest skipped."""
    listed = subprocess.run(
        [BIN / 'stestr', 'last', '--subunit'],
        cwd=workspace,
        capture_output=True,
    )
    # Its exit status is 1 if a test has failed.
    csv = subprocess.run(
        [BIN / 'subunit2csv', '--no-passthrough'],
        input=listed.stdout,
        capture_output=True,
    )
    found = {}
    for line in csv.stdout.decode().splitlines()[1:]:
        name, end, *_times = line.rsplit(',', 3)
        found[re.sub(r'\[.*', '', name).strip('"')] = end
    return {name: end for name, end in found.items() if end != SKIPPED}


def _repeat_differences(folder, layout, found):
    """Run tests that differ once more; the better end counts."""
    if not (names := _differing(found)):
        return
    regex = '|'.join(re.escape(name) for name in sorted(names))
    for side, ends in found.items():
        again = _run(folder / f'{side}-again', layout, side, regex)
        ends.update(
            (name, end) for name, end in again.items() if end == PASSED
        )


def _differing(found):
    return _passed(found[STOCK]) ^ _passed(found[OURS])


def _worse(found):
    return sorted(_passed(found[STOCK]) - _passed(found[OURS]))


def _passed(ends):
    return {name for name, end in ends.items() if end == PASSED}


def _counts(found):
    """Return {module: Counter of (end with stock, end with ours)}."""
    counts = collections.defaultdict(collections.Counter)
    for name in {*found[STOCK], *found[OURS]}:
        module = name.removeprefix('tempest.api.compute.').rpartition('.')[0]
        ends = tuple(found[side].get(name, 'absent') for side in found)
        counts[module.rpartition('.')[0]][ends] += 1
    return counts


def table(found):
    """Return how many tests of each module passed or failed on both sides."""
    lines = []
    for module, counts in sorted(_counts(found).items()):
        ends = ', '.join(
            f'{stock}/{ours} {count}'
            for (stock, ours), count in sorted(counts.items())
        )
        lines.append(f'{module:55} {ends}')
    return '\n'.join(lines)


def document(found):
    """Return a list-table of the folders, and the tests that fail on both."""
    of_folders = collections.defaultdict(collections.Counter)
    for module, counts in _counts(found).items():
        folder = module.rpartition('.')[0]
        of_folders[folder or 'others'].update(counts)
    rows = [('tests', 'passed by both', 'failed by both', 'only with ours')]
    for folder, counts in sorted(of_folders.items()):
        failed = sum(n for ends, n in counts.items() if PASSED not in ends)
        only = sum(n for (stock, _), n in counts.items() if stock != PASSED)
        both = counts[PASSED, PASSED]
        rows.append((f'``{folder}``', both, failed, only - failed))
    failed = sorted({*found[STOCK]} - _passed(found[STOCK]))
    return '\n'.join(
        [
            '.. Written by python -m tests.tempest.upstream --rst. Do not '
            'edit.\n',
            f'Tempest {metadata.version("tempest")}, Nova '
            f'{metadata.version("nova")}: {len(found[OURS])} tests ran.\n',
            '.. list-table::',
            '   :header-rows: 1\n',
            *itertools.chain(*map(_row, rows)),
            '\nThese fail with stock Nova, too, on this cloud:\n',
            *(f'* ``{each.removeprefix("tempest.api.")}``' for each in failed),
            '',
        ]
    )


def _row(cells):
    first, *others = cells
    return [f'   * - {first}', *(f'     - {each}' for each in others)]


if __name__ == '__main__':
    sys.exit(main())
