"""Everything that a report says, once: pages, tables and texts are made of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from msgspec import UNSET, structs

from ppaurora.agreement.disclosure import disclosure
from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.agreement.terms import Terms
from ppaurora.evaluation.report import Report
from ppaurora.io.text import listed
from ppaurora.messages.owners import SignedStatement
from ppaurora.owner.report import StudyReport
from ppaurora.pages.report.design_sentences import design_methods, design_results, where_of
from ppaurora.pages.report.designs import DesignFacts
from ppaurora.pages.report.numbers import (
    Number,
    NumberTable,
    numbers_of,
    settings_of,
    tables_of,
    why_without_interval,
)
from ppaurora.pages.report.own import OwnFacts
from ppaurora.pages.report.protection import ON_ONE_MACHINE, Protection, protections
from ppaurora.pages.report.sections import Section, sections_of
from ppaurora.pages.report.sentences import (
    caption_of,
    grids_of,
    methods_sentences,
    reading_of,
    subject_of,
)
from ppaurora.pages.report.tripod import ReportingItem, tripod_items
from ppaurora.policy.rules import Kind, Policy
from ppaurora.policy.sentences import privacy_of
from ppaurora.protocols import find_protocol
from ppaurora.study.amendments import Change, changes
from ppaurora.study.organisations import organisation_warnings
from ppaurora.study.receipt import Receipt, Verification
from ppaurora.version import __version__

FORMAT = "ppaurora report 1"

Pairs = tuple[tuple[str, str], ...]
State = Literal["released", "suppressed", "not here"]

NO_CURVE = (
    "There is no ROC curve of the pooled samples with all its steps, and no such precision-recall curve: "
    "they would reveal the order of the labels, and so individual samples. Points at thresholds that a plan "
    "fixes beforehand, and the areas under the curves, reveal far less; the policy section below says what "
    "they disclose."
)


@dataclass(frozen=True)
class Participant:
    """An institution with its number of samples, or one that runs a server, with its version."""

    name: str
    organisation: str
    detail: str
    key: str


@dataclass(frozen=True)
class ReceiptFacts:
    """What the nodes have signed."""

    manifest_hash: str
    attempt: int
    released_at: str
    signed_by: tuple[str, ...]
    missing: tuple[str, ...]
    commitments: tuple[tuple[str, tuple[str, ...]], ...]
    proves: tuple[str, ...]
    does_not_prove: tuple[str, ...]


@dataclass(frozen=True)
class AmendmentFacts:
    """An amendment to a study before anything was computed: why, what it changed, and how owners agreed."""

    number: int
    reason: str
    changes: tuple[Change, ...]
    signed_by: tuple[str, ...]  # nobody, if all had agreed to such changes beforehand

    @property
    def agreed(self) -> str:
        if not self.signed_by:
            return "agreed to beforehand by all owners"
        return f"agreed to by the signatures of {listed(self.signed_by)}"

    @classmethod
    def all_of(cls, receipt: Receipt) -> tuple[AmendmentFacts, ...]:
        """Return what a receipt tells of amendments; nothing of a study without any."""
        if receipt.amended is UNSET:
            return ()
        amendments = receipt.amended.amendments
        agreed = {one.agreement.owner: one.agreement.amendment for one in receipt.amended.agreements}
        found = []
        for number, step in enumerate(amendments.steps, start=1):
            owners = [name for name in amendments.latest.owner_names if agreed.get(name, 0) >= number]
            is_asked = not amendments.is_agreed_beforehand(number)
            found.append(
                cls(
                    number,
                    str(step.reason),
                    tuple(changes(amendments.manifests[number - 1], step.manifest)),
                    tuple(owners) if is_asked else (),
                )
            )
        return tuple(found)


@dataclass(frozen=True)
class Facts:
    """All that is said about one result.

    `own` is there only if the owner gave its data; then the report is not for others. `design` has several
    models, comparisons, subgroups, sites and rows left out; `numbers` are then those of the first model.
    """

    study: str
    owner: str
    state: State
    about: Pairs
    institutions: int
    samples: int
    positives: int | None
    count_step: int
    numbers: tuple[Number, ...]
    caption: str
    results: str
    methods: str
    owners: tuple[Participant, ...]
    servers: tuple[Participant, ...]
    kind: Kind
    policy: Pairs
    privacy: str
    tells: tuple[str, ...]
    warnings: tuple[str, ...]
    reporting: tuple[ReportingItem, ...]
    protection: tuple[Protection, ...]
    receipt: ReceiptFacts | None
    own: OwnFacts | None
    ppaurora: str = __version__
    design: DesignFacts = field(default_factory=DesignFacts)
    amendments: tuple[AmendmentFacts, ...] = ()
    table_caption: str = ""  # below the title of a table of a design, which names its models and outcomes

    @property
    def paragraphs(self) -> list[str]:
        """The sentences for the results section, by paragraph."""
        return self.results.split("\n\n")

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known about tables of one model; other tables are in sections, which say it."""
        return why_without_interval(self.numbers) if self.is_of_one_model else ()

    @property
    def single(self) -> tuple[Number, ...]:
        """Numbers that are no part of a table."""
        return tuple(number for number in self.numbers if not number.at)

    @property
    def tables(self) -> tuple[NumberTable, ...]:
        return tables_of(self.numbers)

    @property
    def sections(self) -> tuple[Section, ...]:
        """Parts that only a study with a design has; of a suppressed result, none."""
        if self.state != "released":
            return ()
        return sections_of(self.design, self.kind, self.count_step, apart=self.receipt is not None)

    @property
    def is_of_one_model(self) -> bool:
        """Whether `numbers` are all that there are of models and outcomes."""
        return not self.design.has_several or not self.sections

    def to_dict(self) -> dict[str, Any]:
        """Return what `ppaurora report --format json` prints; docs/report.md explains the fields."""
        content = asdict(self)
        content.pop("table_caption")
        design = content.pop("design")
        return {"format": FORMAT, **content, **design, "no_curve": NO_CURVE}


