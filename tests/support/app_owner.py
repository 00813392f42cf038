"""An owner at the app's pages: what a person does there, step by step."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ppaurora.owner.study import Study
from tests.support.deployment import samples, write_csv
from tests.support.local_app import PATIENCE, Answer, Browser
from tests.support.trials import Trials

_seeds = itertools.count(100)


def table(count: int = 60) -> bytes:
    """A file with scores and labels that the check has nothing against; another one each time."""
    labels, scores = samples(count, next(_seeds))
    scores = scores + np.random.default_rng(next(_seeds)).random(count) / 100
    rows = [f"{score!r},{int(label)}" for label, score in zip(labels, scores.tolist(), strict=True)]
    return ("\n".join(["score,label", *rows]) + "\n").encode()


@dataclass
class Person:
    """At the pages of one study."""

    browser: Browser
    study: str

    @property
    def path(self) -> str:
        return f"/studies/{self.study}"

    @property
    def data(self) -> str:
        return f"{self.path}/data"

    def csrf_token(self) -> str:
        return self.browser.csrf_token(f"{self.path}/withdraw")

    def choose(self, content: bytes, name: str = "scores.csv") -> Answer:
        """The page of the file, once it was looked at."""
        answer = self.browser.upload(f"{self.data}/file", name, content, csrf_token=self.csrf_token())
        assert answer.status == 303, answer.text
        return self.looked()

    def looked(self) -> Answer:
        return self.browser.until(
            self.data,
            "What the file contains",
            "cannot be used",
            "Which label",
            "Which sheet",
            "Are the scores",
            "Where was",
            "choose a column",
            "failed",
        )

    def columns(self, **chosen: str) -> Answer:
        draft = self.browser.draft(self.data)
        answer = self.browser.post(
            f"{self.data}/columns", {"draft": draft, **chosen}, csrf_token=self.csrf_token()
        )
        assert answer.status == 303, answer.text
        return self.looked()

    def submit(self, *ticked: str) -> Answer:
        fields = {"draft": self.browser.draft(self.data), **dict.fromkeys(ticked or ("agree",), "on")}
        return self.browser.post(f"{self.path}/submit", fields, csrf_token=self.csrf_token())

    def submitted(self, *ticked: str) -> None:
        """Submit, and check that the app has begun with it."""
        answer = self.submit(*ticked)
        assert answer.status == 303, answer.said

    def page(self, *texts: str, seconds: float = PATIENCE) -> Answer:
        """The study's, once it says one of these."""
        return self.browser.until(self.path, *texts, seconds=seconds)


def submit_other(nodes: Trials, study: str) -> None:
    """As another owner does, without the app; other data each time."""
    labels, scores = samples(60, next(_seeds))
    Study(nodes.kit("harbour"), study).submit((labels.astype(int), np.asarray(scores)))


def copied_kit(nodes: Trials, folder: Path) -> Path:
    """North's kit, for an app that is killed."""
    shutil.copytree(nodes.kit("north"), folder, ignore=shutil.ignore_patterns("app"))
    return folder


__all__ = ["Person", "copied_kit", "submit_other", "table", "write_csv"]
