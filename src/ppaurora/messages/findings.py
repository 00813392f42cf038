"""Findings of a look at a kit, a cluster or a running node: one type for preflight, inspection and health."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from ppaurora.io.models import StrictModel


class Severity(StrEnum):
    """How bad it is; pages draw a badge of this name."""

    GOOD = "good"
    WARN = "warn"  # it works, and somebody should look at it
    BAD = "bad"


class Finding(StrictModel):
    """Something that was looked at, how it is, and what to do if something is wrong with it."""

    name: str
    severity: Severity
    detail: str
    fix: str = ""

    @property
    def ok(self) -> bool:
        """Return whether nothing has to be fixed before it works."""
        return self.severity is not Severity.BAD

    @property
    def sentence(self) -> str:
        """Return how it is, and what to do, in one line."""
        return f"{self.detail}; {self.fix}" if self.fix else self.detail

    def to_dict(self) -> dict[str, object]:
        """Return what `ppaurora preflight --format json` tells of it."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "fix": self.fix}

    @classmethod
    def judge(cls, name: str, ok: bool, detail: str, fix: str = "") -> Self:
        """Return a good finding, or a bad one with its fix."""
        return cls.good(name, detail) if ok else cls.bad(name, detail, fix)

    @classmethod
    def good(cls, name: str, detail: str) -> Self:
        """Return a finding that asks for nothing."""
        return cls(name=name, severity=Severity.GOOD, detail=detail)

    @classmethod
    def warn(cls, name: str, detail: str, fix: str = "") -> Self:
        """Return a finding that somebody should look at."""
        return cls(name=name, severity=Severity.WARN, detail=detail, fix=fix)

    @classmethod
    def bad(cls, name: str, detail: str, fix: str = "") -> Self:
        """Return a finding that keeps something from working."""
        return cls(name=name, severity=Severity.BAD, detail=detail, fix=fix)
