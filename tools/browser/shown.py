"""A consortium to look at: made-up hospitals, the same every time, and three nodes on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ppaurora.metrics.bins import Reliability
from ppaurora.metrics.calibration import Brier
from ppaurora.metrics.precision_recall import AveragePrecision
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.thresholds import NetBenefit
from ppaurora.owner.study import Study
from ppaurora.poc.machine import participants
from ppaurora.study.provision import PASSPHRASES, provision
from ppaurora.testing.consortium import Consortium

SEED = 2026
STUDY = "sepsis-2026"
NEXT_STUDY, OTHER_STUDY = "sepsis-2027", "stroke-2026"
HOSPITALS = {"north": 640, "harbour": 1480, "valley": 1240}
_ORGANISATIONS = {"proxy-0": "First University", "proxy-1": "Second University", "helper": "An Institute"}
_HEAD = f"""\
metrics = [
    "{Auroc.name}", "{AveragePrecision.name}", "{Brier.name}",
    {{ name = "{Reliability.name}", bins = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0] }},
    {{ name = "{NetBenefit.name}", thresholds = [0.1, 0.2, 0.3, 0.4, 0.5] }},
]
confidence_level = 0.95
[evaluation]
description = "Does the sepsis alert of the wards, trained at North Hospital, hold elsewhere?"
model = "sepsis-alert"
version = "2.1.0"
outcome = "sepsis (Sepsis-3) within 48 hours of the score"
positive_class = "sepsis"
score_scale = "probability"
"""


class ShownConsortium(Consortium):
    """One study, under the policy that studies have by default, and a table of predictions per hospital."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, tuple(HOSPITALS), silence=60.0)
        self.accept()
        self.data = {owner: self._write(owner, size) for owner, size in HOSPITALS.items()}

    def plan(self, name: str, attempts: int) -> str:
        study = STUDY if name == "trial" else name
        return f'name = "{study}"\n{_HEAD}' + participants(self._ports, self.owners, _ORGANISATIONS)

    def next_study(self) -> Path:
        """The manifest of a later study under the same keys, with a deadline; the nodes have accepted it."""
        plan = self.folder / f"{NEXT_STUDY}.toml"
        text = self.plan(NEXT_STUDY, 1)
        plan.write_text(text.replace("model =", "submissions_until = 2099-12-31\nmodel =", 1))
        out = self.folder / "kits-next"
        self.accept(provision(plan, out, self.folder / "kits"))
        return out / f"{NEXT_STUDY}.json"

    def other_kit(self, owner: str) -> tuple[Path, str]:
        """A packed kit of another coordinator's study, and its pass phrase."""
        plan = self.folder / f"{OTHER_STUDY}.toml"
        plan.write_text(self.plan(OTHER_STUDY, 1))
        out = self.folder / "kits-other"
        provision(plan, out, packed=True, encrypted=True)
        return out / f"{owner}.kit", passphrase_of(out, owner)

    def submit(self, owner: str) -> None:
        """As its own machine would."""
        study = Study(self.kit(owner))
        study.send(study.prepare(self.data[owner], score="risk", label="outcome", pos_label="sepsis"))

    def wrong_file(self) -> Path:
        """The first hospital's, with a score that is none."""
        lines = self.data["north"].read_text().splitlines()
        lines[17] = lines[17].replace("0.", "0,", 1)
        path = self.folder / "predictions-draft.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    def _write(self, owner: str, size: int) -> Path:
        random = np.random.default_rng([SEED, *owner.encode()])
        logits = random.normal(-1.0, 1.2, size)
        ill = random.random(size) < 1 / (1 + np.exp(-1.1 * logits))
        risks = 1 / (1 + np.exp(-logits))
        rows = [
            f"{owner[0].upper()}{number:04d},{risk:.3f},{'sepsis' if is_ill else 'no sepsis'}"
            for number, (risk, is_ill) in enumerate(zip(risks, ill, strict=True), 1)
        ]
        path = self.folder / f"{owner}-predictions.csv"
        path.write_text("\n".join(["id,risk,outcome", *rows]) + "\n")
        return path


def passphrase_of(kits: Path, name: str) -> str:
    """Return the pass phrase of a participant's packed kit, as the coordinator has it."""
    lines = (line.split() for line in (kits / PASSPHRASES).read_text().splitlines())
    return next(words[-1] for words in lines if words and words[0] == name)
