# SPDX-License-Identifier: Apache-2.0
"""Tables, migrations and database operations of nova_groupext."""
