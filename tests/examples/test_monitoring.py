"""Alerts and dashboard name what a running node exports, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from ppaurora.cli.main import COMMANDS
from tests.support.deployment import Deployment
from tests.support.repository import ROOT
from tests.support.trials import becomes

FOLDER = ROOT / "examples/monitoring"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
PANELS = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
SCRAPED = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
# What Prometheus itself adds to what it scrapes.
ADDED = {"up": {"job": {job["job_name"] for job in SCRAPED}}}
EVERYWHERE = {"instance"}
WORDS = {"by", "or", "and", "on"}

Exported = dict[str, dict[str, set[str]]]  # of every sample's name, labels with their values


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What a running node says, once it has looked at its kit."""
    nodes = Deployment(tmp_path_factory.mktemp("monitored"))
    nodes.accept()
    nodes.start("proxy-0")
    try:
        assert becomes(lambda: 'kind="own"} NaN' not in nodes.get("proxy-0", "/metrics"))
        yield nodes.get("proxy-0", "/metrics")
    finally:
        nodes.stop()


@pytest.fixture(scope="module")
def exported(scraped: str) -> Exported:
    found: Exported = {}
    for family in text_string_to_metric_families(scraped):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found | ADDED


@dataclass(frozen=True)
class Used:
    """A metric as an expression names it, with the labels that it selects or groups by."""

    name: str
    values: dict[str, set[str]]


def used_in(expression: str) -> Iterator[Used]:
    """The selectors of an expression; what stands in its `by (...)` is selected by all of them."""
    grouped = re.findall(r"\bby \(([^)]*)\)", expression)
    by = {label.strip() for labels in grouped for label in labels.split(",")}
    bare = re.sub(r'\bby \([^)]*\)|"[^"]*"(?=[^{}]*(?:\{|$))|\[[^]]*\]', " ", expression)
    for name, selector in re.findall(r"\b([a-z_:][a-z0-9_:]*)\b(?!\s*\()(?:\{([^}]*)\})?", bare):
        if name not in WORDS and not re.fullmatch(r"e\d+", name):
            matchers = re.findall(r'(\w+)(=~?)"([^"]*)"', selector)
            values = {
                label: set(value.split("|") if operator == "=~" else [value])
                for label, operator, value in matchers
            }
            yield Used(name, {**{label: set() for label in by}, **values})


def problems(expression: str, exported: Exported) -> list[str]:
    """What an expression names that is not exported."""
    found = []
    used = list(used_in(expression))
    if not used:
        found.append(f"no metric in: {expression}")
    for one in used:
        if one.name not in exported:
            found.append(f"no metric {one.name}")
            continue
        for label, values in one.values.items():
            if label in EVERYWHERE:
                continue
            known = exported[one.name].get(label)
            missing = [f"{label} {value}" for value in values - (known or set())]
            found += [f"{one.name} has no {what}" for what in (missing if known else [label])]
    return found


def targets() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel, target


def test_alerts_name_what_a_node_exports(exported: Exported) -> None:
    assert {rule["alert"]: problems(rule["expr"], exported) for rule in RULES} == {
        rule["alert"]: [] for rule in RULES
    }


def test_the_dashboard_names_what_a_node_exports(exported: Exported) -> None:
    for panel, target in targets():
        assert problems(target["expr"], exported) == [], panel["title"]
        (first, *_) = used_in(target["expr"])
        legend = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) - EVERYWHERE
        assert legend <= set(exported[first.name]), panel["title"]


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("ppaurora_reday == 1", "no metric ppaurora_reday"),
        ('ppaurora_waiting_studies{reason="nobody"} > 0', "ppaurora_waiting_studies has no reason nobody"),
        ('ppaurora_waiting_studies{cause="disk"}', "ppaurora_waiting_studies has no cause"),
        (
            'increase(ppaurora_refused_total{code=~"internal|no-such"}[1h]) > 0',
            "ppaurora_refused_total has no code no-such",
        ),
        ("sum by (state) (ppaurora_lost_shares)", "ppaurora_lost_shares has no state"),
        ('up{job="another"} == 0', "up has no job another"),
        ("1 > 0", "no metric in: 1 > 0"),
        ("rate(ppaurora_attempt_seconds[1h])", "no metric ppaurora_attempt_seconds"),
    ],
)
def test_a_name_that_is_not_exported_is_found(exported: Exported, expression: str, problem: str) -> None:
    """The positive control."""
    assert problems(expression, exported) == [problem]


