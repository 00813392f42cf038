"""Heterogeneity between sites: a random-effects meta-analysis, and how people read it.

Site i has an effect t_i with variance v_i, on a scale on which it is nearly normal: the logit of AUROC, the
logarithm of observed to expected events, the calibration slope as it is. With k sites, weights w_i = 1/v_i,
S1 = sum of w_i, S2 = sum of w_i² and Q = sum of w_i·(t_i - fixed mean)²,

    tau² = max(0, (Q - (k - 1)) / (S1 - S2/S1))        I² = max(0, (Q - (k - 1)) / Q)

    mu = (sum of u_i·t_i) / (sum of u_i),  u_i = 1 / (v_i + tau²)

    SE² = (sum of u_i·(t_i - mu)²) / ((k - 1)·(sum of u_i))

The confidence interval of mu is mu ± t·SE, with Student's t of k - 1 degrees of freedom (Hartung, Knapp). SE
is not enlarged where sites happen to agree more than their variances let expect: this is what R's metafor
does for `rma(yi, vi, method = "DL", test = "knha")`, and not its `test = "adhoc"`. The prediction interval,
in which the effect of a new site is expected, is mu ± t·sqrt(tau² + SE²), with k - 2 degrees of freedom;
metafor's `predict` has k - 1 there.

R. DerSimonian, N. Laird: Meta-analysis in clinical trials, Controlled Clinical Trials 7, 1986. J. Hartung,
G. Knapp: A refined method for the meta-analysis of controlled clinical trials with binary outcome, Statistics
in Medicine 20, 2001. J. P. T. Higgins, S. G. Thompson, D. J. Spiegelhalter: A re-evaluation of random-effects
meta-analysis, Journal of the Royal Statistical Society A 172, 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ppaurora.errors import InputError
from ppaurora.statistics.estimates import Estimate, error_digits_beside
from ppaurora.statistics.intervals import Interval, checked_level, half_unit
from ppaurora.statistics.student import student_quantile

LEAST_SITES = 3
METHOD = "random effects, Hartung-Knapp"

_NO_WIDTH = "all sites have the same value, so that the standard error is 0; it is not certainty"


class Scale(Enum):
    """The scale on which effects are pooled."""

    LOGIT = "logit"
    LOG = "log"
    IDENTITY = "identity"

    def transformed(self, value: float) -> float:
        """Return a value on this scale."""
        if self is Scale.LOGIT:
            return math.log(value) - math.log1p(-value)
        return math.log(value) if self is Scale.LOG else value

    def back(self, effect: float) -> float:
        """Return the value that has this effect on the scale."""
        if self is Scale.LOGIT:
            small = math.exp(-abs(effect))
            return (1 if effect >= 0 else small) / (1 + small)
        return math.exp(effect) if self is Scale.LOG else effect

    def error_of(self, value: float, standard_error: float) -> float:
        """Return the standard error on this scale, by the delta method; that of a ratio is already on it."""
        return standard_error / (value * (1 - value)) if self is Scale.LOGIT else standard_error

    def name_of(self, title: str) -> str:
        """Return what is pooled, in words: "logit AUROC"."""
        return title if self is Scale.IDENTITY else f"{self.value} {title}"


@dataclass(frozen=True)
class Pooled:
    """The numbers of a meta-analysis, on the scale on which effects were pooled."""

    effect: float
    standard_error: float
    tau: float
    i2: float
    sites: int


def pool(effects: Sequence[float], variances: Sequence[float]) -> Pooled:
    """Pool effects in the clear, by DerSimonian-Laird and Hartung-Knapp.

    Examples
    --------
    >>> found = pool([0.9, 1.4, 1.1, 2.0], [0.02, 0.03, 0.01, 0.04])
    >>> round(found.effect, 6), round(found.standard_error, 6), round(found.tau**2, 6), round(found.i2, 6)
    (1.326651, 0.234925, 0.141571, 0.868536)
    """
    k = len(effects)
    if k < 2 or len(variances) != k or not all(0 < one < math.inf for one in variances):
        raise InputError("a meta-analysis has two sites or more, and a variance above 0 for each of them")
    weights = [1 / one for one in variances]
    s1, s2 = math.fsum(weights), math.fsum(one * one for one in weights)
    fixed = _mean(effects, weights)
    q = _squares(effects, weights, fixed)
    excess = max(0.0, q - (k - 1))
    tau2 = excess / (s1 - s2 / s1)
    weights = [1 / (one + tau2) for one in variances]
    mu = _mean(effects, weights)
    error = math.sqrt(_squares(effects, weights, mu) / ((k - 1) * math.fsum(weights)))
    return Pooled(mu, error, math.sqrt(tau2), excess / q if q else 0.0, k)


def _mean(effects: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(w * t for w, t in zip(weights, effects, strict=True)) / math.fsum(weights)


def _squares(effects: Sequence[float], weights: Sequence[float], centre: float) -> float:
    return math.fsum(w * (t - centre) ** 2 for w, t in zip(weights, effects, strict=True))


@dataclass(frozen=True)
class RandomEffects:
    """What is released of the differences between sites in one quantity. No site's value is in it.

    Attributes
    ----------
    quantity, title
        The name of the quantity, and its title as in a sentence.
    scale
        The scale on which sites were pooled: "logit", "log" or "identity".
    pooled
        The value of an average site, transformed back. Its standard error is on the scale of pooling.
    tau2, tau
        The variance between sites on that scale, and its root, the standard deviation, which is released.
    i2
        The fraction of the variation that is between sites and not within them.
    prediction_interval
        Where the value of a new site is expected, transformed back; None if it was withheld.
    sites
        How many sites count; None if it was withheld. Owners with too few samples do not.

    Examples
    --------
    >>> released = Pooled(1.327, 0.2349, 0.3763, 0.869, 4)
    >>> found = random_effects("auroc", "AUROC", Scale.LOGIT, released, 0.95, digits=3)
    >>> found.pooled.line("AUROC of an average site")
    'AUROC of an average site: 0.790, 95% CI: 0.640-0.889 (random effects, Hartung-Knapp)'
    >>> found.sentence()
    'Between-site variance of logit AUROC was 0.142 (I² 87%, 4 sites); the AUROC of a new site is expected \
between 0.358 and 0.963 (95% prediction interval).'
    """

    quantity: str
    title: str
    scale: str
    pooled: Estimate
    tau2: Estimate
    tau: Estimate
    i2: Estimate
    prediction_interval: Interval | None = None
    sites: int | None = None

    def sentence(self, place: str = "site") -> str:
        """Return the heterogeneity in words; `place` is what an owner is called in them."""
        if self.prediction_interval is None or self.i2.value is None:
            state = "withheld" if self.pooled.suppressed else "not computed"
            return f"Differences between {place}s in {self.title} are {state}: {_too_few(place)}."
        name = Scale(self.scale).name_of(self.title)
        level = self.pooled.shown_level().removesuffix(" CI")
        low, high = self.shown_prediction()
        return (
            f"Between-{place} variance of {name} was {self.tau2.shown_shortly()} "
            f"(I² {self.i2.value * 100:.0f}%, {self.sites} {place}s); the {self.title} of a new {place} is "
            f"expected between {low} and {high} ({level} prediction interval)."
        )

    def shown_prediction(self) -> tuple[str, str]:
        """Return the bounds of the prediction interval with the digits of the pooled value; empty if none."""
        span = Estimate(self.pooled.value, interval=self.prediction_interval, digits=self.pooled.digits)
        return span.shown_bounds() or ("", "")

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report; every field is present."""
        interval = self.prediction_interval
        return {
            "quantity": self.quantity,
            "title": self.title,
            "scale": self.scale,
            "pooled": self.pooled.to_dict(),
            "tau2": self.tau2.to_dict(),
            "tau": self.tau.to_dict(),
            "i2": self.i2.to_dict(),
            "prediction_interval": None if interval is None else list(interval),
            "sites": self.sites,
        }


