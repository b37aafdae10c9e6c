# SPDX-License-Identifier: Apache-2.0
"""Check of all values of our options when a service starts.

oslo.config checks a value when it is first read, which may be days later.
"""

from oslo_config import cfg

from nova_groupext.conf import opts


def check(conf):
    """Refuse invalid values.

    :raises: cfg.ConfigFileValueError that names all of them
    """
    invalid = find_invalid(conf)
    if invalid:
        raise cfg.ConfigFileValueError(' '.join(invalid))


def find_invalid(conf):
    """Return a sentence for each option with an invalid value."""
    return [
        f'[{group.name}]{option.name} is invalid: {reason}'
        for group, options in opts.list_opts()
        for option in options
        if (reason := _invalid_reason(conf, group.name, option))
    ]


def _invalid_reason(conf, section, option):
    """Return what is wrong with the value of an option, or None."""
    try:
        conf[section][option.name]
    except cfg.Error as exc:
        if option.secret:
            return 'Its secret value does not have the form of the help.'
        # The text of oslo.config adds the location as a Python object.
        return f'{exc.__context__ or exc}'.rstrip('.') + '.'
