"""Defects of studies with several models, subgroups, patients and weights."""

from __future__ import annotations

from tests.defects.defect import Defect

_METRICS = "src/ppaurora/metrics"
_IN_THE_CLEAR = "tests/designs/test_random_studies.py::test_numbers_in_the_clear"

DEFECTS = (
    Defect(
        "rest-of-a-variable",
        "a small level is withheld, and follows from all samples less the other levels",
        file=f"{_METRICS}/small_levels.py",
        old="allowed = meets + is_empty - suite.mul(meets, is_empty)",
        new="allowed = meets * 0 + 1",
        tests=("tests/designs/test_policies.py::test_levels_are_withheld_and_protect_each_other",),
    ),
    Defect(
        "levels-beside-a-curve",
        "levels have a number at a threshold that all samples together have not",
        file=f"{_METRICS}/small_levels.py",
        old="*between.get(threshold, ())]",
        new="]",
        tests=("tests/designs/test_roundabout_ways.py",),
    ),
    Defect(
        "a-row-that-outweighs-all",
        "a class counts as large enough however little all but one row of it weigh",
        file=f"{_METRICS}/withholding.py",
        old="if query.most_weight > 1 else []",
        new="if query.most_weight > 2000 else []",
        tests=("tests/designs/test_roundabout_ways.py",),
    ),
    Defect(
        "rows-are-people",
        "a cell counts rows of one patient as so many people",
        file=f"{_METRICS}/query.py",
        old="* self.most_weight * self.rows_per_patient",
        new="* self.most_weight",
        tests=("tests/designs/test_roundabout_ways.py",),
    ),
    Defect(
        "a-slope-of-two-people",
        "an owner counts as a site though its slope is about two people",
        file=f"{_METRICS}/sites.py",
        old="most_apart(samples.scores) >= self.apart",
        new="most_apart(samples.scores) >= 0",
        tests=("tests/designs/test_roundabout_ways.py",),
    ),
    Defect(
        "paired-variance-about-zero",
        "the variance of a difference is about 0 in the place of its mean",
        file=f"{_METRICS}/extras/variances.py",
        old="quadratics.append(p_q - l_l)",
        new="quadratics.append(p_q)",
        tests=(_IN_THE_CLEAR,),
    ),
    Defect(
        "patients-lose-what-they-win",
        "positives and negatives of one patient are added with the wrong sign",
        file=f"{_METRICS}/extras/variances.py",
        old="return x_x + y_y - x_y",
        new="return x_x + y_y + x_y",
        tests=("tests/designs/test_clusters.py::test_patients_with_several_rows",),
    ),
    Defect(
        "levels-moved-by-half",
        "a person who changes levels is protected as if it stayed in one",
        file=f"{_METRICS}/private/mechanism.py",
        old="person = (self.sensitivity_of_levels if of_level else self.sensitivity)",
        new="person = (self.sensitivity if of_level else self.sensitivity)",
        tests=(
            "tests/designs/test_noise.py::"
            "test_no_neighbour_of_a_study_moves_all_its_levels_by_more_than_epsilon_pays_for",
        ),
    ),
    Defect(
        "joint-counts-of-other-samples",
        "two models are compared by joint counts that are not those of their tables",
        file=f"{_METRICS}/extras/study.py",
        old="if layout.has_tables:\n                numbers += _marginal_checks(study, block, rows)",
        new="if layout.has_tables:\n                pass",
        tests=("tests/designs/test_dishonest_owners.py",),
    ),
    Defect(
        "epsilon-for-every-model",
        "every model of a private study spends all of its epsilon",
        file=f"{_METRICS}/parts.py",
        old="slices = len(design.wholes) * (1 + len(design.variables))",
        new="slices = 1 + len(design.variables)",
        tests=("tests/designs/test_noise.py::test_all_parts_together_spend_no_more_than_epsilon",),
    ),
    Defect(
        "statements-of-raw-scores",
        "what an owner states of two models is of its file's scores, and tables of rounded ones",
        file="src/ppaurora/agreement/terms.py",
        old="words_of(self.layout.read(samples), self.query(()))",
        new="words_of(samples, self.query(()))",
        tests=(
            "tests/designs/test_random_studies.py::test_all_numbers_are_of_scores_as_the_grid_reads_them",
        ),
    ),
    Defect(
        "sites-below-others-floors",
        "an owner counts as a site by the plan's floors, though another owner demands more",
        file=f"{_METRICS}/extras/site_effects.py",
        old="study.suite.mul(counts, study.words[statement])",
        new="study.words[statement]",
        tests=("tests/designs/test_policies.py::test_sites_count_that_meet_the_floors_of_every_owner",),
    ),
    Defect(
        "difference-about-one-person",
        "a difference of net benefit is told though two models call only a few people differently",
        file=f"{_METRICS}/extras/comparisons.py",
        old="between = self._between(threshold, a, b) + self._discordant(threshold, query, words, a, b)",
        new="between = self._between(threshold, a, b)",
        tests=("tests/designs/test_policies.py::test_a_difference_is_about_enough_people_or_nobody",),
    ),
)
