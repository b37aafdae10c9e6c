# SPDX-License-Identifier: Apache-2.0
"""``openstack vrt capabilities``"""

from cliff import columns as cliff_columns
from osc_lib.cli import format_columns

from nova_groupext_client.osc import columns
from nova_groupext_client.osc import command


class _Policies(cliff_columns.FormattableColumn):
    """One policy on a line, with the names of its parameters."""

    def human_readable(self):
        return '\n'.join(
            f'{name}: {", ".join(parameters)}'
            for name, parameters in self._value.items()
        )


class ShowCapabilities(command.ShowOne):
    """Show which policies, scopes and limits this cloud has for groups"""

    def take_action(self, parsed_args):
        found = self.vrt.get_capabilities()
        return zip(
            ('version', found.version),
            ('scopes', format_columns.ListColumn(found.scopes)),
            ('policies', _Policies(found.policies)),
            ('limits', columns.Tree(found.limits)),
            strict=True,
        )
