"""Calibration intercept and slope: what R's glm gives, within half a unit of the last digit, or withheld."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import ppaurora
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError
from ppaurora.metrics import Metric, Query, find_metric, metrics_named, recalibration
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.metrics.names import MetricName
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.private.table import TableMechanism
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate
from ppaurora.statistics.recalibration import expit, recalibration_intercept, recalibration_slope

BOTH: tuple[MetricName, MetricName] = ("calibration_intercept", "calibration_slope")
PUBLICATION, EXACT = Policy(), Policy.exact()
Study = list[Samples]


def study(seed: int, grid: Grid, size: int = 600, owners: int = 3) -> Study:
    """Probabilities on a grid, of which the logit is to be moved and stretched."""
    random = np.random.default_rng(seed)
    x = random.normal(random.uniform(-2.5, 0.5), random.uniform(0.6, 1.6), (owners, size))
    a, b = random.normal(0, 0.5), random.uniform(0.4, 1.8)
    labels = (random.random(x.shape) < 1 / (1 + np.exp(-(a + b * x)))).astype(np.uint8)
    scores = grid.values[grid.nearest(1 / (1 + np.exp(-x)))]
    return [Samples(f"owner {k}", scores[k], labels[k]) for k in range(owners)]


def pooled(one: Study, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities, 0 and 1 half a step from the end."""
    scores = np.concatenate([samples.scores for samples in one])
    labels = np.concatenate([samples.labels for samples in one]).astype(int)
    return labels, np.clip(scores, grid.step / 2, 1 - grid.step / 2)


def released(one: Study, grid: Grid, policy: Policy, level: float | None = 0.95) -> dict[str, Estimate]:
    query = Query(metrics_named(*BOTH), tuple(map(len, one)), policy, level, grid=grid, tabulated=True)
    found = released_in_the_clear(query, one).metrics
    return {name: estimate for name, estimate in found.items() if isinstance(estimate, Estimate)}


