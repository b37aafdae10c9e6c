# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack vrt capabilities show``."""

from cliff import columns as cliff_columns
from osc_lib.cli import format_columns

from nova_groupext_client.osc import columns
from nova_groupext_client.osc import command


class _Policies(cliff_columns.FormattableColumn):
    """Policies with the names of their parameters, one per line."""

    def human_readable(self):
        return '\n'.join(
            f'{name}: {", ".join(parameters)}'
            for name, parameters in self._value.items()
        )


class _Quota(cliff_columns.FormattableColumn):
    """Resources with used and held amounts and limit, one per line."""

    def human_readable(self):
        return '\n'.join(
            f'{name}: {each["used"]} used, {each["held"]} held, '
            + ('no limit' if each['limit'] < 0 else f'of {each["limit"]}')
            for name, each in self._value.items()
        )


class ShowCapabilities(command.ShowOne):
    """Show which policies, scopes, limits and quota there are for groups"""

    def take_action(self, parsed_args):
        capabilities = self.vrt.get_capabilities()
        return zip(
            ('version', capabilities.version),
            ('features', format_columns.ListColumn(capabilities.features)),
            ('scopes', format_columns.ListColumn(capabilities.scopes)),
            ('policies', _Policies(capabilities.policies)),
            ('limits', columns.Tree(capabilities.limits)),
            ('quota', _Quota(capabilities.quota)),
            strict=True,
        )
