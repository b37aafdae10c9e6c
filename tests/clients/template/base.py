# SPDX-License-Identifier: Apache-2.0
"""Templates as users write them, and helpers to change them."""

import textwrap

from oslotest import base

from nova_groupext_client import template

SHOP = """\
heat_template_version: 2021-04-16
description: A shop

parameters:
  image:
    type: string
    default: cirros
  webs:
    type: number
    default: 3
    constraints:
      - range: {min: 1, max: 9}

resources:
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: webs}
      resource_def:
        type: OS::Nova::Server
        properties:
          name: web-%index%
          flavor: m1.small
          image: {get_param: image}
          networks: [{network: shop}]
          user_data:
            str_replace:
              template: |
                #!/bin/sh
                serve --number %index% --shop NAME
              params: {NAME: {get_param: "OS::stack_name"}}
  cache:
    type: OS::Nova::Server
    properties: &small
      flavor: m1.tiny
      image: {get_param: image}
      networks: [{allocate_network: none}]
  db:
    type: OS::Nova::Server
    properties:
      <<: *small
      flavor: m1.large
      availability_zone: az1

groups:
  front:
    members:
      web: {min_count: 2}
      cache:
    policies:
      - {type: anti-affinity, scope: host}
    groups:
      store:
        members: [db]

policies:
  - {type: affinity, scope: zone, strict: false}

relationships:
  - name: queries
    between: [web, db]
    bandwidth: 10
    policies:
      - {type: network-proximity, scope: rack}
"""
SERVER = """
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      image: cirros
"""


class TemplateTestCase(base.BaseTestCase):
    def template_text(self, text, **sections):
        """Return a template of one server, ``a``, and other sections.

        :param text: more properties of the server
        :param sections: {key of the template: text below it}
        """
        more = {'parameters': '{}', **sections}
        return (
            'heat_template_version: 2021-04-16\n'
            + ''.join(
                f'{key}:\n{textwrap.indent(textwrap.dedent(value), "  ")}\n'
                for key, value in more.items()
            )
            + f'resources:\n  a:{SERVER}'
            + textwrap.indent(textwrap.dedent(text), ' ' * 6)
            + '\n'
        )

    def load(self, text='', values=None, folder=None, **sections):
        """Load a template of :meth:`hot`."""
        return template.load(
            self.template_text(text, **sections), values, 'shop', folder
        )

    def evaluate(self, expression, values=None, folder=None, **sections):
        """Return the value of an expression, as a server's user data."""
        loaded = self.load(
            f'user_data: {expression}', values, folder, **sections
        )
        return loaded.servers['a'].get('user_data', '')

    def assert_refused(self, text, pattern, position_text=None):
        """Return the error of a template, and check its text and position.

        :param text: text of the template
        :param position_text: text that first occurs where the error is
        """
        error = self.assertRaises(template.TemplateError, _use, text)
        self.assertRegex(str(error), pattern)
        if position_text is not None:
            head = text[: text.index(position_text)]
            column = len(head) - head.rfind('\n')
            self.assertEqual(
                (head.count('\n') + 1, column),
                (error.line, error.column),
                error,
            )
        return error


def _use(text):
    """Load a template, and build its definition, servers and Heat output."""
    loaded = template.load(text, name='shop')
    loaded.with_hints('group')
    return loaded.definition, loaded.servers