def test_every_metric_is_documented_and_watched(scraped: str) -> None:
    families = list(text_string_to_metric_families(scraped))
    assert len(families) > 15
    expressions = [rule["expr"] for rule in RULES] + [target["expr"] for _, target in targets()]
    used = {one.name for expression in expressions for one in used_in(expression)}
    for family in families:
        if not family.name.endswith("_created"):
            assert family.documentation.endswith("."), family.name
            assert family.type != "unknown"
            assert {sample.name for sample in family.samples} & used, family.name


def test_alerts_say_what_is_wrong_and_what_to_do() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names) > 10
    for rule in RULES:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0s"))
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert list(rule["annotations"]) == ["summary", "do"]
        for said in rule["annotations"].values():
            assert said.endswith(".")
            assert set(re.findall(r"\bppaurora ([a-z][a-z-]*)", said)) <= set(COMMANDS), said


def test_the_dashboard_can_be_imported() -> None:
    """Into any Grafana: it names no data source of ours. No panel lies on another."""
    whole = json.loads((FOLDER / "dashboard.json").read_text())
    variables = {one["name"] for one in whole["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(whole))) - {"__all"} == variables
    assert [count for count in Counter(panel["id"] for panel in PANELS).values() if count > 1] == []
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert all(x < 24 for x, _ in cells)
        taken |= cells
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters)


# For each alert, a series that raises it, and the same as it should be.
RAISED = {
    "PpauroraNodeDown": ('up{job="ppaurora"}', "0", "1"),
    "PpauroraNodeNotReady": ("ppaurora_not_ready", "1", "0"),
    "PpauroraStudyStopped": ('ppaurora_waiting_studies{reason="operator"}', "2", "0"),
    "PpauroraRuleBroken": ('ppaurora_waiting_studies{reason="rule"}', "1", "0"),
    "PpauroraSubmissionsClosed": ('ppaurora_waiting_studies{reason="deadline"}', "1", "0"),
    "PpauroraNotAcceptedHere": ("ppaurora_unaccepted_manifests", "1", "0"),
    "PpauroraNotAcceptedElsewhere": ('ppaurora_waiting_studies{reason="not-accepted"}', "1", "0"),
    "PpauroraOtherNodeSilent": ("ppaurora_silent_peers", "1", "0"),
    "PpauroraStudyWaits": ('ppaurora_waiting_studies{reason="node-not-ready"}', "1", "0"),
    "PpauroraSharesLost": ("ppaurora_lost_shares", "3", "0"),
    "PpauroraAttemptsFail": ("ppaurora_attempts_failed_total", "0+1x400", "7x400"),
    "PpauroraInternalErrors": ('ppaurora_refused_total{code="internal"}', "0+1x400", "7x400"),
    "PpauroraCertificateEnds": ('ppaurora_certificate_days_left{kind="own"}', "29", "31"),
    "PpauroraCertificateEnded": ('ppaurora_certificate_days_left{kind="authority"}', "-1", "4"),
    "PpauroraLittleRoom": ("ppaurora_disk_free_bytes", "900000000", "2000000000"),
    "PpauroraClockNotTrusted": ("ppaurora_clock_not_trusted", "1", "0"),
}


def _case(alert: str, series: str, values: str, firing: int) -> dict[str, Any]:
    """A test for promtool: how many alerts of this name there are after three hours of these values."""
    expression = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
    return {
        "interval": "1m",
        "input_series": [{"series": series, "values": values if "x" in values else f"{values}x400"}],
        "promql_expr_test": [
            {"expr": expression, "eval_time": "3h", "exp_samples": [{"labels": "{}", "value": firing}]}
        ],
    }


def test_prometheus_raises_every_alert_and_none_without_cause(scraped: str, tmp_path: Path) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("there is no promtool here; Debian's package prometheus has it")
    assert set(RAISED) == {rule["alert"] for rule in RULES}
    cases = [
        _case(alert, series, values, firing)
        for alert, (series, bad, good) in RAISED.items()
        for values, firing in ((bad, 1), (good, 0))
    ]
    shutil.copy(FOLDER / "alerts.yml", tmp_path)
    (tmp_path / "cases.yml").write_text(json.dumps({"rule_files": ["alerts.yml"], "tests": cases}))
    for arguments in (
        ["test", "rules", str(tmp_path / "cases.yml")],
        ["check", "config", str(FOLDER / "prometheus.yml")],
    ):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    lint = subprocess.run(
        [program, "check", "metrics"], input=scraped, capture_output=True, text=True, check=False
    )
    # Of a certificate, people count the days.
    assert lint.stderr == 'ppaurora_certificate_days_left use base unit "seconds" instead of "days"\n'
