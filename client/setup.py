# SPDX-License-Identifier: Apache-2.0

import setuptools

setuptools.setup(
    setup_requires=['pbr>=6.1.1'],
    pbr=True,
    # The package lies beside this directory: control planes install the same.
    package_dir={'nova_groupext_client': '../nova_groupext_client'},
)
