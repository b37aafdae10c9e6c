# SPDX-License-Identifier: Apache-2.0
"""oslo.policy rules of the API."""

from nova import policy

from nova_groupext.policies import vrt_groups


def list_rules():
    """Return every rule; the entry point of oslo.policy's generators."""
    return vrt_groups.list_rules()


def register():
    """Put our rules beside Nova's, on the enforcer that Nova's API asks.

    Nova-api loads its application once for each version of the API.
    """
    policy.init()
    enforcer = policy._ENFORCER
    enforcer.register_defaults(
        rule
        for rule in list_rules()
        if rule.name not in enforcer.registered_rules
    )
