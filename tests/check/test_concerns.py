"""What is strange about data is said in words, under codes that stay; what is in order is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.check import DataCheck, check_data
from ppaurora.check.concerns import FEW, scale_concerns
from ppaurora.data import ScoreCounts, check_samples, read_data
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from tests.support.checks import named, outcomes, owners_kit, write_table

DIED, RISKS = outcomes()
INVERTED = [round(1 - risk, 3) for risk in RISKS]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    folder = tmp_path_factory.mktemp("died")
    return OwnerKit.read(owners_kit(folder, positive_class="died", score_scale="probability")).manifest()


def checked(
    folder: Path,
    labels: Sequence[object],
    scores: list[float],
    pos_label: str | None = None,
    manifest: Manifest | None = None,
    id_column: str | None = None,
) -> DataCheck:
    dataset = read_data(write_table(folder / "scores.csv", labels, scores), id=id_column)
    return check_data(
        dataset.samples(pos_label), dataset.description, pos_label=pos_label, owner="north", manifest=manifest
    )


def codes(check: DataCheck) -> list[str]:
    return [concern.code for concern in check.concerns]


DIRECTION = "The plan says that higher scores mean 'died'"
BELOW = "the local AUROC is below 0.5, by more than chance explains: "
MEND = "If so, give scores for the positive class: 1 - p for a probability p of the other class"
INVERTED_HERE = f"are the scores inverted? {DIRECTION}. {MEND}"
NOT_THE_LABEL = {
    "auroc-below-half": f"{BELOW}{INVERTED_HERE}. The positive label matches the plan, so it is unlikely to "
    "be the cause"
}
EITHER = {
    "auroc-below-half": f"{BELOW}{INVERTED_HERE}. Or the positive label is wrong: '1' counts as positive"
}
THE_LABEL = {"auroc-below-half": f"{BELOW}most likely because the positive label is wrong, as said above"}
THE_OTHER = {
    "positive-label": "'survived' is taken as the positive label, but the plan's positive class is 'died', "
    "which is the other label here: --pos-label died"
}
LIKE_A_NEGATIVE = {
    "positive-label": "'0' is taken as the positive label, and reads like a negative one; should it be the "
    "other: --pos-label 1?"
}
SPELT = {
    "label-spelling": "'Dead' is taken as the positive label, and the plan calls the positive class 'died': "
    "do they mean the same?"
}
SPELT_AND_BELOW = {
    "auroc-below-half": f"{BELOW}is 'Dead' the right positive label? If it is, {INVERTED_HERE}"
}
SCALE = "the plan says that scores are probabilities, and some are "
PERCENT = {"scale": f"{SCALE}above 1: are they percentages? If so, divide them by 100"}
LOGITS = {"scale": f"{SCALE}below 0: are they logits? If so, give 1 / (1 + exp(-score))"}
OUTSIDE = {"scale": f"{SCALE}outside 0 to 1"}
BITS = [int(one) for one in DIED]


@pytest.mark.parametrize(
    ("labels", "scores", "pos_label", "says"),
    [
        (named(DIED), RISKS, "died", {}),
        (named(DIED, "DIED", "Survived"), RISKS, "died", {}),
        (BITS, RISKS, None, {}),
        (named(DIED, "yes", "no"), RISKS, "yes", {}),
        (named(DIED), INVERTED, "died", NOT_THE_LABEL),
        (named(DIED), RISKS, "survived", THE_OTHER | THE_LABEL),
        ([1 - bit for bit in BITS], RISKS, None, EITHER),
        (BITS, RISKS, "0", LIKE_A_NEGATIVE | THE_LABEL),
        (named(DIED, "Dead", "alive"), RISKS, "dead", SPELT),
        (named(DIED, "Dead", "alive"), INVERTED, "dead", SPELT | SPELT_AND_BELOW),
        (named(DIED), [100 * risk for risk in RISKS], "died", PERCENT),
        (named(DIED), [8 * risk - 4 for risk in RISKS], "died", LOGITS),
        (named(DIED), [1000 * risk for risk in RISKS], "died", OUTSIDE),
    ],
)
def test_what_is_said(
    labels: Sequence[object],
    scores: list[float],
    pos_label: str | None,
    says: dict[str, str],
    manifest: Manifest,
    tmp_path: Path,
) -> None:
    found = checked(tmp_path, labels, scores, pos_label, manifest)
    assert {concern.code: concern.text for concern in found.concerns} == says
    assert found.warnings == found.concerns


def test_lower_scores_may_mean_more_positive(tmp_path: Path) -> None:
    manifest = OwnerKit.read(
        owners_kit(tmp_path, positive_class="died within 28 days", score_direction="lower")
    ).manifest()
    good = checked(tmp_path, named(DIED), INVERTED, "died", manifest)
    assert codes(good) == []  # 'died' is how the plan's words begin
    (concern,) = checked(tmp_path, named(DIED), RISKS, "died", manifest).concerns
    assert "The plan says that lower scores mean 'died within 28 days'" in concern.text


def test_without_a_plan(tmp_path: Path) -> None:
    assert codes(checked(tmp_path, named(DIED), RISKS, "died")) == []
    (concern,) = checked(tmp_path, named(DIED), INVERTED, "died").concerns
    assert concern.text == (
        f"{BELOW}are the scores inverted? Higher scores must mean more positive. {MEND}. "
        "Or the positive label is wrong: 'died' counts as positive"
    )


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        (
            [1, 0] * 15,
            [0.5 + 0.01 * ((7 * number) % 30) for number in range(30)],
        ),  # the interval has 0.5 in it
        ([1] * 9 + [0] * 40, [0.1] * 9 + [0.9] * 40),  # an AUROC of 0, of nine positives
    ],
)
def test_what_may_be_chance_is_said_to_be(
    labels: Sequence[object], scores: list[float], tmp_path: Path
) -> None:
    found = checked(tmp_path, labels, scores)
    assert found.auroc.value is not None
    assert found.auroc.value < 0.5
    assert found.concerns[0].text.startswith("the local AUROC is below 0.5, perhaps by chance: ")
    assert found.concerns[0].is_warning


def test_an_auroc_of_one_half_is_no_concern(tmp_path: Path) -> None:
    assert codes(checked(tmp_path, [0, 1] * 20, [0.1 * (number // 2) for number in range(40)])) == []


def test_one_class_few_samples_few_scores(tmp_path: Path) -> None:
    one_class = checked(tmp_path, [0] * 30, [0.01 * number for number in range(30)])
    assert codes(one_class) == ["one-class"]
    assert one_class.concerns[0].text.startswith("there are no positives, so nothing tells whether")
    assert one_class.auroc.value is None
    few = checked(tmp_path, [1] * 9 + [0] * 30, [0.9] * 9 + [0.1] * 30)
    assert codes(few) == ["few-samples", "few-scores"]
    assert few.warnings == ()
    assert codes(checked(tmp_path, [1] * 10 + [0] * 30, [0.9] * 5 + [0.8] * 5 + [0.1] * 30)) == []


def test_duplicates_are_told_by_their_row(tmp_path: Path) -> None:
    path = write_table(tmp_path / "scores.csv", named(DIED), RISKS)
    path.write_text(path.read_text().replace("p7,", "p3,"))
    dataset = read_data(path, id="patient")
    found = check_data(dataset.samples("died"), dataset.description, pos_label="died")
    (concern,) = found.warnings
    assert (concern.code, "column 'patient', the first at row 9" in concern.text) == ("duplicates", True)
    assert codes(checked(tmp_path, named(DIED), RISKS, "died", id_column="patient")) == []


def test_the_model_whose_scores_have_another_scale_is_named() -> None:
    counts = ScoreCounts.of(check_samples("north", [1, 0], [55.0, 20.0]))
    plan = EvaluationSpec(score_scale="probability")
    (percent,) = scale_concerns(counts, plan, (), " of model b")
    assert percent.text.startswith(
        "the plan says that scores are probabilities, and some of model b are above 1"
    )
    (outside,) = scale_concerns(counts, EvaluationSpec(), (0.2, 0.5), " of model b")
    assert outside.text.startswith("the plan's thresholds all lie outside the scores of model b: are they on")


def test_thresholds_outside_the_scores_are_a_matter_of_scale(tmp_path: Path) -> None:
    samples = read_data(write_table(tmp_path / "scores.csv", named(DIED), RISKS)).samples("died")
    for thresholds, expected in (
        ((0.2, 0.5), []),
        ((20.0, 50.0), ["scale"]),
        ((-2.0, -1.0), ["scale"]),
        ((), []),
    ):
        assert [
            one.code for one in scale_concerns(ScoreCounts.of(samples), EvaluationSpec(), thresholds)
        ] == expected


def test_how_few_samples_there_are_is_not_told(tmp_path: Path) -> None:
    """As many texts as there are kinds of concerns, whatever the smaller class has."""
    scores = [0.01 * number for number in range(40)]
    few = [checked(tmp_path, [0] * (40 - count) + [1] * count, scores) for count in range(1, FEW)]
    assert [codes(one) for one in few] == [["few-samples"]] * len(few)
    assert len({one.concerns[0].text for one in few}) == 1


def test_no_text_tells_a_score_or_a_count(manifest: Manifest, tmp_path: Path) -> None:
    """Python's warnings, which may be logged, are made of them."""
    scores = [1.0 + risk * 73.918264 for risk in INVERTED]
    found = checked(tmp_path, named(DIED), scores, "survived", manifest)
    assert found.warnings
    secrets = {str(found.positives), str(found.negatives), *(f"{score:.2f}" for score in scores)}
    said = " ".join(concern.text for concern in found.concerns) + repr(found)
    assert [secret for secret in secrets if secret in said] == []
