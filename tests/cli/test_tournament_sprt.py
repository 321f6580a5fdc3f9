"""`ronda tournament run --sprt`: what it says on the way, at the end, and of what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_tournament import HERE, play, report

TWO = ("--bots=greedy,random", "--rules=playtash", "--hands=1", "--seed=5", HERE)


def test_it_stops_when_one_is_accepted_and_says_by_how_much_one_is_ahead(
    run: Run, tmp_path: Path
) -> None:
    told = play(run, tmp_path / "t", *TWO, "--sprt=0,40", "--blocks=400")
    assert told.exit_code == 0, told.stderr
    found = report(tmp_path / "t")
    verdict = found["verdict"]
    assert found["state"] == "stopped"
    assert found["blocks"] == verdict["block"] + 1 < 400
    sprt = verdict["sprt"]
    assert (sprt["elo0"], sprt["elo1"], sprt["accepted"]) == (0, 40, "H1")
    assert sprt["llr"] >= sprt["upper"] == pytest.approx(2.944439)
    assert 0 < sprt["elo"]["low"] < sprt["elo"]["value"] < sprt["elo"]["high"]
    assert found["plan"]["stop"]["sprt"] == {"elo0": 0, "elo1": 40, "alpha": 0.05, "beta": 0.05}
    said = " ".join(told.stdout.split())
    assert said.startswith("In wins greedy@1.0.0 is ahead of random@1.0.0 by ")
    assert "H1 is accepted: greedy@1.0.0 is ahead of random@1.0.0 by 40 Elo" in said
    assert f"LLR is {sprt['llr']:.2f}" in said
    page = (tmp_path / "t" / "report.html").read_text()
    assert "an SPRT, 0 or 40 Elo, errors 5.0\u00a0% and 5.0\u00a0%" in page.replace(" %", "\u00a0%")
    assert "LLR, and where H0 and H1 are accepted" in page
    again = play(run, tmp_path / "t", "--blocks=500", HERE)
    assert again.exit_code == 2
    assert "what is decided stands" in again.stderr


def test_one_that_ran_out_of_blocks_goes_on_with_more(run: Run, tmp_path: Path) -> None:
    flags = (*TWO, "--sprt=-3,3,0.01,0.2")
    assert play(run, tmp_path / "t", *flags, "--blocks=3").exit_code == 0
    assert report(tmp_path / "t")["verdict"]["sprt"]["accepted"] is None
    assert "all 3 blocks were played" in report(tmp_path / "t")["verdict"]["decision"]
    assert play(run, tmp_path / "t", "--blocks=6", HERE).exit_code == 0
    assert play(run, tmp_path / "whole", *flags, "--blocks=6").exit_code == 0
    assert report(tmp_path / "t") == report(tmp_path / "whole")


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("--sprt=10,0",), "elo0 is below elo1"),
        (("--sprt=10",), 'such as "0,10"'),
        (("--sprt=0,10,0.05,0.05,1",), 'such as "0,10"'),
        (("--sprt=0,ten",), 'such as "0,10"'),
        (("--sprt=0,10,0.7",), "below 0.5, as 0.05, not 0.7"),
        (("--sprt=0,900",), "Elo is from -600 to 600, not 900"),
        (("--sprt=0,10", "--precision=1"), "one stop rule"),
        (("--sprt=0,10", "--sequential=0.05"), "one stop rule"),
        (("--sprt=0,10", "--bots=random,greedy,careful"), "two entrants"),
    ],
)
def test_what_is_no_test_is_told_in_words(
    run: Run, tmp_path: Path, flags: tuple[str, ...], problem: str
) -> None:
    refused = play(run, tmp_path / "t", *TWO, *flags)
    assert refused.exit_code == 2
    assert problem in refused.stderr
    assert not (tmp_path / "t").exists()


def test_a_file_says_it_in_each_form(run: Run, tmp_path: Path) -> None:
    forms = ('sprt = "0,10"', "sprt = [0, 10]", "[stop.sprt]\nelo0 = 0\nelo1 = 10")
    for number, form in enumerate(forms):
        spec = tmp_path / f"{number}.toml"
        spec.write_text(
            f'bots = ["greedy", "random"]\nrules = "arabic"\nblocks = 1\nseed = 1\n{form}\n'
        )
        assert play(run, tmp_path / "t", str(spec), HERE).exit_code == 0  # the same one goes on
