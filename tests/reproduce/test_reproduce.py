import csv
import json
import re

import pytest

from mfbandit.errors import InvalidInput, ModelWarning
from mfbandit.instances import load_instance
from mfbandit.reproduce import EXPERIMENTS, Section, reproduce
from mfbandit.reproduce import _pulls_section as pulls
from mfbandit.reproduce import _termination_section as termination
from mfbandit.reproduce._default_policy import identify_then_exploit
from mfbandit.reproduce.regret import _hard_pair_section as hard_pair
from mfbandit.reproduce.regret import _regret_section as regret


@pytest.fixture
def small_regret(monkeypatch):
    """The regret study with small budgets, and rewards that other tests use as well."""
    budgets = (1e3, 1.5e3, 2e3, 3e3, 4e3)
    monkeypatch.setattr(regret, "BUDGETS", budgets)
    monkeypatch.setattr(hard_pair, "BUDGETS", budgets)
    monkeypatch.setattr(hard_pair, "ARMS", (4, 8))
    monkeypatch.setattr(hard_pair, "BUDGET", 2e3)
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
    assert list(EXPERIMENTS) == ["figure-1a", "figure-1b", "pulls", "regret", "termination", "bounds"]


def test_figure_1a(tmp_path):
    [section] = reproduce("figure-1a", tmp_path, trials=20)
    text = " ".join(section.findings)
    assert "Explore-A is cheaper than Explore-B at 5 of 5 values of δ" in text
    assert "cheaper than A, B and C at 5 of 5" in text
    assert "0 of 500 runs" in text
    assert "6,396 for A, 6,185 for B, against the paper's order" in text
    assert "8,184 for A, 13,395 for B, in line with the paper's order" in text
    assert "No δ-correct algorithm can pay less than 361.4" in text
    with (tmp_path / "figure-1a.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 25
    costs = {row["policy"]: float(row["mean_cost"]) for row in rows if row["delta"] == "0.05"}
    known = {"lucb-a:top=0.95,second=0.75": 57_690, "lucb-b:top=0.95,second=0.75": 72_515}
    known |= {"lucb-c": 66_410, "lucb-top": 50_760}
    for policy, cost in known.items():
        assert costs[policy] == pytest.approx(cost, rel=0.07)  # over 4 standard errors
    assert costs["mf-toptwo"] < costs["lucb-top"] / 10
    assert section.tables[1].rows[1] == ("fidelity 1", "0.8", "0.775", "0.6", "0.55", "0.45", "0.15", "1.1")
    check_links(tmp_path)


@pytest.mark.parametrize(
    ("trials", "said", "unsaid"),
    [
        (1, ["1 run is too few: the mean came out below what is possible", "in this one run"], ["the claim holds."]),
        (5, ["± ", " times that (5 runs)", "in these 5 runs"], ["127 times", "too few"]),
    ],
)
def test_few_trials_give_no_confident_sentences(tmp_path, trials, said, unsaid):
    [section] = reproduce("figure-1a", tmp_path, trials=trials)
    text = " ".join(section.findings)
    assert [one for one in said if one not in text] == []
    assert [one for one in unsaid if one in text] == []


def test_figure_1b_says_that_it_breaks_its_model(tmp_path):
    with pytest.warns(ModelWarning):
        [section] = reproduce("figure-1b", tmp_path, trials=1)
    assert any("breaks its own model" in finding for finding in section.findings)
    assert any("Explore-B is cheaper than Explore-A" in finding for finding in section.findings)
    text = " ".join(section.findings)
    assert "No limit is claimed here" in text
    assert "No δ-correct algorithm can pay less" not in text
    assert "the limit by" not in text
    assert "1,265,036 for A, 861,573 for B, in line with the paper's order" in text
    assert not any(record["limit_holds"] for record in section.tables[0].records)
    assert section.tables[1].rows[3][1] == "0.85 !"


def test_pulls_beside_the_lemmas(tmp_path, monkeypatch):
    monkeypatch.setattr(pulls, "CASES", pulls.CASES[:1])
    [section] = reproduce("pulls", tmp_path, trials=10)
    text = " ".join(section.findings)
    assert "of 100 cells have more pulls than Lemma C.2's bound" in text
    assert "50 of 50 arms of all runs committed; 50 of 50 to a fidelity that is at least half as efficient" in text
    [table] = section.tables
    assert {record["policy"].partition(":")[0] for record in table.records} == {"lucb-a", "lucb-b", "mf-toptwo"}
    for record in table.records:
        assert record["bound"] is None or record["mean_pulls"] <= record["bound"]
    check_links(tmp_path)


def test_regret(tmp_path, small_regret):
    [section] = reproduce("regret", tmp_path, trials=2)
    assert any("the theorem says 2/3" in finding for finding in section.findings)
    assert [picture.stem for picture in section.pictures] == [
        "regret-figure-1a",
        "regret-loose-prior",
        "regret-hard-pair",
        "regret-hard-arms",
    ]
    bounds, table, growth, arms = section.tables
    assert bounds.records[0]["rate_lower"] == pytest.approx(5 ** (1 / 3) * 4e3 ** (2 / 3))
    assert len(table.records) == 2 * 6 * 5
    assert any("with the ε that Theorem D.4 states" in finding for finding in section.findings)
    assert any("the theorem says 1/3" in finding for finding in section.findings)
    assert "Theorem D.3 as printed is false for gaps a little above ε" in section.findings[1]
    for record in table.records:
        # The regret by cost is at most lambda_1 times the paper's (the remark in Section 4).
        assert record["mean_cost_regret"] <= record["mean_regret"] + 1e-6
    policies = {"elimination", "elimination:epsilon=theorem", "mf-ucb", "ucb-top", "mf-toptwo"}
    assert {record["policy"] for record in growth.records} == policies
    assert {record["n_arms"] for record in arms.records} == {4, 8}
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
        assert records[name, "mf-toptwo"]["stopped"] == 2
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
    assert "at most 68,528 for Explore-A, but every algorithm pays 2,120,261" in section.findings[0]
    assert table["figure-1a"]["upper_bound_a_corrected"] == pytest.approx(8184, abs=1)
    assert not table["figure-1b"]["limit_holds"]
    # No limit is compared on an instance that breaks its bias bounds.
    assert "figure-1b" not in section.findings[1] + section.findings[3]


def test_the_default_policy_spends_the_whole_budget():
    instance = load_instance("loose-prior")
    runs = identify_then_exploit(instance, 1e4, trials=3, seed=1)
    assert runs.cost == pytest.approx(runs.pulls.sum(axis=1) @ instance.problem.costs[0])
    assert (runs.cost <= 1e4).all()
    assert (runs.cost > 1e4 - 1.0).all()
    assert runs.goal.delta == 1e-4


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
