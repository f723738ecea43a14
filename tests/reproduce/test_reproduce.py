import csv
import json
import re

import pytest

from mfbandit.errors import InvalidInput, ModelWarning
from mfbandit.reproduce import STUDIES, regret, reproduce, termination
from mfbandit.reproduce import hard as hard_pair
from mfbandit.reproduce.section import Section


@pytest.fixture
def small_regret(monkeypatch):
    """The regret study with small budgets, and rewards that other tests use as well."""
    budgets = (1e3, 1.5e3, 2e3, 3e3, 4e3)
    monkeypatch.setattr(regret, "BUDGETS", budgets)
    monkeypatch.setattr(hard_pair, "BUDGETS", budgets)
    monkeypatch.setattr(regret, "INSTANCES", ("figure-1a", "loose-prior"))


def check_links(folder):
    """Every link of the page is relative and leads to a file that is there."""
    html = (folder / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert links
    for link in links:
        assert link.startswith("#") or (folder / link).is_file(), link
    return html


def test_there_are_the_studies_of_the_design():
    assert list(STUDIES) == ["figure-1a", "figure-1b", "regret", "termination", "bounds"]


def test_figure_1a(tmp_path):
    [section] = reproduce("figure-1a", tmp_path, trials=20)
    text = " ".join(section.findings)
    assert "Explore-A is cheaper than Explore-B at 5 of 5 values of δ" in text
    assert "cheaper than A, B and C at 5 of 5" in text
    assert "0 of 400 runs" in text
    with (tmp_path / "figure-1a.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    costs = {row["policy"]: float(row["mean_cost"]) for row in rows if row["delta"] == "0.05"}
    known = {"lucb-a:top=0.95,second=0.75": 57_690, "lucb-b:top=0.95,second=0.75": 72_515}
    known |= {"lucb-c": 66_410, "lucb-top": 50_760}
    for policy, cost in known.items():
        assert costs[policy] == pytest.approx(cost, rel=0.07)  # over 4 standard errors
    check_links(tmp_path)


def test_figure_1b_says_that_it_breaks_its_model(tmp_path):
    with pytest.warns(ModelWarning):
        [section] = reproduce("figure-1b", tmp_path, trials=1)
    assert any("breaks its own model" in finding for finding in section.findings)
    assert any("Explore-B is cheaper than Explore-A" in finding for finding in section.findings)


def test_regret(tmp_path, small_regret):
    [section] = reproduce("regret", tmp_path, trials=2)
    assert any("the theorem says 2/3" in finding for finding in section.findings)
    assert [picture.stem for picture in section.pictures] == [
        "regret-figure-1a",
        "regret-loose-prior",
        "regret-hard-pair",
    ]
    table, growth = section.tables
    assert len(table.records) == 2 * 4 * 5
    for record in table.records:
        # The regret by cost is at most lambda_1 times the paper's (the remark in Section 4).
        assert record["mean_cost_regret"] <= record["mean_regret"] + 1e-6
    assert {record["policy"] for record in growth.records} == {"elimination", "mf-ucb", "ucb-top"}
    check_links(tmp_path)


def test_the_exponent_of_a_power_is_found():
    budgets = [1e3, 1e4, 1e5, 1e6]
    assert hard_pair.slope(budgets, [2 * budget ** (2 / 3) for budget in budgets]) == pytest.approx(2 / 3)


def test_termination(tmp_path, monkeypatch):
    monkeypatch.setattr(termination, "MAX_PULLS", 500_000)
    [section] = reproduce("termination", tmp_path, trials=2)
    records = {(one["instance"], one["policy"]): one for one in section.tables[0].records}
    assert records["forever", "lucb-a:top=0.6,second=0.5"]["stopped"] == 0
    assert records["loose-prior", "lucb-a:top=1.0,second=0.5"]["stopped"] == 0
    assert records["loose-prior", "lucb-b:top=1.0,second=0.5"]["stopped"] == 0
    for name in ("forever", "loose-prior"):
        assert records[name, "lucb-c"]["stopped"] == records[name, "lucb-top"]["stopped"] == 2
    assert records["loose-prior", "lucb-a:top=0.9,second=0.8"]["stopped"] == 2
    assert any("Assumption 3.3" in finding for finding in section.findings)
    check_links(tmp_path)


def test_bounds(tmp_path, recwarn):
    [section] = reproduce("bounds", tmp_path)
    assert not [warning for warning in recwarn if issubclass(warning.category, ModelWarning)]
    table = {record["instance"]: record for record in section.tables[0].records}
    assert table["figure-1a"]["limit"] == pytest.approx(361.4, abs=0.1)
    assert table["judges"]["limit_top"] / table["judges"]["limit"] == pytest.approx(206, abs=1)
    assert "Broken bias bounds: figure-1b" in section.findings[-1]


def test_the_page_keeps_what_was_done_before(tmp_path):
    reproduce("bounds", tmp_path)
    reproduce("figure-1a", tmp_path, trials=1)
    html = check_links(tmp_path)
    assert html.index('id="figure-1a"') < html.index('id="bounds"')


def test_the_same_seed_gives_the_same_files(tmp_path):
    for name in ("first", "second"):
        reproduce("figure-1a", tmp_path / name, trials=1, seed=3)
    for ending in ("png", "svg"):
        contents = {(tmp_path / name / f"figure-1a.{ending}").read_bytes() for name in ("first", "second")}
        assert len(contents) == 1


def test_a_section_is_read_back_from_its_file(tmp_path):
    [section] = reproduce("bounds", tmp_path)
    data = json.loads((tmp_path / "bounds.json").read_text(encoding="utf-8"))
    again = Section.from_json(data)
    assert again.findings == section.findings
    assert again.tables[0].rows == section.tables[0].rows


@pytest.mark.parametrize("trials", [0, -1, 2.5, True])
def test_wrong_trials(tmp_path, trials):
    with pytest.raises(InvalidInput, match="trials"):
        reproduce("bounds", tmp_path, trials=trials)


def test_an_unknown_study(tmp_path):
    with pytest.raises(InvalidInput, match="did you mean 'regret'"):
        reproduce("regrets", tmp_path)
