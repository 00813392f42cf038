"""The columns of a result: how the servers compute them on shares, and how an owner reads them.

A column is (mantissa, exponent), the number mantissa / 2^exponent:

    1 if there is a result, else 0
    every metric that was asked for, or 0 if there is no result
    where the order of lists is checked, for every owner 1 if its list was sorted, else 0
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ppaurora.algorithms.curve import Curve
from ppaurora.errors import ProtocolError, UndefinedResultError, UnsortedListError
from ppaurora.metrics import METRICS
from ppaurora.metrics.base import Denominator, SecretFraction
from ppaurora.sharing.shares import RingShare, Words, concat, stack
from ppaurora.suites.base import Records, Suite

_MOST_BITS = 200


def areas(
    suite: Suite, records: Records, metrics: Sequence[str], ascents: RingShare | None = None
) -> RingShare:
    """Rows of mantissas and exponents.

    There is no result if the merged list has one class only, whichever class it is, or if the owners'
    lists, of which `ascents` counts the places out of order, were not all sorted.
    """
    chosen = [METRICS[name] for name in metrics]
    samples = len(records)
    with suite.step("curve"):
        labels, ends = records.labels.copy(), None
        if any(metric.uses_ends for metric in chosen):
            with suite.step("ties"):
                ends = suite.ends_of_groups(records.keys)
        del records  # nobody needs the keys any more
        curve = Curve(suite, labels, ends, [quantity for metric in chosen for quantity in metric.needs])
        fractions: dict[str, SecretFraction] = {}
        numerators: dict[str, RingShare] = {}
        for metric in chosen:
            if not metric.at_ends:
                fractions[metric.name] = metric.fraction(curve)
                numerators[metric.name] = fractions[metric.name].numerator()
        if any(metric.at_ends for metric in chosen):
            curve.keep_ends()
        # What is begun is finished in the same order; all products are in one round.
        begun = suite.begin_mul(curve.positives, samples - curve.positives)
        fractions |= {metric.name: metric.fraction(curve) for metric in chosen if metric.at_ends}
        class_product = begun()
        for name in [name for name in fractions if name not in numerators]:
            numerators[name] = fractions[name].numerator()
        denominators = {
            Denominator.POSITIVES: curve.positives,
            Denominator.CLASS_PRODUCT: class_product,
        }
        del curve
        if ascents is None:
            defined = suite.is_positive(class_product)
        else:
            positive = suite.is_positive(concat([class_product, ascents.sum(), ascents]))
            defined = suite.mul(positive[:1], 1 - positive[1:2])
            in_order = 1 - positive[2:]
    with suite.step("division"):
        quotients = suite.rounded_quotients(
            concat([numerators[name] for name in metrics]),
            concat([denominators[fractions[name].denominator] for name in metrics]),
            [fractions[name].shift for name in metrics],
            bound=max(samples * samples // 4, samples),
            leading_zeros=2 * samples.bit_length(),
        )
        first_column = stack([suite.constant(1), suite.constant(0)])
        released = suite.mul(defined, concat([first_column, quotients]))
        if ascents is not None:
            released = concat([released, stack([in_order, in_order * 0])])
        return released


def column_count(metrics: Sequence[str], checked: int) -> int:
    """How many columns there are, with the order of so many lists checked."""
    return 1 + len(metrics) + checked


def read_columns(words: Words, metrics: Sequence[str], checked: Sequence[str]) -> dict[str, float]:
    """The metrics by name, from the columns put together. `checked` names the owners, where order is checked.

    Servers must not be told how this ends: one that spoiled its part could learn from it.
    """
    mantissas, exponents = words.tolist()
    values_end = 1 + len(metrics)
    in_order = mantissas[values_end:]
    are_flags = all(flag <= 1 for flag in in_order) and not any(exponents[values_end:])
    defined = mantissas[0]
    highest = [1, *(METRICS[name].highest for name in metrics)]
    released = zip(mantissas[:values_end], exponents[:values_end], highest, strict=True)
    fits = all(e <= _MOST_BITS and m <= int(defined * most) << e for m, e, most in released)
    if defined > 1 or not are_flags or not fits:
        raise ProtocolError("the parts of the result do not belong together")
    for name, flag in zip(checked, in_order, strict=True):
        if not flag:
            raise UnsortedListError(f"{name}: the list that was sent is not sorted; there is no result")
    if not defined:
        raise UndefinedResultError("undefined: one class only")
    values = [math.ldexp(m, -e) for m, e in zip(mantissas, exponents, strict=True)]
    return dict(zip(metrics, values[1:values_end], strict=True))
