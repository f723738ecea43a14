"""Against Inspect itself, offline: its logs are compared, and its early stopping ends losing models."""

import json
import random
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from mfbandit.errors import InvalidInput, ModelWarning
from mfbandit.logs import ModelRace, compare, read_logs

# Inspect is slow to load: only whoever runs these tests does, and not all who look which tests there are.
pytestmark = pytest.mark.skipif(
    find_spec("inspect_ai") is None, reason="needs Inspect: pip install 'mfbandit[inspect]'"
)

SKILLS = {"good": 0.95, "poor": 0.3}


def sums(name, items, shuffle, **settings):
    """A task of sums."""
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import match

    dataset = MemoryDataset([Sample(id=n, input=f"{n}+1", target=str(n + 1)) for n in range(items)])
    if shuffle:
        dataset.shuffle(seed=1)
    return Task(dataset=dataset, scorer=match(), name=name, **settings)


def mock(skill):
    """A model that gets a share of sums right, and fails on number 7 if it is poor."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages, tools, choice, config):
        number = int(messages[-1].text.split("+")[0])
        if number == 7 and skill < 0.5:
            raise RuntimeError("the model is not there")
        right = random.Random(f"{number} {skill}").random() < skill
        output = ModelOutput.from_content("mockllm/model", str(number + 1) if right else "no idea")
        output.usage = ModelUsage()  # else tokens are counted by a table from the network
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """Logs by name: two plain ones with two epochs, two of a race, and one of a task that a race must refuse."""
    from inspect_ai import eval as evaluate

    race = ModelRace(list(SKILLS))
    tasks = [sums("plain", 24, False, model=mock(skill), epochs=2) for skill in SKILLS.values()]
    tasks += [sums("race", 60, True, model=mock(SKILLS[name]), early_stopping=race.stopping(name)) for name in SKILLS]
    ordered = ModelRace(list(SKILLS)).stopping("good")
    tasks += [sums("ordered", 3, False, model=mock(1.0), early_stopping=ordered)]
    folder = tmp_path_factory.mktemp("logs")
    logs = evaluate(
        tasks, log_dir=str(folder), display="none", max_tasks=5, max_samples=2, fail_on_error=False, log_level="error"
    )
    names = ("good", "poor", "race good", "race poor", "ordered")
    return race, dict(zip(names, logs, strict=True))


def test_logs_are_compared(evaluated):
    _, logs = evaluated
    found = compare({name: logs[name].location for name in SKILLS})
    assert (found.best, found.settled, found.metric) == ("good", True, "match")
    assert found.items == 23
    assert found.notes[0].startswith("1 of 24 common items is left out: a score is missing (2 of 'poor').")
    assert found.notes[1] == "Items that a system answered several times (up to 2) count their mean."


def test_logs_of_one_model_need_names(evaluated):
    _, logs = evaluated
    with pytest.raises(InvalidInput, match="both have scores of 'mockllm/model' for item '0': name them"):
        compare([logs[name].location for name in SKILLS])


def test_a_losing_model_is_ended(evaluated):
    race, logs = evaluated
    assert (race.best, race.left) == ("good", ("good",))
    good, poor = logs["race good"], logs["race poor"]
    assert good.status == poor.status == "success"
    assert len(good.samples) == 60
    stopped = poor.results.early_stopping
    assert len(stopped.early_stops) + len(poor.samples) == 60
    assert len(stopped.early_stops) > 20
    assert stopped.manager == "mfbandit.logs.ModelRace"
    assert stopped.metadata["beaten"] is True
    assert "poor is not the best on this dataset" in stopped.early_stops[0].reason


def test_a_log_that_was_stopped_by_its_results_is_not_compared(evaluated):
    _, logs = evaluated
    with pytest.raises(InvalidInput, match=r"was stopped early by 'mfbandit\.logs\.ModelRace' after looking"):
        compare({"a": logs["race good"].location, "b": logs["race poor"].location})


def test_a_race_in_the_order_of_the_dataset_is_refused(evaluated):
    _, logs = evaluated
    assert logs["ordered"].status == "error"
    assert "samples in a random order" in logs["ordered"].error.message


def test_evaluations_in_a_folder_that_were_broken_off_are_left_out(evaluated, tmp_path):
    _, logs = evaluated
    for name in ("good", "ordered"):
        shutil.copy(logs[name].location, tmp_path / f"{name}.eval")
    with pytest.warns(ModelWarning, match=r"did not come to their end: ordered\.eval"):
        assert {row.task for row in read_logs([tmp_path])} == {"plain"}


def test_a_broken_log_is_named(tmp_path):
    broken = tmp_path / "broken.eval"
    broken.write_bytes(b"PK no zip")
    with pytest.raises(InvalidInput, match=r"broken\.eval cannot be read as a log of Inspect"):
        compare([broken])


def test_the_page_about_logs_ends_models_early(tmp_path, monkeypatch, capsys):
    """Its lines as they stand, but for models that need no account."""
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({"input": f"{n}+1", "target": str(n + 1)}) for n in range(8, 48)]
    Path("questions.jsonl").write_text("\n".join(rows))
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8").split("## Ending")[1]
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    code = code.replace("model=model,", "model=mocks[model],")
    code = code.replace("eval(tasks, ", "eval(tasks, display='none', log_dir='logs', log_level='error', ")
    models = re.findall(r'"(\w+/[\w.-]+)"', code)
    exec(compile(code, "logs.md", "exec"), {"mocks": {name: mock(n == 1) for n, name in enumerate(models)}})
    assert capsys.readouterr().out.startswith(f"{models[1]} ")
