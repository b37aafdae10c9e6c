# SPDX-License-Identifier: Apache-2.0
"""Plugin interface that openstackclient requires."""

from osc_lib import utils

API_NAME = 'vrt'
API_VERSION_OPTION = 'os_vrt_api_version'
API_VERSIONS = ('1',)
DEFAULT_API_VERSION = '1'


def make_client(instance):
    """Return the SDK proxy of VRT groups.

    :param instance: openstackclient's ClientManager
    """
    from nova_groupext_client import sdk

    sdk.register(instance.sdk_connection)
    return instance.sdk_connection.vrt


def build_option_parser(parser):
    parser.add_argument(
        '--os-vrt-api-version',
        metavar='<vrt-api-version>',
        default=utils.env('OS_VRT_API_VERSION'),
        help=f'VRT group API version, default={DEFAULT_API_VERSION} '
        '(Env: OS_VRT_API_VERSION)',
    )
    return parser
