# SPDX-License-Identifier: Apache-2.0
"""What does it cost to describe a group, beside Heat's own parsing?

``python -m tests.heat_templates.describing`` runs in Heat's environment, see
tests/heat/process.py. A stack has nested stacks of one server each. Heat
parses each of them anyway; describing the group reads them all before.
"""

import argparse
import statistics
import time

from tests.heat_templates import in_process

NESTED = """\
heat_template_version: 2021-04-16
parameters:
  group: {type: string}
  path: {type: string}
resources:
  server:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      image: cirros
      networks: [{allocate_network: none}]
      scheduler_hints:
        vrt_group: {get_param: group}
        vrt_member: {get_param: path}
"""


def make_stack(number):
    """Return a stack with a number of nested stacks."""
    resources = {
        f'nested-{each}': {
            'type': 'nested.yaml',
            'properties': {
                'group': {'get_resource': 'group'},
                'path': f'server-{each}',
            },
        }
        for each in range(number)
    }
    resources['group'] = {'type': in_process.GROUP}
    parsed = {'heat_template_version': '2021-04-16', 'resources': resources}
    return in_process.make_stack(parsed, {'nested.yaml': NESTED})


def parse(stack):
    """Parse the nested stacks and their resources, as Heat does."""
    for name in stack.defn.enabled_rsrc_names():
        if name != 'group':
            resource = stack[name]
            nested = resource._parse_nested_stack(
                name, resource.child_template(), resource.child_params()
            )
            # Heat makes a resource of each definition.
            list(nested.values())


def processor_seconds(work, number):
    stack = make_stack(number)
    began = time.process_time()
    work(stack)
    return time.process_time() - began


def main():
    parser = argparse.ArgumentParser(prog='describing', description=__doc__)
    parser.add_argument('--nested', type=int, default=100)
    parser.add_argument('--rounds', type=int, default=5)
    args = parser.parse_args()
    in_process.set_up()
    rounds = [
        (
            processor_seconds(parse, args.nested),
            processor_seconds(in_process.describe, args.nested),
        )
        for _each in range(args.rounds + 1)
    ][1:]
    parsing, describing = map(statistics.median, zip(*rounds, strict=True))
    print(  # noqa: T201
        f'{args.nested} nested stacks: parsing {parsing * 1000:.0f} ms, '
        f'describing {describing * 1000:.0f} ms, '
        f'{describing / parsing:.2f} times'
    )


if __name__ == '__main__':
    main()
