"""Rows of what lm-evaluation-harness writes with ``--log_samples``, and of promptfoo's ``output.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mfbandit.errors import InvalidInput
from mfbandit.logs._rows import LogRow

__all__ = ["is_harness_sample", "promptfoo_rows", "sample_rows"]

#: samples_TASK_2026-01-31T12-00-00.123456.jsonl
_SAMPLES = re.compile(r"^samples_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d.\-]+)?$")
#: promptfoo's mark of a test that ended by an error, not by an assertion.
_ERROR = 2


def is_harness_sample(row: Mapping[str, Any]) -> bool:
    """Whether a line is one of lm-evaluation-harness."""
    return {"doc_id", "filtered_resps"} <= row.keys()


def sample_rows(rows: Sequence[tuple[str, dict[str, Any]]], path: Path) -> Iterator[LogRow]:
    """The rows of one file of samples, which is of one model and one task.

    The model is the folder that the harness makes for it. Metrics are named as the harness names them, with the filter
    of the answers: "exact_match,strict-match".
    """
    match = _SAMPLES.match(path.stem)
    task = match["task"] if match else path.stem
    system = path.resolve().parent.name.replace("__", "/")
    for where, row in rows:
        if not is_harness_sample(row):
            raise InvalidInput(f"{where} lacks doc_id or filtered_resps, unlike the lines before it")
        names = row.get("metrics")
        if not isinstance(names, list):
            # Before version 0.4.8 lines did not say which of their keys are metrics.
            names = [key for key, value in row.items() if isinstance(value, int | float) and key != "doc_id"]
        kind = row.get("filter", "none")
        # Some metrics keep what they need for all items at once (texts for BLEU, counts for perplexities).
        scores = {f"{name},{kind}": row.get(name) for name in names if not isinstance(row.get(name), list | dict)}
        yield LogRow(system, str(row["doc_id"]), scores, where, task, str(row.get("doc_hash", "")))


def promptfoo_rows(data: Mapping[str, Any], path: Path) -> Iterator[LogRow]:
    """The rows of an ``output.json`` of promptfoo.

    A system is a provider, a prompt, or both together, whichever there are several of. An item is a test: its
    variables, assertions and description. Repeats of a test are further rows of the same item.
    """
    results = data.get("results")
    tests = results.get("results") if isinstance(results, Mapping) else None
    if not isinstance(tests, list):
        raise InvalidInput(f"{path} has no list results.results; it is no output of 'promptfoo eval --output'")
    providers = {_provider(test) for test in tests if isinstance(test, Mapping)}
    prompts = {_prompt(test) for test in tests if isinstance(test, Mapping)}
    for number, test in enumerate(tests):
        where = f"result {number} of {path.name}"
        if not isinstance(test, Mapping) or "score" not in test:
            raise InvalidInput(f"{where} has no score")
        parts = [_provider(test)] if len(providers) > 1 or len(prompts) == 1 else []
        parts += [_prompt(test)] if len(prompts) > 1 else []
        case = test.get("testCase") or {}
        variables = case.get("vars") or test.get("vars") or {}
        seen = {key: value for key, value in variables.items() if not key.startswith("_")}
        content = [seen, case.get("assert"), case.get("description")]
        name = json.dumps(content if any(content) else test.get("testIdx", number), sort_keys=True, ensure_ascii=False)
        failed = test.get("failureReason") == _ERROR
        named = test.get("namedScores") or {}
        scores = {} if failed else {"score": test["score"], "success": test.get("success"), **named}
        yield LogRow(" | ".join(parts), name, scores, where)


def _provider(test: Mapping[str, Any]) -> str:
    found = test.get("provider") or {}
    return str(found.get("label") or found.get("id") or "") if isinstance(found, Mapping) else str(found)


def _prompt(test: Mapping[str, Any]) -> str:
    found = test.get("prompt") or {}
    # Not its raw text, which has the variables of the test filled in.
    text = str(found.get("label") or "") if isinstance(found, Mapping) else str(found)
    # A prompt that was given no label has its whole text as one.
    number = f"prompt {test['promptIdx'] + 1}" if isinstance(test.get("promptIdx"), int) else "prompt"
    return text if 0 < len(text) <= 60 and "\n" not in text else f"{number} {' '.join(text.split())[:40]}".strip()
