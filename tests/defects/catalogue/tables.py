"""Defects of studies on a grid: how scores are read, owners' tables, and what is computed from them."""

from __future__ import annotations

from tests.defects.defect import Defect

_CURVE = "src/ppaurora/algorithms/table_curve.py"
_METRICS = "src/ppaurora/metrics"
_STUDIES, _VALUES, _UNFIT, _TRANSCRIPTS = (
    f"tests/protocols/test_{name}.py"
    for name in ("grid_studies", "grid_values", "unfit_tables", "grid_transcripts")
)
_EXACT = f"{_STUDIES}::test_every_number_is_exact_on_the_scores_as_read"

DEFECTS = (
    Defect(
        "interval-of-somebody-alone",
        "the interval of the integrated calibration index tells the label of somebody who is alone in a bin",
        file="src/ppaurora/metrics/smooth_calibration.py",
        old="positive=tuple(chain(*_none_or_enough(evidence, bins)))",
        new="positive=()",
        tests=("tests/metrics/test_smooth_calibration.py",),
    ),
    Defect(
        "owner-alone-in-a-bin",
        "a bin in which one owner is alone counts as empty, and points around it tell of that owner's people",
        file="src/ppaurora/metrics/smooth_calibration.py",
        old="products = evidence.suite.mul(every, others - evidence.query.least_per_cell)",
        new="products = evidence.suite.mul(others, others - evidence.query.least_per_cell)",
        tests=("tests/metrics/test_smooth_calibration.py",),
    ),
    Defect(
        "scores-cut-off-on-a-grid",
        "a score is read as the value below it instead of the nearest one",
        file="src/ppaurora/data/grid.py",
        old="places = np.rint(scores * 10**self.decimals) - self.first",
        new="places = np.floor(scores * 10**self.decimals) - self.first",
        tests=("tests/data/test_grid.py",),
    ),
    Defect(
        "negated-scores-read-anew",
        "lower scores that are the more positive ones are read after they were negated",
        file="src/ppaurora/data/grid.py",
        old="return replace(samples, scores=0.0 - values if samples.negated else values)",
        new="return replace(samples, scores=values)",
        tests=("tests/data/test_grid.py::test_lower_scores_are_read_as_their_source_has_them",),
    ),
    Defect(
        "lift-without-borrow",
        "a count modulo 2^32 becomes a negative number modulo 2^64 where its mask is the larger one",
        file="src/ppaurora/suites/bitsliced/conversions.py",
        old="return lifted + (high.astype(np.uint64) << np.uint64(HALF.bits))",
        new="return lifted + (high.astype(np.uint64) << np.uint64(HALF.bits)) * np.uint64(0)",
        tests=(f"{_UNFIT}::test_counts_that_do_not_add_up_are_noticed_and_their_owner_named",),
    ),
    Defect(
        "table-of-any-size",
        "nobody compares how many samples a table has with how many were stated",
        file=f"{_METRICS}/withholding.py",
        old="surplus = [inputs.tables.samples - inputs.list_counts.sizes]",
        new="surplus = [(inputs.tables.samples - inputs.list_counts.sizes) * 0]",
        tests=(f"{_UNFIT}::test_counts_that_do_not_add_up_are_noticed_and_their_owner_named",),
    ),
    Defect(
        "table-with-too-few",
        "a table may have fewer samples than were stated",
        file=f"{_METRICS}/withholding.py",
        old="numbers += [number for one in surplus for number in (1 + one, 1 - one)]",
        new="numbers += [number for one in surplus for number in (1 - one, 1 - one)]",
        tests=(f"{_UNFIT}::test_each_of_them_alone_is_noticed",),
    ),
    Defect(
        "table-of-other-labels",
        "a table beside a list may have another number of positives",
        file=f"{_METRICS}/withholding.py",
        old="surplus.append(inputs.tables.positives - inputs.list_counts.positives)",
        new="surplus.append((inputs.tables.positives - inputs.list_counts.positives) * 0)",
        tests=(f"{_UNFIT}::test_a_table_beside_a_list_has_as_many_samples_and_as_many_positives",),
    ),
    Defect(
        "table-order-reversed",
        "the curve over a table begins with the lowest score, whichever is the more positive one",
        file=_CURVE,
        old="order = np.arange(len(counts)) if self._table.negated else np.arange(len(counts))[::-1]",
        new="order = np.arange(len(counts))",
        tests=(_EXACT,),
    ),
    Defect(
        "weights-of-higher-scores",
        "sums over a table are weighted as if higher scores were the more positive ones",
        file=f"{_METRICS}/sums.py",
        old="(grid.as_samples(label, negated=negated) for label in (1, 0))",
        new="(grid.as_samples(label, negated=False) for label in (1, 0))",
        tests=(_EXACT,),
    ),
    Defect(
        "no-precision-at-an-empty-start",
        "precision is 0 where nobody is called positive yet",
        file=_CURVE,
        old="suite.div(tp + nobody, tp + fp + nobody,",
        new="suite.div(tp, tp + fp + nobody,",
        tests=(_EXACT,),
    ),
    Defect(
        "table-without-false-positives",
        "a metric that does not ask for FP itself finds none",
        file=_CURVE,
        old="super().__init__(suite, [TP, FP, *quantities], size, cells, 0, cells)",
        new="super().__init__(suite, [TP, *quantities], size, cells, 0, cells)",
        tests=(f"{_VALUES}::test_areas_alone_by_three_servers",),
    ),
    Defect(
        "certificate-of-half",
        "the bound on what reading changed is half of what it must be",
        file=f"{_METRICS}/roc.py",
        old="released.append(Ratio(tied, self.secret_denominator(evidence)))",
        new="released.append(Ratio(tied, self.secret_denominator(evidence) * 2))",
        tests=(f"{_VALUES}::test_the_certificate_is_tight",),
    ),
    Defect(
        "rounded-certificate-below",
        "a bound that is rounded down is released as it is",
        file=f"{_METRICS}/roc.py",
        old="read_on(query.grid, bound + half_unit(query.digits_of(GRID_BOUND)))",
        new="read_on(query.grid, bound)",
        tests=(f"{_VALUES}::test_a_rounded_certificate_is_not_below_the_exact_one",),
    ),
    Defect(
        "messages-as-long-as-samples",
        "of a private study on a grid, messages tell how many samples there are",
        file=f"{_METRICS}/private/auroc.py",
        old="most=max(most // 2, 1) * STEPS",
        new="most=max(n // 2, 1) * STEPS",
        tests=(f"{_TRANSCRIPTS}::test_the_shape_depends_on_the_grid_and_the_number_of_owners_alone",),
    ),
    Defect(
        "shown-certificate-below",
        "a bound is shown to the nearest two digits, which may be below it",
        file="src/ppaurora/statistics/estimates.py",
        old='quantize(Decimal("1.0"), ROUND_UP)',
        new='quantize(Decimal("1.0"))',
        tests=(
            "tests/statistics/test_estimate.py"
            "::test_what_reading_scores_on_a_grid_changed_is_said_and_never_too_small",
        ),
    ),
    Defect(
        "rehearsal-on-another-grid",
        "a proof of concept has the protocol's default parameters, whatever was asked for",
        file="src/ppaurora/poc/consortium.py",
        old="for name, value in protocol.to_plain().items()",
        new="for name, value in type(protocol)().to_plain().items()",
        tests=("tests/poc/test_refusals.py::test_the_plan_has_all_parameters_of_the_protocol",),
    ),
)