def by_r(studies: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[list[float]]:
    """Per study: intercept and its standard error with the slope fixed at 1, slope and its standard error."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("compares with R's glm, and R is not installed")
    lines = ["options(digits = 17, warn = -1)"]
    for labels, scores in studies:
        counted: dict[float, list[int]] = {}
        for label, score in zip(labels.tolist(), scores.tolist(), strict=True):
            counted.setdefault(score, [0, 0])[label] += 1
        p, negatives, positives = (
            ",".join(map(repr, column))
            for column in zip(*((score, *both) for score, both in counted.items()), strict=True)
        )
        lines += [
            f"x <- qlogis(c({p})); y <- cbind(c({positives}), c({negatives}))",
            "tight <- glm.control(epsilon = 1e-14, maxit = 100)",
            "one <- summary(glm(y ~ 1, offset = x, family = binomial, control = tight))$coefficients",
            "two <- summary(glm(y ~ x, family = binomial, control = tight))$coefficients",
            "cat(one[1, 1:2], if (nrow(two) == 2) two[2, 1:2] else c(NaN, NaN), '\\n')",
        ]
    script = "\n".join(lines)
    run = subprocess.run(
        [rscript, "--vanilla", "-"], input=script, capture_output=True, text=True, check=True, timeout=300
    )
    return [[float(number) for number in line.split()] for line in run.stdout.splitlines()]


def test_numbers_are_those_of_glm() -> None:
    """Twenty random studies on grids of one to four decimals, exact and rounded, and in the clear."""
    grids = [Grid(decimals=1 + seed % 4) for seed in range(20)]
    studies = [study(seed, grid) for seed, grid in enumerate(grids)]
    everything = [pooled(one, grid) for one, grid in zip(studies, grids, strict=True)]
    for one, grid, plain, (a, a_error, b, b_error) in zip(
        studies, grids, everything, by_r(everything), strict=True
    ):
        expected = {BOTH[0]: (a, a_error), BOTH[1]: (b, b_error)}
        exact, rounded = (released(one, grid, policy) for policy in (EXACT, PUBLICATION))
        for name, (value, error) in expected.items():
            assert exact[name].value == pytest.approx(value, abs=2e-6)
            assert exact[name].standard_error == pytest.approx(error, rel=1e-4)
            assert rounded[name].digits == 3
            assert rounded[name].value == pytest.approx(value, abs=0.5e-3 + 2e-6)
            assert rounded[name].standard_error == pytest.approx(error, abs=0.5e-4 + 1e-6)
            low, high = exact[name].interval or (1.0, 0.0)
            assert (low, high) == pytest.approx(
                (value - 1.959964 * error, value + 1.959964 * error), abs=1e-4
            )
            wide = rounded[name].interval or (1.0, 0.0)
            assert wide[0] <= low + 2e-6
            assert wide[1] >= high - 2e-6
        for fitted, (value, error) in zip(
            (recalibration_intercept(*plain), recalibration_slope(*plain)), expected.values(), strict=True
        ):
            assert fitted is not None
            assert fitted.value == pytest.approx(value, abs=1e-9)
            assert fitted.standard_error == pytest.approx(error, rel=1e-6)


def varied_study(seed: int, grid: Grid) -> Study:
    """50 to 5,000 samples of which 2 to 50 % are positive; every other model is calibrated."""
    random = np.random.default_rng([300, seed])
    size = int(10 ** random.uniform(np.log10(50 / 3), np.log10(5000 / 3))) + 1
    prevalence = np.exp(random.uniform(np.log(0.02), np.log(0.5)))
    a, b = (0.0, 1.0) if seed // 4 % 2 else (random.normal(0, 0.5), random.uniform(0.4, 1.8))
    x = random.uniform(0.6, 1.6) * random.standard_normal((3, size))
    low, high = -20.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        too_many = expit(a + b * (x + middle)).mean() > prevalence
        low, high = (low, middle) if too_many else (middle, high)
    labels = np.zeros(x.shape, dtype=np.uint8)
    while not 0 < labels.sum() < labels.size:
        labels = (random.random(x.shape) < expit(a + b * (x + low))).astype(np.uint8)
    scores = grid.values[grid.nearest(expit(x + low))]
    return [Samples(f"owner {k}", scores[k], labels[k]) for k in range(3)]


def has_both_sides(one: Study) -> bool:
    """Whether ten of the others are on both sides of some score, whoever is left out."""
    rest = [np.concatenate([other.scores for other in one if other is not samples]) for samples in one]
    return any(
        all(min((scores >= side).sum(), (scores < side).sum()) >= 10 for scores in rest)
        for side in (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    )


@pytest.mark.parametrize("count", [8, pytest.param(150, marks=pytest.mark.long)])
def test_every_digit_is_glm_s_or_withheld_for_a_reason(count: int) -> None:
    """Within half a unit of the last digit. Publication wants 10 of each class without any one owner."""
    grids = [Grid(decimals=1 + seed % 4) for seed in range(count)]
    studies = [varied_study(seed, grid) for seed, grid in enumerate(grids)]
    everything = [pooled(one, grid) for one, grid in zip(studies, grids, strict=True)]
    for one, grid, numbers in zip(studies, grids, by_r(everything), strict=True):
        exact, rounded = (released(one, grid, policy) for policy in (EXACT, PUBLICATION))
        counts = np.array([np.bincount(samples.labels, minlength=2) for samples in one])
        few_of_a_class = (counts.sum(axis=0) - counts.max(axis=0)).min() < 10
        for name, value, error in zip(BOTH, numbers[::2], numbers[1::2], strict=True):
            withheld = not error < 10
            assert (exact[name].value is None) == withheld
            few_apart = name == BOTH[1] and not has_both_sides(one)
            assert (rounded[name].value is None) == (withheld or few_of_a_class or few_apart)
            if not withheld:
                assert exact[name].value == pytest.approx(value, abs=1e-5)
                assert exact[name].standard_error == pytest.approx(error, rel=1e-4)
            if not (withheld or few_of_a_class or few_apart):
                assert rounded[name].value == pytest.approx(value, abs=0.5e-3, rel=0)
                assert rounded[name].standard_error == pytest.approx(error, abs=0.5e-4, rel=0)


@pytest.mark.parametrize("protocol", ["grid", "fast"])
def test_among_servers_they_are_the_same(protocol: ppaurora.ProtocolName) -> None:
    """With a table alone, and with one beside lists."""
    grid = Grid(decimals=2)
    one = study(5, grid, size=120)
    owners = [(samples.labels.astype(int), samples.scores) for samples in one]
    beside = {"decimals": 2} if protocol == "grid" else {"grid": grid}
    report = ppaurora.evaluate(
        owners,
        metrics=BOTH,
        protocol=protocol,
        policy=PUBLICATION,
        confidence_level=0.9,
        **beside,
    )
    assert report.metrics == released(one, grid, PUBLICATION, 0.9)
    assert report.openings == {}


def few(places: Sequence[float], positives: Sequence[int], negatives: Sequence[int]) -> Study:
    scores, labels = [], []
    for place, of_positives, of_negatives in zip(places, positives, negatives, strict=True):
        scores += [place] * (of_positives + of_negatives)
        labels += [1] * of_positives + [0] * of_negatives
    return [Samples("one", np.array(scores), np.array(labels, dtype=np.uint8))]


@pytest.mark.parametrize(
    ("one", "withheld"),
    [
        (few([0.1, 0.9], [0, 50], [50, 0]), {BOTH[1]}),
        (few([0.4, 0.6], [1, 999], [999, 1]), {BOTH[1]}),
        (few([0.3], [30], [70]), {BOTH[1]}),
        (few([0.30, 0.31], [30, 31], [70, 69]), {BOTH[1]}),
        (few([0.30, 0.40], [30, 31], [70, 69]), set()),
        (few([0.0, 1.0], [1, 1], [1, 1]), set()),
        (few([0.0, 1.0], [1, 0], [0, 1]), {*BOTH}),
        (few([0.0, 0.5, 1.0], [2, 25, 48], [48, 25, 2]), set()),
    ],
    ids=["separated", "steep", "one value", "nearly one value", "two", "ends", "wrong", "ends and middle"],
)
def test_what_no_digit_is_right_of_is_withheld(one: Study, withheld: set[str]) -> None:
    grid = Grid(decimals=2)
    found = released(one, grid, EXACT)
    assert {name for name, estimate in found.items() if estimate.value is None} == withheld
    labels, scores = pooled(one, grid)
    for name, estimate in found.items():
        if name in withheld:
            assert estimate == Estimate(None)  # undefined: this policy withholds nothing
        else:
            expected = find_metric(name)().reference(labels, scores)
            assert estimate.value == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(
    ("far", "told"),
    [((2, 0, 0), False), ((40, 0, 0), False), ((9, 9, 0), False), ((10, 10, 10), True)],
    ids=["two people", "one owner's", "too few without an owner", "enough"],
)
def test_a_slope_is_not_about_the_few_who_are_far_from_all_others(
    far: tuple[int, ...], told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All others have one score. Where no score has to have people on both sides, it is told: the control."""
    grid = Grid(decimals=1)
    owners = []
    for number, some in enumerate(far):
        labels = np.r_[np.arange(400) % 10 == 0, np.arange(some) % 2 == 0].astype(np.uint8)
        scores = np.r_[np.full(400, 0.1), np.full(some, 0.9)]
        owners.append(Samples(f"owner {number}", scores, labels))
    assert (released(owners, grid, Policy())["calibration_slope"].value is not None) == told
    assert released(owners, grid, Policy.exact())["calibration_slope"].value is not None
    monkeypatch.setattr(recalibration, "_SIDES", (0.0,))
    monkeypatch.setattr(Evidence, "enough_of", lambda evidence, by_owner, rate: by_owner.sum() * 0 + 1)
    assert released(owners, grid, Policy())["calibration_slope"].value is not None


def test_without_intervals_there_is_no_standard_error() -> None:
    grid = Grid(decimals=2)
    found = released(study(1, grid), grid, PUBLICATION, None)
    assert all(one.value is not None and one.standard_error is None for one in found.values())


def test_own_data_has_an_interval_unless_a_logit_is_infinite() -> None:
    metric = find_metric(BOTH[1])()
    (samples,) = few([0.2, 0.5, 0.9], [5, 10, 20], [20, 10, 5])
    found = metric.on_own_data(samples, 0.95)
    assert isinstance(found, Estimate)
    assert found.interval is not None
    (ends,) = few([0.0, 0.5], [1, 1], [2, 2])
    assert metric.on_own_data(ends, 0.95) == Estimate(
        None, note="undefined: no such model fits, or a probability is 0 or 1"
    )


def test_a_study_without_a_grid_is_told_to_have_one() -> None:
    owners = [([0, 1], [0.2, 0.7])] * 3
    with pytest.raises(InputError, match="'calibration_slope' is computed from a table of scores"):
        ppaurora.evaluate(owners, metrics=[BOTH[1]])


# With noise


def read_with_noise(
    metric: Metric, samples: Samples, epsilon: int, grid: Grid, random: np.random.Generator | None
) -> Estimate:
    mechanism = metric.mechanism()
    assert isinstance(mechanism, TableMechanism)
    cuts = np.array([cut.value for cut in mechanism.cuts])
    cells = np.searchsorted(cuts, samples.scores)
    counts = np.concatenate(
        [np.bincount(cells[samples.labels == label], minlength=len(cuts) + 1) for label in (1, 0)]
    )
    rates = mechanism.rates(Fraction(epsilon), 1)
    if random is not None:
        chance = -np.expm1(-float(rates[0]))
        counts = counts + random.geometric(chance, len(counts)) - random.geometric(chance, len(counts))
    noisy = NoisyRelease.of(len(samples), [mechanism], [rates], counts.tolist(), negated=False, grid=grid)
    found = metric.read_noisy(noisy, 0.95)
    assert isinstance(found, Estimate)
    return found


def calibrated(random: np.random.Generator, size: int, a: float, b: float, grid: Grid) -> Samples:
    x = random.normal(random.uniform(-2.5, 0), random.uniform(0.9, 1.5), size)
    scores = grid.values[grid.nearest(1 / (1 + np.exp(-x)))]
    inside = np.clip(scores, grid.step / 2, 1 - grid.step / 2)
    odds = np.exp(a) * (inside / (1 - inside)) ** b
    return Samples("people", scores, (random.random(size) < odds / (1 + odds)).astype(np.uint8))


@pytest.mark.parametrize("decimals", [1, 2, 4])
@pytest.mark.parametrize("name", BOTH)
def test_without_noise_cells_are_enough(name: str, decimals: int) -> None:
    """Of many samples, so that what cells hide would be seen."""
    grid = Grid(decimals=decimals)
    samples = calibrated(np.random.default_rng(decimals), 200_000, 0.3, 0.8, grid)
    metric = find_metric(name)()
    inside = (samples.scores > 0.0009) & (samples.scores < 0.9991)
    expected = metric.reference(samples.labels[inside], samples.scores[inside])
    found = read_with_noise(metric, samples, 8, grid, None)
    assert found.value == pytest.approx(expected, abs=0.004)


def covered(studies: int, seed: int) -> tuple[int, int]:
    """How many of so many intervals had the true number, and how many there were."""
    random = np.random.default_rng(seed)
    inside, there = 0, 0
    for number in range(studies):
        name, grid = BOTH[number % 2], Grid(decimals=2 + number // 2 % 2)
        a, b = random.normal(0, 0.3), random.uniform(0.7, 1.3) if name == BOTH[1] else 1.0
        size = int(10 ** random.uniform(3, 4.5))
        samples = calibrated(random, size, a, b, grid)
        found = read_with_noise(find_metric(name)(), samples, 1 + number // 4 % 2, grid, random)
        if found.interval is not None:
            there += 1
            inside += found.interval[0] <= (b if name == BOTH[1] else a) <= found.interval[1]
    return inside, there


def test_intervals_with_noise_cover() -> None:
    """144 of 160 or fewer have a chance of one in 500 if 95 % are covered."""
    inside, there = covered(160, 17)
    assert there >= 155
    assert inside > 144


@pytest.mark.long
def test_intervals_with_noise_cover_as_often_as_they_say() -> None:
    inside, there = covered(1500, 23)
    assert inside >= 0.935 * there


def test_too_much_noise_is_said_to_be_too_much() -> None:
    random = np.random.default_rng(2)
    samples = calibrated(random, 60, 0.0, 1.0, Grid(decimals=2))
    found = read_with_noise(find_metric(BOTH[1])(), samples, 1, Grid(decimals=2), random)
    assert found == Estimate(
        None, note="noise drowns this number: there are too few samples for this epsilon"
    )


def test_a_private_study_needs_no_grid() -> None:
    random = np.random.default_rng(4)
    parts = [calibrated(random, 1500, 0.2, 0.9, Grid(decimals=4)) for _ in range(3)]
    owners = [(samples.labels.astype(int), samples.scores) for samples in parts]
    report = ppaurora.evaluate(owners, metrics=BOTH, policy=Policy.private(4.0), confidence_level=0.95)
    for name, true in zip(BOTH, (0.2, 0.9), strict=True):
        found = report.metrics[name]
        assert isinstance(found, Estimate)
        assert found.value == pytest.approx(true, abs=0.3)
        assert found.method == "normal, with noise"
