import json

from mfbandit.cli import main


def test_forecast_prints_advice_and_a_table(capsys, tmp_path):
    picture = tmp_path / "cost.png"
    assert main(["forecast", "poiani-5x2", "--trials", "5", "-p", "mf-toptwo", "--out", str(picture)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Use 'fidelity 0' and 'fidelity 1' with mf-toptwo")
    assert "expected cost" in out
    assert str(picture) in err
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_forecast_as_json(capsys):
    assert main(["forecast", "figure-1a", "--trials", "5", "-p", "mf-toptwo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"keep", "helps", "limit", "advice", "rows", "mean_cost"} <= found.keys()
    assert len(found["rows"]) == 4


def test_forecast_refuses_a_picture_it_cannot_write(capsys, tmp_path):
    assert main(["forecast", "figure-1a", "--out", "cost.txt"]) == 2
    assert "must end in .png, .svg or .pdf, got 'cost.txt'" in capsys.readouterr().err
    assert main(["forecast", "figure-1a", "--out", str(tmp_path / "no" / "cost.png")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_forecast_of_the_time_with_some_workers(capsys):
    given = ["forecast", "poiani-5x2", "--trials", "5", "-p", "mf-toptwo"]
    assert main([*given, "--workers", "1"]) == 0
    assert "time to the answer" in capsys.readouterr().out
    assert main([*given, "--workers", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["widths"]
    assert (row["workers"], row["utilisation"]) == (1, 1.0)
    assert main([*given, "--workers", "few"]) == 2
    assert "workers must be whole numbers, such as 1,8,64, got 'few'" in capsys.readouterr().err