def study_facts(found: Verification, result: StudyReport | None, own: OwnFacts | None = None) -> Facts:
    """Return what there is to say about a study's result, or about its receipt alone."""
    receipt, manifest = found.receipt, found.receipt.manifest
    statements = receipt.statements
    amendments = AmendmentFacts.all_of(receipt)
    job = manifest.job(statements[0].statement.submissions)
    told = disclosure(job.terms, job.sizes)
    samples = dict(receipt.samples)
    settings = settings_of(manifest.terms.metrics)
    numbers = () if result is None else numbers_of(result.metrics, settings)
    design = DesignFacts() if result is None else DesignFacts.of(result.results, settings)
    positives = None if result is None else result.positives
    suppressed = result is not None and _is_suppressed(result, design)
    state: State = "not here" if result is None else "suppressed" if suppressed else "released"
    versions = listed(sorted({one.statement.ppaurora for one in statements}))
    total = sum(samples.values())
    where = f"{len(samples)} institutions ({where_of(total, positives, design, receipt.policy)})"
    servers = tuple(_server(one, found) for one in statements)
    subject, unnamed = _subjects(manifest.evaluation, design)
    return Facts(
        study=manifest.study,
        owner="" if result is None else result.owner,
        state=state,
        about=(
            *(pair for pair in manifest.evaluation.describe() if pair[0] != "submissions"),
            *_reading(manifest.terms),
        ),
        institutions=len(samples),
        samples=total,
        positives=positives,
        count_step=receipt.policy.count_step,
        numbers=numbers,
        caption=caption_of(() if design.has_several else numbers, where, subject),
        results=_results_of_a_receipt(where)
        if result is None
        else design_results(numbers, design, where, subject, receipt.policy, suppressed=suppressed),
        methods=methods_sentences(
            design.numbers or numbers,
            metrics=[metric.name for metric in manifest.terms.metrics],
            institutions=len(samples),
            how=_how(found, versions),
            protocol=manifest.protocol,
            read=reading_of(manifest.protocol, grids_of(manifest.terms)),
            policy=receipt.policy,
            agreed="All participants had agreed on this beforehand, in a manifest with the SHA-256 "
            f"{manifest.hash}; the servers signed a receipt of the release.{amended_sentence(amendments)}",
            released=state == "released",
            of_patients=bool(manifest.terms.patient),
            more=design_methods(design, manifest.terms),
        ),
        owners=tuple(
            Participant(one.name, one.organisation, f"{samples[one.name]:,} samples", one.pin)
            for one in manifest.owners
        ),
        servers=servers,
        kind=receipt.policy.kind,
        policy=tuple(receipt.policy.described()),
        privacy=privacy_of(receipt.policy),
        tells=told.told,
        warnings=(*told.warnings, *organisation_warnings(manifest)),
        reporting=tripod_items(
            manifest,
            samples,
            numbers,
            positives,
            receipt.policy,
            design,
            suppressed=suppressed,
            ppaurora=versions,
        ),
        protection=protections(manifest.protocol, receipt.policy),
        receipt=_receipt(found),
        own=own,
        design=design,
        amendments=amendments,
        table_caption=caption_of(() if design.has_several else numbers, where, unnamed),
    )


def amended_sentence(amendments: Sequence[AmendmentFacts]) -> str:
    """Return the sentence of the methods that tells how a study was amended; empty if it was not."""
    if not amendments:
        return ""
    times = {1: "once", 2: "twice"}.get(len(amendments), f"{len(amendments)} times")
    reasons = "; ".join(filter(None, (one.reason.strip().rstrip(".") for one in amendments)))
    signed = [bool(one.signed_by) for one in amendments]
    how = "with their signatures" if all(signed) else "beforehand"
    if any(signed) and not all(signed):
        how = "with their signatures, or beforehand"
    why = f" ({reasons})" if reasons else ""
    return f" Before anything was computed, the study was amended {times}{why}; all owners agreed, {how}."


