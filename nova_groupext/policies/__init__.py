# SPDX-License-Identifier: Apache-2.0
"""Registration of the API's policy rules with oslo.policy."""

from nova import policy

from nova_groupext.policies import rules


def list_rules():
    """Return all rules: the entry point of oslo.policy's generators."""
    return rules.RULES


def register():
    """Register our rules with the policy enforcer of Nova's API.

    It may run repeatedly: nova-api loads one application per API version.
    """
    policy.init()
    enforcer = policy._ENFORCER
    enforcer.register_defaults(
        rule
        for rule in list_rules()
        if rule.name not in enforcer.registered_rules
    )
