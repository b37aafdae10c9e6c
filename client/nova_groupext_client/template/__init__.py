# SPDX-License-Identifier: Apache-2.0
"""The template language: a Heat template with groups (HOT+).

The package needs only Python and PyYAML, no OpenStack client.

    text --> reading --> nodes --> resources, parameters --> definition
                                    |                          |
                      properties <--+--> functions        heat_export
"""

from nova_groupext_client.template.definition_body import DefinitionBody
from nova_groupext_client.template.definition_body import load_definition
from nova_groupext_client.template.definition_body import load_values
from nova_groupext_client.template.errors import TemplateError
from nova_groupext_client.template.hot import Template
from nova_groupext_client.template.hot import load

__all__ = [
    'DefinitionBody',
    'Template',
    'TemplateError',
    'load',
    'load_definition',
    'load_values',
]
