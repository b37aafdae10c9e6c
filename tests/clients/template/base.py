# SPDX-License-Identifier: Apache-2.0
"""Templates, written the way people write them."""

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
    def hot(self, text, **sections):
        """A template of one server, ``a``, and what is given besides.

        :param text: more properties of the server
        :param sections: texts to stand below other keys of the template
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
        """Load a template that is made as by :meth:`hot`."""
        return template.load(
            self.hot(text, **sections), values, 'shop', folder
        )

    def value(self, expression, values=None, folder=None, **sections):
        """What an expression is worth, as a server's user data."""
        loaded = self.load(
            f'user_data: {expression}', values, folder, **sections
        )
        return loaded.servers['a'].get('user_data', '')

    def refused(self, text, pattern, place=None):
        """The error of a template, which has to match and be at a place.

        :param text: of the template
        :param place: a text whose first occurrence is where the error is
        """
        error = self.assertRaises(template.TemplateError, _use, text)
        self.assertRegex(str(error), pattern)
        if place is not None:
            head = text[: text.index(place)]
            column = len(head) - head.rfind('\n')
            self.assertEqual(
                (head.count('\n') + 1, column),
                (error.line, error.column),
                error,
            )
        return error


def _use(text):
    """Make everything of a template that can be made."""
    loaded = template.load(text, name='shop')
    loaded.with_hints('group')
    return loaded.definition, loaded.servers
