# SPDX-License-Identifier: Apache-2.0
"""Custom constraints of Heat, for parameters of templates."""

from heat.engine import constraints

from nova_groupext_client.heat import client_plugin


class Scope(constraints.BaseCustomConstraint):
    """``vrt.scope``: the cloud has such a level of its topology."""

    expected_exceptions = (client_plugin.UnknownName,)
    resource_client_name = client_plugin.NAME
    resource_getter_name = 'check_scope'


class PolicyType(constraints.BaseCustomConstraint):
    """``vrt.policy_type``: the cloud has such a type of policies."""

    expected_exceptions = (client_plugin.UnknownName,)
    resource_client_name = client_plugin.NAME
    resource_getter_name = 'check_policy_type'
