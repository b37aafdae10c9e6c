# SPDX-License-Identifier: Apache-2.0
"""Check whether Nova's configuration uses our filter and our weigher."""

from nova import exception as nova_exc
from nova.conf import scheduler
from nova.scheduler import filters
from nova.scheduler import weights

from nova_groupext.scheduler.filters.holistic_filter import HolisticFilter
from nova_groupext.scheduler.weights.holistic import HolisticWeigher

SECTION = 'filter_scheduler'
OPTIONS = ('available_filters', 'enabled_filters', 'weight_classes')

NOT_LOADED = (
    '[filter_scheduler]{option} names a class that cannot be loaded, so that '
    'schedulers do not start and planners cannot plan: {error}. Correct it.'
)
NOT_AVAILABLE = (
    'No [filter_scheduler]available_filters is '
    'nova_groupext.scheduler.filters.holistic_filter.HolisticFilter, so that '
    'HolisticFilter cannot be enabled. Add a line with it.'
)
NOT_ENABLED = (
    '[filter_scheduler]enabled_filters lacks HolisticFilter, so that moves of '
    'servers can violate the strict policies of their groups. Add it.'
)
NOT_WEIGHED = (
    '[filter_scheduler]weight_classes lacks '
    'nova_groupext.scheduler.weights.holistic.HolisticWeigher, so that moves '
    'of servers ignore the soft policies of their groups. Add it.'
)


def register_opts(conf):
    """Register the options that find_problems() reads."""
    conf.register_opts(
        [
            each
            for each in scheduler.filter_scheduler_opts
            if each.name in OPTIONS
        ],
        # By name: one OptGroup in two configurations would share its values.
        SECTION,
    )


def find_problems(options):
    """Return a sentence for each setting that lacks our classes.

    :param options: of section ``[filter_scheduler]``
    """
    enabled = HolisticFilter.__name__ in options.enabled_filters
    return [
        *([] if enabled else [NOT_ENABLED]),
        *_find_missing(
            *(filters.HostFilterHandler(), HolisticFilter, NOT_AVAILABLE),
            *('available_filters', options.available_filters),
        ),
        *_find_missing(
            *(weights.HostWeightHandler(), HolisticWeigher, NOT_WEIGHED),
            *('weight_classes', options.weight_classes),
        ),
    ]


def _find_missing(handler, wanted, text, option, names):
    """Return what is wrong with an option that should name our class."""
    try:
        classes = handler.get_matching_classes(names)
    # ValueError: a class without its module.
    except (ImportError, ValueError, nova_exc.ClassNotFound) as exc:
        return [NOT_LOADED.format(option=option, error=exc)]
    return [] if wanted in classes else [text]
