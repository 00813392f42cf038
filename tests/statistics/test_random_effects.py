"""The random-effects meta-analysis in the clear, against R's metafor and its formulas in fractions."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest

from ppaurora.errors import InputError
from ppaurora.statistics.random_effects import (
    METHOD,
    Pooled,
    Scale,
    pool,
    random_effects,
    withheld_effects,
)

STUDIES = 200
HOW_TO_INSTALL = "on Debian: apt-get install --no-install-recommends r-cran-metafor"

# With Student's t of k - 1 degrees of freedom, metafor's own; and of k - 2, by the formula.
SCRIPT = """
ok <- suppressWarnings(suppressMessages(requireNamespace("metafor", quietly = TRUE)))
if (!ok) { cat("missing\\n"); quit() }
for (line in readLines(file("stdin"))) {
  x <- as.numeric(strsplit(line, " ")[[1]])
  k <- length(x) / 2
  r <- metafor::rma(x[1:k], x[(k + 1):(2 * k)], method = "DL", test = "knha")
  reach <- qt(0.975, k - 2) * sqrt(r$tau2 + r$se^2)
  wide <- metafor::predict.rma(r)
  cat(sprintf("%.17g", c(r$b, r$se, r$tau2, r$I2 / 100, r$ci.lb, r$ci.ub, r$b - reach, r$b + reach,
                         wide$pi.lb, wide$pi.ub)), "\\n")
}
"""


def studies() -> list[tuple[list[float], list[float]]]:
    """Few sites and many, alike and unlike, with one that dominates now and then."""
    random = np.random.default_rng(24)
    found = []
    for number in range(STUDIES):
        k = int(random.integers(3, 13)) if number % 10 else int(random.integers(30, 100))
        variances = random.uniform(0.001, 0.3, k) ** random.choice([0.5, 1, 2])
        if number % 7 == 0:
            variances[0] /= 1000
        spread = random.choice([0.0, 0.05, 0.3, 1.0])
        effects = random.normal(1, spread, k) + random.normal(size=k) * np.sqrt(variances)
        found.append((effects.tolist(), variances.tolist()))
    return found


def of_metafor(cases: list[tuple[list[float], list[float]]]) -> list[list[float]]:
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip(f"compares with metafor, and R is not installed; {HOW_TO_INSTALL}")
    lines = [" ".join(f"{x:.17g}" for x in (*effects, *variances)) for effects, variances in cases]
    told = subprocess.run(
        [rscript, "--vanilla", "-e", SCRIPT],
        input="\n".join(lines) + "\n",
        text=True,
        capture_output=True,
        check=True,
        env=os.environ | {"LC_ALL": "C"},
    ).stdout.splitlines()
    if told == ["missing"]:
        pytest.skip(f"compares with metafor, which R does not have; {HOW_TO_INSTALL}")
    return [[float(word) for word in line.split()] for line in told]


def test_200_random_studies_are_those_of_metafor() -> None:
    cases = studies()
    told = of_metafor(cases)
    assert len(told) == STUDIES
    without_variance = 0
    for (effects, variances), figures in zip(cases, told, strict=True):
        found = pool(effects, variances)
        read = random_effects("slope", "slope", Scale.IDENTITY, found, 0.95)
        assert read.pooled.interval is not None
        assert read.prediction_interval is not None
        ours = [found.effect, found.standard_error, found.tau**2, found.i2]
        ours += [*read.pooled.interval, *read.prediction_interval]
        assert ours == pytest.approx(figures[:8], rel=1e-9, abs=1e-9)
        assert figures[6] <= figures[8] <= figures[9] <= figures[7], "k - 2 degrees of freedom are wider"
        without_variance += found.tau == 0
    assert 10 < without_variance < STUDIES - 10


def exactly(effects: list[Fraction], variances: list[Fraction]) -> tuple[Fraction, ...]:
    """mu, SE², tau² and I² by the definition, with Q as a sum over pairs of sites."""
    k, pairs = len(effects), [(i, j) for i in range(len(effects)) for j in range(i)]
    w = [1 / v for v in variances]
    q = sum((w[i] * w[j] * (effects[i] - effects[j]) ** 2 for i, j in pairs), Fraction(0)) / sum(w)
    c = 2 * sum((w[i] * w[j] for i, j in pairs), Fraction(0)) / sum(w)
    tau2 = max(Fraction(0), (q - (k - 1)) / c)
    u = [1 / (v + tau2) for v in variances]
    mu = sum((x * t for x, t in zip(u, effects, strict=True)), Fraction(0)) / sum(u)
    squares = sum((x * (t - mu) ** 2 for x, t in zip(u, effects, strict=True)), Fraction(0))
    return mu, squares / ((k - 1) * sum(u)), tau2, max(Fraction(0), (q - (k - 1)) / q) if q else Fraction(0)


def test_the_definition_over_pairs_of_sites() -> None:
    for effects, variances in studies()[:60]:
        if len(effects) > 12:
            continue
        t, v = ([Fraction(round(1000 * x), 1000) for x in some] for some in (effects, variances))
        v = [max(one, Fraction(1, 1000)) for one in v]
        found = pool([*map(float, t)], [*map(float, v)])
        ours = [found.effect, found.standard_error**2, found.tau**2, found.i2]
        assert ours == pytest.approx([*map(float, exactly(t, v))], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("scale", "value"), [(Scale.LOGIT, 0.83), (Scale.LOG, 2.5), (Scale.IDENTITY, -0.4)])
def test_scales_lead_back(scale: Scale, value: float) -> None:
    assert scale.back(scale.transformed(value)) == pytest.approx(value, rel=1e-14)
    step = 1e-6
    slope = (scale.transformed(value + step) - scale.transformed(value - step)) / (2 * step)
    # The standard error of a ratio is that of its logarithm already.
    expected = 0.1 if scale is Scale.LOG else 0.1 * slope
    assert scale.error_of(value, 0.1) == pytest.approx(expected, rel=1e-6)


def test_equal_sites_have_no_variance_between_them() -> None:
    found = pool([0.5] * 4, [0.1, 0.2, 0.3, 0.4])
    assert found.effect == pytest.approx(0.5)
    assert found.standard_error == found.tau == found.i2 == 0
    assert "not certainty" in random_effects("x", "x", Scale.LOG, found, 0.95).pooled.note


def test_intervals_of_rounded_numbers_contain_all_that_they_stand_for() -> None:
    random = np.random.default_rng(5)
    for _ in range(300):
        k = int(random.integers(3, 9))
        exact = Pooled(random.normal(), random.uniform(0, 0.4), random.uniform(0, 1), random.random(), k)
        rounded = Pooled(
            round(exact.effect, 3), round(exact.standard_error, 4), round(exact.tau, 4), round(exact.i2, 3), k
        )
        for scale in Scale:
            inner = random_effects("x", "x", scale, exact, 0.9)
            outer = random_effects("x", "x", scale, rounded, 0.9, digits=3)
            for inside, outside in (
                (inner.pooled.interval, outer.pooled.interval),
                (inner.prediction_interval, outer.prediction_interval),
            ):
                assert inside is not None
                assert outside is not None
                assert outside[0] <= inside[0] <= inside[1] <= outside[1]
            assert outer.pooled.digits == outer.tau2.digits == 3
            assert outer.tau.digits == 4
            assert outer.tau2.value == pytest.approx(exact.tau**2, abs=0.0011)


def test_what_people_read() -> None:
    read = random_effects("name", "O/E", Scale.LOG, Pooled(0.0953, 0.0301, 0.05, 0.62, 5), 0.9, digits=3)
    assert read.pooled.value == 1.1
    assert read.pooled.method == METHOD
    assert read.sentence() == (
        "Between-site variance of log O/E was 0.003 (I² 62%, 5 sites); "
        "the O/E of a new site is expected between 0.958 and 1.263 (90% prediction interval)."
    )
    assert "Between-hospital variance" in read.sentence("hospital")
    assert "5 hospitals" in read.sentence("hospital")
    fields = read.to_dict()
    assert fields["scale"] == "log"
    assert fields["sites"] == 5
    assert fields["prediction_interval"] == list(read.prediction_interval or ())
    assert fields["pooled"]["interval"] == list(read.pooled.interval or ())
    assert {"quantity", "title", "tau2", "tau", "i2"} < set(fields)


def test_a_vast_ratio_has_a_finite_interval() -> None:
    read = random_effects("name", "O/E", Scale.LOG, Pooled(15, 16, 20, 1, 3), 0.999)
    assert read.prediction_interval is not None
    assert all(map(math.isfinite, read.prediction_interval))


def test_withheld_effects_say_why() -> None:
    read = withheld_effects("name", "AUROC", Scale.LOGIT)
    assert read.pooled.suppressed
    assert read.sites is None
    assert read.prediction_interval is None
    assert read.sentence().startswith("Differences between sites in AUROC are withheld: fewer than three")
    without_floors = withheld_effects("name", "AUROC", Scale.LOGIT, suppressed=False)
    assert not without_floors.pooled.suppressed
    assert "are not computed: fewer than three sites" in without_floors.sentence()


def test_too_few_sites_are_refused() -> None:
    with pytest.raises(InputError, match="two sites or more"):
        pool([1.0], [0.1])
    with pytest.raises(InputError, match="variance above 0"):
        pool([1.0, 2.0], [0.1, 0.0])
    with pytest.raises(InputError, match="must be 3"):
        random_effects("x", "x", Scale.LOG, pool([1.0, 2.0], [0.1, 0.1]), 0.95)
