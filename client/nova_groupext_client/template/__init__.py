# SPDX-License-Identifier: Apache-2.0
"""The template language: a Heat template with groups (HOT+).

Pure Python and PyYAML; it knows nothing of OpenStack's clients.

    text --> reading --> nodes --> resources, parameters --> definition
                                    |                          |
                      properties <--+--> functions           emitting
"""

from nova_groupext_client.template.errors import TemplateError
from nova_groupext_client.template.given import Given
from nova_groupext_client.template.given import load_definition
from nova_groupext_client.template.hot import Template
from nova_groupext_client.template.hot import load

__all__ = ['Given', 'Template', 'TemplateError', 'load', 'load_definition']
