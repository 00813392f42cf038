"""A file that an owner has chosen, on its way to a submission: taken, read, looked at."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from ppaurora.app.jobs import AppJob
from ppaurora.app.owner.column_form import ColumnField, fields_of, planned_columns
from ppaurora.app.owner.guessing import guess_columns, named_positive
from ppaurora.app.owner.pictures import pictures_of
from ppaurora.check import DataCheck
from ppaurora.data import Columns, CountedDataset, Dataset, Description, read_columns, read_dataset
from ppaurora.data.answers import yes_and_no
from ppaurora.data.candidates import Candidate
from ppaurora.data.encodings import ENCODING_HINT, REPLACEMENT
from ppaurora.data.labels import are_bits
from ppaurora.data.reading import read_candidates, read_sheets
from ppaurora.data.text import PERCENT_HINT
from ppaurora.errors import DataError, InputError, text_of
from ppaurora.owner.prepared import PreparedSubmission
from ppaurora.owner.study import Study
from ppaurora.pages.charts import Chart

_SHARE_OF_READING = 0.9  # of the time that a check takes
MOST_LABELS = 12  # that a person chooses from; more are values of another column


def _new_number() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Looked:
    """The findings of a look at the data, or why it cannot be used."""

    prepared: PreparedSubmission | None = None
    charts: tuple[Chart, ...] = ()
    description: Description | None = None
    problem: str = ""

    @property
    def check(self) -> DataCheck | None:
        """Return the check of the data, if it can be used."""
        return None if self.prepared is None else self.prepared.check


@dataclass(frozen=True)
class Draft:
    """Kept in a private file until it is submitted or put away.

    Each reading has a number of its own: a tab that has shown another one's data cannot agree to this.
    """

    path: Path
    name: str  # as the person's machine calls the file
    size: int
    names: tuple[str, ...]  # of its columns
    columns: Columns
    looked: Looked = Looked()
    dataset: Dataset | CountedDataset | None = field(default=None, repr=False)
    sheets: tuple[str, ...] = ()  # of a workbook
    candidates: tuple[Candidate, ...] = ()  # where it is not clear which columns are meant
    number: str = field(default_factory=_new_number)

    @classmethod
    def of(cls, path: Path, name: str, study: Study) -> Draft:
        """Make a draft of a file, with a guess at its columns; a file that is no table is refused."""
        sheets = read_sheets(path, name)
        draft = cls(path, name, path.stat().st_size, (), Columns(score="", label=""), sheets=sheets)
        return draft if draft.needs_sheet else draft.opened(study, None, None)

    def opened(self, study: Study, sheet: str | None, encoding: str | None) -> Draft:
        """Return a draft of this sheet, or of the text in this encoding, with a guess at its columns."""
        names = read_columns(self.path, self.name, sheet=sheet, encoding=encoding)
        guessed = guess_columns(names, study.manifest.evaluation)
        planned = planned_columns(guessed, names, study.design)
        columns = structs.replace(planned, sheet=sheet, encoding=encoding, percent=self.columns.percent)
        candidates: tuple[Candidate, ...] = ()
        if not columns.is_complete:
            candidates = read_candidates(self.path, self.name, sheet=sheet, encoding=encoding)
        return replace(
            self,
            names=names,
            columns=columns,
            candidates=candidates,
            looked=Looked(),
            dataset=None,
            number=_new_number(),
        )

    @property
    def needs_sheet(self) -> bool:
        """Whether a person must say first which of several sheets is meant."""
        return len(self.sheets) > 1 and self.columns.sheet is None

    @property
    def needs_encoding(self) -> bool:
        """Whether a value that is needed depends on the encoding of the file."""
        return ENCODING_HINT in self.looked.problem

    @property
    def may_need_encoding(self) -> bool:
        """Whether an encoding was chosen, or would make names or labels readable."""
        unreadable = any(REPLACEMENT in name for name in self.names)
        return self.columns.encoding is not None or unreadable or self.needs_encoding

    @property
    def needs_percent(self) -> bool:
        """Whether scores have percent signs, and nobody has said that they are hundredths."""
        return PERCENT_HINT in self.looked.problem

    @property
    def fields(self) -> tuple[ColumnField, ...]:
        """The choices of columns that the study needs."""
        return fields_of(self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels as the file spells them, to choose the positive one from, if these are labels at all."""
        about = self.looked.description
        values = () if about is None else tuple(about.label_values)
        return values if len(values) <= MOST_LABELS else ()

    @property
    def needs_positive(self) -> bool:
        """Whether all that is missing is which of two labels is the positive one."""
        is_open = self.columns.pos_label is None and not are_bits(self.labels)
        return bool(self.looked.problem) and len(self.labels) == 2 and is_open

    @property
    def answers(self) -> tuple[str, str] | None:
        """The labels that say yes and no, if these are the two, for a person to confirm."""
        return yes_and_no(self.labels)

    def checked(self, columns: Columns, study: Study, job: AppJob) -> Draft:
        """Read the same file with these columns. What is wrong with it is told as the command line does."""
        job.tell(f"reading {self.name}", 0.0)
        dataset, number = self.dataset, _new_number()
        if dataset is None or not _are_same(columns, self.columns):
            try:
                dataset = read_dataset(
                    self.path,
                    columns,
                    design=study.design,
                    name=self.name,
                    watch=lambda done: job.tell(
                        f"reading {self.name}", _SHARE_OF_READING * min(1.0, done / max(1, self.size))
                    ),
                    grid=study.manifest.protocol.counting_grid,
                )
            except InputError as error:
                found = Looked(problem=text_of(error))
                return replace(self, columns=columns, dataset=None, looked=found, number=number)
        job.tell(f"checking {dataset.description.rows:,} rows", _SHARE_OF_READING)
        if columns.pos_label is None:
            columns = structs.replace(columns, pos_label=_needed_positive(dataset, study))
        found = _look(dataset, columns, study)
        return replace(self, columns=columns, dataset=dataset, looked=found, number=number)


def _are_same(columns: Columns, others: Columns) -> bool:
    """But for the positive label, for which nothing is read again."""
    return structs.replace(columns, pos_label=None) == structs.replace(others, pos_label=None)


def _needed_positive(dataset: Dataset | CountedDataset, study: Study) -> str | None:
    """Return the positive label that the plan names; None if labels are 0 and 1, or it names none."""
    try:
        dataset.samples()
    except DataError:
        return named_positive(tuple(dataset.description.label_values), study.manifest.evaluation)
    return None


def _look(dataset: Dataset | CountedDataset, columns: Columns, study: Study) -> Looked:
    try:
        dataset.samples(columns.pos_label)
    except InputError as error:
        return Looked(problem=text_of(error), description=dataset.description)
    # Whether it is to replace something, a person says only when they agree.
    prepared = study.prepare(dataset, pos_label=columns.pos_label, replace=True)
    return Looked(prepared, pictures_of(prepared.check), dataset.description)
