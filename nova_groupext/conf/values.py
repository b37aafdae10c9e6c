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


def find_invalid(conf, sections=None):
    """Return a sentence for each option with an invalid value.

    :param sections: [(section, options)]; all of ours by default
    """
    return [
        f'[{section}]{option.name} is invalid: {reason}'
        for section, options in sections or opts.list_opts()
        for option in options
        if (reason := _invalid_reason(conf, f'{section}', option))
    ]


def read(conf, section, name):
    """Return the value of an option, which may be in section DEFAULT."""
    return conf[name] if section == 'DEFAULT' else conf[section][name]


def _invalid_reason(conf, section, option):
    """Return what is wrong with the value of an option, or None."""
    try:
        read(conf, section, option.name)
    except cfg.Error as exc:
        if option.secret:
            return 'Its secret value does not have the form of the help.'
        # The text of oslo.config adds the location as a Python object.
        return f'{exc.__context__ or exc}'.rstrip('.') + '.'
