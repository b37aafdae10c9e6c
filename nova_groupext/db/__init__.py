# SPDX-License-Identifier: Apache-2.0
"""Tables, migrations and the few operations on them."""