def _subjects(evaluated: EvaluationSpec | None, design: DesignFacts) -> tuple[str, str]:
    """Return what numbers are of, for texts; and for tables whose titles name models and outcomes, the rest.

    Only a study of several models or outcomes names these; what was agreed to be evaluated names one.
    """
    if not design.has_several:
        return subject_of(evaluated), subject_of(evaluated)
    models, outcomes = ([one for one in names if one] for names in (design.models, design.outcomes))
    rest = evaluated
    if rest is not None:
        named = {"model": ""} if models else {}
        rest = structs.replace(rest, **named, **({"outcome": ""} if outcomes else {}))
    return subject_of(evaluated, models, outcomes), subject_of(rest)


def _reading(terms: Terms) -> list[tuple[str, str]]:
    """Return how scores are read, in lines; by model, if one has a grid of its own."""
    grids = grids_of(terms)
    if all(grid == terms.protocol.grid for grid in grids.values()):
        return terms.reading()
    return [
        (
            f"scores of {name} are read",
            f"{grid.reading}; one below {grid.low:g} or above {grid.high:g} is refused",
        )
        for name, grid in grids.items()
    ]


def _is_suppressed(result: Report | StudyReport, design: DesignFacts) -> bool:
    """Return whether there is no value at all: of several outcomes, of none."""
    return all(one.suppressed for one in design.slices) if design.has_several else result.suppressed


def evaluation_facts(report: Report) -> Facts:
    """Return what there is to say after `evaluate`: one person held all data, and there is no receipt."""
    numbers = numbers_of(report.metrics, {})
    design = DesignFacts.of(report.results, {})
    suppressed = _is_suppressed(report, design)
    policy: Policy = report.policy
    where = f"{report.owners} institutions ({where_of(report.samples, report.positives, design, policy)})"
    subject, unnamed = _subjects(None, design)
    protocol = find_protocol(report.protocol)(**report.parameters)
    is_of_all = protocol.settings() == report.shared_parameters
    return Facts(
        study="",
        owner="",
        state="suppressed" if suppressed else "released",
        about=(),
        institutions=report.owners,
        samples=report.samples,
        positives=report.positives,
        count_step=policy.count_step,
        numbers=numbers,
        caption=caption_of(() if design.has_several else numbers, where, subject),
        results=design_results(numbers, design, where, subject, policy, suppressed=suppressed),
        methods=methods_sentences(
            design.numbers or numbers,
            metrics=list(report.metrics),
            institutions=report.owners,
            how=f"servers on one machine computed on these (ppaurora {__version__}, protocol "
            f"{report.protocol}); whoever controlled that machine could see all data",
            protocol=protocol,
            read=reading_of(protocol) if is_of_all else "",
            policy=policy,
            agreed="",
            released=not suppressed,
            of_patients=design.has_patients,
            more=design_methods(design, None),
        ),
        owners=(),
        servers=(),
        kind=policy.kind,
        policy=tuple(policy.described()),
        privacy=privacy_of(policy),
        tells=(),
        warnings=(),
        reporting=(),
        protection=ON_ONE_MACHINE,
        receipt=None,
        own=None,
        design=design,
        table_caption=caption_of(() if design.has_several else numbers, where, unnamed),
    )


def _results_of_a_receipt(where: str) -> str:
    return (
        f"The pooled test samples of {where.split(';')[0].rstrip(')')}) were evaluated. This report was made "
        "from the receipt alone, which contains no values; if the result is undefined because all samples "
        "are of one class, there are none."
    )


def _how(found: Verification, versions: str) -> str:
    manifest = found.receipt.manifest
    titles = []
    for server in manifest.protocol.servers:
        organisation = manifest.node(server).organisation
        titles.append(f"{server.title}, run by {organisation}" if organisation else server.title)
    protocol = manifest.protocol
    hidden = "; none of them learns scores, labels, ranking, class counts or the result, "
    hidden += protocol.privacy.condition
    return (
        f"{len(titles)} servers ({'; '.join(titles)}) computed on these shares together (ppaurora "
        f"{versions}, protocol {protocol.name})"
        + ("" if any(map(protocol.learns, protocol.servers)) else hidden)
    )


def _server(signed: SignedStatement, found: Verification) -> Participant:
    said, manifest = signed.statement, found.receipt.manifest
    node = manifest.nodes[said.server]
    return Participant(
        said.server.replace("-", " "), node.organisation, f"ppaurora {said.ppaurora}", node.pin
    )


def _receipt(found: Verification) -> ReceiptFacts:
    receipt = found.receipt
    return ReceiptFacts(
        manifest_hash=receipt.manifest_hash,
        attempt=receipt.attempt,
        released_at=str(receipt.statements[0].statement.released_at),
        signed_by=tuple(name.replace("-", " ") for name in found.signed_by),
        missing=tuple(name.replace("-", " ") for name in found.missing),
        commitments=tuple((owner, tuple(digests)) for owner, digests in receipt.commitments.items()),
        proves=found.proves,
        does_not_prove=found.does_not_prove,
    )
