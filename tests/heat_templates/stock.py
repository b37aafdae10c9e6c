# SPDX-License-Identifier: Apache-2.0
"""Can the servers of templates that know nothing of groups be members?

``python -m tests.heat_templates.stock FOLDER`` runs in Heat's environment, see
tests/heat/process.py, for example with a clone of openstack/heat-templates. It
puts a group into each template with servers, and hints into the servers; then
it describes the group. It prints the templates that cannot be described, and
why.
"""

import collections
import pathlib
import sys

from tests.heat_templates import in_process

GROUP = 'the_group_of_all_servers'
SERVER = 'OS::Nova::Server'
# Groups of resources have the definition of their units in this property.
UNITS = {
    'OS::Heat::ResourceGroup': ('resource_def', '{}-%index%'),
    'OS::Heat::AutoScalingGroup': ('resource', '{}'),
}


def put_group(parsed):
    """Put a group into a template, and hints into its servers.

    :returns: the number of definitions of servers
    """
    resources = parsed.get('resources') or {}
    number = 0
    for name, each in resources.items():
        properties = each.get('properties') or {}
        if each.get('type') == SERVER:
            number += _put_hints(each, name)
        elif each.get('type') in UNITS:
            key, path = UNITS[each['type']]
            units = properties.get(key)
            if isinstance(units, dict) and units.get('type') == SERVER:
                number += _put_hints(units, path.format(name))
    resources[GROUP] = {'type': in_process.GROUP}
    return number


def _put_hints(server, path):
    server.setdefault('properties', {})['scheduler_hints'] = {
        'vrt_group': {'get_resource': GROUP},
        'vrt_member': path,
    }
    return 1


def failure(parsed, folder):
    """Return why the group of a template cannot be described, or None.

    :param folder: where the templates are that it names
    """
    files = {each.name: each.read_text() for each in folder.glob('*.yaml')}
    try:
        in_process.describe(in_process.make_stack(parsed, files))
    except Exception as exc:
        return f'{type(exc).__name__}: {exc}'
    return None


def main(folder):
    in_process.set_up()
    numbers = collections.Counter()
    for path in sorted(pathlib.Path(folder).rglob('*.yaml')):
        try:
            parsed = in_process.parse(path.read_text())
        except ValueError:
            continue
        if 'heat_template_version' not in parsed or not put_group(parsed):
            continue
        why = failure(parsed, path.parent)
        numbers[not why] += 1
        if why:
            print(f'{path.relative_to(folder)}: {why}')  # noqa: T201
    print(  # noqa: T201
        f'{numbers[True]} of {numbers.total()} templates with servers can '
        'have a group.'
    )


if __name__ == '__main__':
    main(sys.argv[1])
