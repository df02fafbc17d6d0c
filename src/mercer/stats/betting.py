"""Bets on bounded payoffs: the wealth of a gambler whom a true hypothesis does not make rich."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.8])  # shares of the wealth that are put at risk


class Round(NamedTuple):
    """What rounds of bets lead to.

    Attributes
    ----------
    wealth : ndarray of shape (experts, stakes)
        The logarithm of the wealth of each expert at each stake after the last round.
    path : ndarray of shape (rounds,)
        The logarithm of the mean wealth after each round.
    """

    wealth: np.ndarray
    path: np.ndarray


def bet(payoffs: np.ndarray, wealth: np.ndarray | None = None) -> Round:
    r"""The wealth of experts who bet fixed shares of it on payoffs, and its mean.

    .. math:: W_t = \frac1{EL} \sum_{e, l} \prod_{s \le t} \left(1 + \lambda_l\, g_{es}\right)

    If payoffs lie in [-1, 1] and have mean 0 given the past, each product is a martingale that
    begins at 1 and stays positive, and so is their mean: with a probability of at most alpha it
    ever reaches 1 / alpha (Ville). Nothing is tuned: the best expert at the best stake has a share
    of 1 / (E L) in the mean, which costs log(E L) of the logarithm, whatever the data are.

    Parameters
    ----------
    payoffs : array of shape (experts, rounds)
        The payoff of each expert in each round, between -1 and 1.
    wealth : array of shape (experts, stakes), optional
        Logarithms of the wealth before; by default all begin with 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.betting import bet
    >>> bet(np.array([[1.0, -1.0, 1.0]])).path.round(3)
    array([ 0.27 , -0.187,  0.022])

    References
    ----------
    Ville, *Étude critique de la notion de collectif*, 1939; Waudby-Smith & Ramdas, *Estimating
    means of bounded random variables by betting*, JRSS B 2024.
    """
    if wealth is None:
        wealth = np.zeros((len(payoffs), len(STAKES)))
    steps = np.log1p(STAKES[None, :, None] * payoffs[:, None, :])
    paths = wealth[:, :, None] + np.cumsum(steps, axis=2)
    flat = paths.reshape(-1, paths.shape[2])
    top = flat.max(axis=0, initial=-np.inf)
    path = top + np.log(np.mean(np.exp(flat - top), axis=0))
    return Round(paths[:, :, -1] if paths.shape[2] else wealth, path)


def payoff(gains: np.ndarray, squares: float, count: int) -> np.ndarray:
    r"""Payoffs between -1 and 1 from gains of any size, each scaled by those before it.

    .. math:: g_t = \tanh\left( h_t \Big/ \sqrt{\operatorname{mean}_{s < t} h_s^2} \right)

    An odd function of h with a scale from the past: if h and -h are equally likely given the past,
    the mean is 0. It is 0 itself where there is no scale yet.

    Parameters
    ----------
    gains : array of shape (rounds,)
        h_t, the newest last.
    squares, count : float, int
        The sum of squares of all gains before, and their number.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.betting import payoff
    >>> payoff(np.array([2.0, 2.0, -1e9]), 0.0, 0).round(3)
    array([ 0.   ,  0.762, -1.   ])
    """
    before = squares + np.concatenate([[0.0], np.cumsum(np.square(gains))[:-1]])
    seen = count + np.arange(len(gains))
    scale = np.sqrt(before / np.maximum(seen, 1))
    ratio = np.divide(gains, scale, out=np.zeros(len(gains)), where=scale > 0)
    return np.asarray(np.tanh(ratio))
