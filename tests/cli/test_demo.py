"""What the demo says of its figures."""

import pytest

from topicloom.cli.demo import _show


@pytest.mark.parametrize(
    ("standard", "dense", "verdict"),
    [(0.14971, 0.14972, "no difference"), (0.1, 0.2, "CGS_p is higher"), (0.2, 0.1, "standard is higher")],
)
def test_the_demo_claims_no_difference_that_it_does_not_show(
    standard: float, dense: float, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("standard", "cgs_p")
    perplexity = [{"phi": phi, "theta": theta, "perplexity": 100.0} for phi in names for theta in names]
    _show([], {"perplexity": perplexity, "coherence_c_npmi": {"standard": standard, "cgs_p": dense}})
    assert f"; {verdict}." in capsys.readouterr().out