def _too_few(place: str) -> str:
    return f"fewer than three {place}s have enough samples of both classes and a defined value"


def random_effects(
    quantity: str,
    title: str,
    scale: Scale,
    found: Pooled,
    level: float,
    digits: int | None = None,
    error_digits: int | None = None,
) -> RandomEffects:
    """Return pooled numbers as people read them.

    `digits` says that the effect and I² were rounded to so many decimals, and standard error and tau to
    `error_digits`, by default one more, of up to six. Intervals then contain those of all numbers that the
    rounded ones stand for. The variance tau² has `digits` decimals, which tau's give it up
    to a tau of 5.
    """
    if error_digits is None:
        error_digits = error_digits_beside(digits)
    slack, error_slack = half_unit(digits), half_unit(error_digits)
    if found.sites < LEAST_SITES:
        raise InputError(f"{found.sites} sites have no prediction interval: there must be {LEAST_SITES}")
    tail = (1 + checked_level(level)) / 2
    error = found.standard_error + error_slack
    reach = slack + student_quantile(tail, found.sites - 1) * error
    ahead = slack + student_quantile(tail, found.sites - 2) * math.hypot(found.tau + error_slack, error)
    pooled = Estimate(
        _rounded(scale.back(found.effect), digits),
        found.standard_error,
        interval=_around(scale, found.effect, reach),
        method=METHOD,
        confidence_level=level,
        digits=digits,
        note="" if found.standard_error else _NO_WIDTH,
    )
    return RandomEffects(
        quantity,
        title,
        scale.value,
        pooled,
        Estimate(_rounded(found.tau**2, digits), digits=digits),
        Estimate(found.tau, digits=error_digits),
        Estimate(found.i2, digits=digits),
        _around(scale, found.effect, ahead),
        found.sites,
    )


def withheld_effects(quantity: str, title: str, scale: Scale, *, suppressed: bool = True) -> RandomEffects:
    """Return what is read where fewer than three sites count, or the policy withholds everything.

    It is not suppressed where the policy has no floors: then there is nothing that anybody could withhold.
    """
    note = f"{'withheld' if suppressed else 'not computed'}: {_too_few('site')}"
    nothing = Estimate(None, suppressed=suppressed, note=note)
    return RandomEffects(quantity, title, scale.value, nothing, nothing, nothing, nothing)


def _around(scale: Scale, effect: float, reach: float) -> Interval:
    """Return the interval on the scale, transformed back; the exponential of a vast number is cut off."""
    most = math.log(1e300) if scale is Scale.LOG else math.inf
    return scale.back(max(effect - reach, -most)), scale.back(min(effect + reach, most))


def _rounded(value: float, digits: int | None) -> float:
    return value if digits is None else round(value, digits)
