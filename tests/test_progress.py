"""Progress: nothing is shown unless asked for; with a total, the time that is left."""

import time

import numpy as np

from mercer.progress import quiet, ticker
from mercer.tables.encoding import Encoded
from mercer.tables.search import Effort, choose


def test_nothing_is_shown_unless_asked_for(capsys):
    with ticker(False, "kernels", 3.0) as tick:
        assert tick is quiet
        tick("one", 2.0)
        tick("two")
    assert capsys.readouterr() == ("", "")


def test_with_a_total_the_time_left_is_shown(capsys, monkeypatch):
    monkeypatch.setattr("tqdm.std._screen_shape_wrapper", lambda: None)
    with ticker(True, "kernels", 4.0) as tick:
        for name in ("first", "second", "third"):
            time.sleep(0.12)  # more often, nothing is drawn
            tick(name, 2.0)  # a sum that comes out a little too large is not more than all
    shown = capsys.readouterr().err
    assert "100%" in shown
    assert "left" in shown
    assert "150%" not in shown


def test_the_parts_of_a_search_add_up_to_its_cost(rng):
    Z = rng.normal(size=(90, 3))
    Y = Z[:, :1] - Z[:, :1].mean()
    effort = Effort.of(90, 3, 1, 5)
    costs = effort.costs(3, 1)
    seen = []
    choose(
        Encoded(Z, list("abc"), list("abc"), {}), Y, np.ones(90), effort, groups=Y[:, 0],
        tick=lambda text, amount=1.0: seen.append(amount),
    )  # fmt: skip
    assert np.isclose(sum(seen), effort.folds * sum(costs.values()))
