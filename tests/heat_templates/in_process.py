# SPDX-License-Identifier: Apache-2.0
"""Stacks of Heat that exist only in this process, in Heat's environment.

Nothing of them is stored or created; no cloud is asked.
"""

import collections

from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)

from heat.common import context  # noqa: E402
from heat.common import messaging  # noqa: E402
from heat.common import template_format  # noqa: E402
from heat.engine import environment  # noqa: E402
from heat.engine import resources  # noqa: E402
from heat.engine import stack  # noqa: E402
from heat.engine import template  # noqa: E402
from heat.engine.clients.os import glance  # noqa: E402
from oslo_config import cfg  # noqa: E402

from nova_groupext_client import heat  # noqa: E402
from nova_groupext_client.heat import definition  # noqa: E402
from nova_groupext_client.heat import requirements  # noqa: E402

GROUP = 'OS::Nova::VRTGroup'

# Values of parameters without a default, by type
_VALUES = {
    'string': 'x',
    'number': 1,
    'comma_delimited_list': 'x',
    'json': {},
    'boolean': True,
}


def set_up():
    """Load Heat's resource types and ours."""
    cfg.CONF(['--config-file', '/dev/null'], project='heat', prog='heat')
    cfg.CONF.set_override('plugin_dirs', [f'{heat.__path__[0]}/plugin'])
    cfg.CONF.set_override('connection', 'sqlite://', 'database')
    messaging.setup('fake://')
    resources.initialise()
    # Images are known by their names.
    glance.GlanceClientPlugin.find_image_by_name_or_id = lambda _self, name: (
        name
    )


def parse(text):
    """Return a template as a dictionary."""
    return template_format.parse(text)


def make_stack(parsed, files=None):
    """Return a stack of a template.

    Parameters without a default get some value, and files that are missing
    are empty.

    :param parsed: dictionary
    :param files: {name: text}
    """
    values = {
        name: _VALUES[each.get('type', 'string').lower()]
        for name, each in (parsed.get('parameters') or {}).items()
        if 'default' not in each
    }
    return stack.Stack(
        context.RequestContext(project_id='p', user_id='u', is_admin=False),
        'a-stack',
        template.Template(
            parsed,
            env=environment.Environment({'parameters': values}),
            files=collections.defaultdict(str, files or {}),
        ),
    )


def describe(the_stack):
    """Return the definition of the only group of a stack, as the API has it.

    :raises: StackValidationFailed
    """
    [name] = [
        name
        for name in the_stack.defn.enabled_rsrc_names()
        if the_stack.defn.resource_definition(name).resource_type == GROUP
    ]
    requirements.find(the_stack, name)
    group = the_stack[name]
    return definition.describe(group, group.properties, is_final=False)
