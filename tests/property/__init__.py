# SPDX-License-Identifier: Apache-2.0
"""Are the decisions right, whatever the problem?"""

from tests import unhurried

unhurried.stretch()
